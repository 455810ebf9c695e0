"""What README, plugin and messages say about installing: the commands work in a checkout, in a fresh environment."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from memsweep.errors import INSTALL, install_extra
from tests.house.tree import ROOT

UV = Path(sys.executable).with_name("uv")


def test_nothing_tells_people_to_install_what_nobody_published() -> None:
    files = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "plugins").rglob("*.md")]
    files += (ROOT / "src").rglob("*.py")
    unpublished = re.compile(r"(uv tool install|uvx|pipx? install(?: --\S+)*) ['\"]?memsweep")
    assert [each.name for each in files if unpublished.search(each.read_text("utf-8"))] == []


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_the_command_of_the_readme_installs_a_memory_that_works(tmp_path: Path) -> None:
    for document in ("README.md", "plugins/memsweep/README.md"):
        assert f"\n{INSTALL} " in (ROOT / document).read_text("utf-8")
    places = {name: str(tmp_path / name.lower()) for name in ("UV_TOOL_DIR", "UV_TOOL_BIN_DIR", "UV_CACHE_DIR")}
    settings = {"MEMSWEEP_HOME": str(tmp_path / "home"), "MEMSWEEP_WORKSPACE": "notes"}
    ours = ("MEMSWEEP_", "PYTHON", "VIRTUAL")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}

    def run(*command: str | Path) -> str:
        done = subprocess.run(
            command, cwd=ROOT, env={**kept, **places, **settings}, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    python = ("--python", sys.executable)
    run(UV, *INSTALL.split()[1:], *python)
    memsweep = tmp_path / "uv_tool_bin_dir" / "memsweep"
    assert run(memsweep, "--version").startswith("memsweep ")
    run(memsweep, "remember", "The build runs on machine 3.")
    assert "machine 3" in run(memsweep, "search", "which machine builds")
    (extra,) = re.findall(r"uv (tool install) '([^']+)'", install_extra("falkor"))
    run(UV, *extra[0].split(), extra[1], *python)
    run(tmp_path / "uv_tool_dir" / "memsweep" / "bin" / "python", "-c", "import redis, memsweep.store.falkor")
