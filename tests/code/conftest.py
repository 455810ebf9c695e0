"""A workspace whose embedder counts, and a repository to index in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from memsweep.code.sandbox import Sandbox
from memsweep.store.file import connect
from tests.code.indexed_workspace import IndexedWorkspace
from tests.code.trees import repository

FILES = {
    "app.py": "import os\n\n\ndef first():\n    return second()\n\n\ndef second():\n    return os.sep\n",
    "lib/shapes.py": "class Shape:\n    def area(self):\n        return 0\n\n\nclass Square(Shape):\n    side = 1\n",
    "docs/guide.md": "# Guide\n\nHow to use it.\n\n## Install\n\nRun the installer.\n",
    "main.go": "package main\n\nfunc Main() int { return 1 }\n",
    "tests/test_app.py": "def test_first():\n    assert first()\n",
}


@pytest.fixture(scope="module")
def unsynced() -> Iterator[None]:
    """Nothing here ends in a power cut, and a process loses nothing that it did not sync: the tests need not wait."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connect, "_PRAGMAS", connect._PRAGMAS.replace("synchronous=full", "synchronous=off"))
        yield


@pytest.fixture(scope="session")
def sandbox(parsers: Sandbox) -> Sandbox:
    return parsers


@pytest.fixture
def workspace(home: Path, sandbox: Sandbox, unsynced: None) -> Iterator[IndexedWorkspace]:
    with IndexedWorkspace(home, sandbox) as made:
        yield made


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", dict(FILES))
