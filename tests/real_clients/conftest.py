"""These tests need the clients; `make test-clients` installs them and names their folder."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.real_clients.running import Machine

collect_ignore_glob = [] if os.environ.get("MEMSWEEP_CLIENTS") else ["test_*.py"]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path / "home")
    machine.put_memsweep()
    machine.put_clients()
    return machine


def repository(folder: Path) -> Path:
    """A git repository with one commit."""
    folder.mkdir(parents=True)
    (folder / "shop.py").write_text("def total():\n    return 1\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)
