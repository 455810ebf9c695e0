"""Kill an operation at its steps: `python -m tests.care.crash OPERATION TEMPLATE FOLDER [thorough]`.

The copies stay in FOLDER for the test to look at; the last one is of the child that came to the end.
"""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

from memsweep.app import App
from tests.care.stores import open_app
from tests.support.counts import some_of, turns
from tests.support.killing import at_step, in_child

_A_DRAFTS_STEP = 50  # a row more or less in a file that has no name yet makes no difference

OPERATIONS: dict[str, Callable[[App, Path], object]] = {
    "backup": lambda app, folder: app.memory().care.backup(folder / "made.backup"),
    "replaced backup": lambda app, folder: app.memory().care.backup(folder / "copy.backup", force=True),
    "restore": lambda app, folder: app.restore(folder / "copy.backup", "other"),
    "replacing restore": lambda app, folder: app.restore(folder / "copy.backup", replace=True),
    "repair": lambda app, folder: app.memory().care.doctor(repair=True),
    "compact": lambda app, folder: app.memory().care.compact(),
}


def main(operation: str, place: str, copies: str, thorough: bool) -> None:
    template, folder = Path(place), Path(copies)
    whole = folder / "whole"
    steps = _attempt(operation, template, whole, -1)
    shutil.rmtree(whole)
    assert steps
    for at in some_of(range(len(steps) + 1), 3, turns(steps), thorough):
        lived = _attempt(operation, template, folder / f"{at:04}", at)
        assert (lived is not None) == (at == len(steps)), f"{operation} lived through step {at}"


def _attempt(operation: str, template: Path, place: Path, at: int) -> list[str] | None:
    """The steps of a child that came to the end."""
    shutil.copytree(template, place)

    def work() -> list[str]:
        steps = at_step(at, rows_of_a_draft=_A_DRAFTS_STEP)
        OPERATIONS[operation](open_app(place / "home"), place)
        return steps

    found: list[str] | None = in_child(work)
    return found


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], "thorough" in sys.argv)
