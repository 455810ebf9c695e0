"""Mistakes that a durable context window is prone to, each shown not to happen here."""

from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.context.service import ContextWindow
from memsweep.errors import BadInput
from tests.context.windows import some
from tests.support import store_files


@pytest.mark.parametrize("project", ["../../escape", "a/b", "/etc", "..", "", "A", "a\0b", "con.txt", "x" * 64])
def test_a_project_id_is_never_a_path(app: App, home: Path, project: str) -> None:
    with pytest.raises(BadInput, match="project id"):
        app.memory().context(project)
    assert not home.exists()


def test_one_more_write_does_not_rewrite_what_is_stored(window: ContextWindow, home: Path) -> None:
    """Bytes, not seconds: one more costs as much of the log in a large window as in a small one."""
    window.configure(soft_tokens=10**9, hard_tokens=10**9)
    written = []
    for size in (50, 1000):
        window.add([some(f"{size}-{n}", f"words of {n} " * 20) for n in range(size)])
        file = store_files.file_of(home)
        store_files.checkpoint(home)
        window.add([some(f"{size}-more", "words of more " * 20)])
        window.prune([f"{size}-more"])
        window.restore([f"{size}-more"])
        written.append(file.with_name(file.name + "-wal").stat().st_size)
    assert written[1] <= 2 * written[0]
