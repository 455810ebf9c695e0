"""Folders that lie inside each other, what people do to them, and what must hold after every index run."""

from pathlib import Path
from typing import Any

from memsweep.code.request import make_scope
from memsweep.code.walk import walk
from tests.code.indexed_workspace import IndexedWorkspace

ROOTS = ("", "sub", "sub/deep")
PATHS = ("a.py", "sub/a.py", "sub/b.md", "sub/deep/a.py", "sub/deep/c.txt", "other/d.py")
CONTENTS = ("def one(): pass\n", "def two(): pass\n", "words\n", "")
IGNORED = ("", "a.py\n", "deep/\n", "*.md\n")


class OverlappingRoots:
    """A folder, the roots that were indexed in it, and what each listed when it was last walked."""

    def __init__(self, workspace: IndexedWorkspace, root: Path) -> None:
        self.workspace, self.root = workspace, root
        self.listed: dict[str, set[str]] = {}
        self.untouched: set[str] = set()
        """Files with text that are as some root has read them."""
        for folder in ROOTS:
            (root / folder).mkdir(parents=True, exist_ok=True)
            (root / folder / "kept.md").write_text("# Kept\n")

    def do(self, name: str, *values: Any) -> None:
        getattr(self, name)(*values)

    def write(self, path: str, text: str) -> None:
        self.untouched.discard(path)
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def delete(self, path: str) -> None:
        self.untouched.discard(path)
        (self.root / path).unlink(missing_ok=True)

    def move(self, path: str, to: str) -> None:
        if (self.root / path).is_file() and path != to:
            self.untouched -= {path, to}
            (self.root / to).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).rename(self.root / to)

    def ignore(self, folder: str, lines: str) -> None:
        self.write(str(Path(folder) / ".gitignore"), lines)

    def prune(self) -> None:
        if self.listed:
            self.workspace.memory.sweep.prune("stale_code", confirm=True, allow_large=True)

    def index(self, folder: str) -> None:
        root = self.root / folder
        self.workspace.index(root)
        seen = walk(make_scope(str(root))).present
        self.listed[folder] = {str(Path(folder) / path) for path in seen}
        fresh = self.fresh()
        for path in sorted(self.listed[folder]):
            text = (self.root / path).read_text()
            assert fresh.get(path) == (text if text.strip() else None), f"{path} is not as it is on disk"
            if text.strip():
                self.untouched.add(path)
        for path in fresh:
            inside = path.startswith(f"{folder}/") or not folder
            assert not inside or (self.root / path).exists(), f"{path} is gone from disk"
        self.check_listed(fresh)

    def check_listed(self, fresh: dict[str, str]) -> None:
        """What is fresh is on some root's list; what a list has, and nobody touched since, is fresh."""
        listed = set().union(*self.listed.values())
        assert fresh.keys() <= listed, f"no root lists {fresh.keys() - listed}"
        assert listed & self.untouched <= fresh.keys(), f"{listed & self.untouched - fresh.keys()} is listed, and stale"

    def fresh(self) -> dict[str, str]:
        """The texts of all that is fresh, by the place on disk; two memories of one place would be a fault."""
        found: dict[str, str] = {}
        every: set[str] = set()
        for folder in ROOTS:
            for path, file in self.workspace.live(self.root / folder).items():
                place = str(Path(folder) / path)
                assert place not in every, f"{place} has two memories"
                every.add(place)
                found[place] = file.content["text"]
        return found

    def settle(self) -> None:
        """Every root once more; after that, nothing is left to do."""
        for root in ROOTS:
            self.index(root)
        before = self.fresh()
        for root in ROOTS:
            self.index(root)
        assert self.fresh() == before
