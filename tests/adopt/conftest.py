"""A home of a person with the folders of clients in it, and a git repository that they worked in."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from memsweep.adopt.clients import slug


def note(name: str, body: str, *, kind: str = "project", description: str = "") -> str:
    return f"---\nname: {name}\ndescription: {description or name}\nmetadata:\n  type: {kind}\n---\n{body}\n"


@dataclass(frozen=True)
class Person:
    """`memory` is the folder that Claude Code keeps for `repo`."""

    home: Path
    repo: Path

    @property
    def projects(self) -> Path:
        return self.home / ".claude" / "projects"

    def memory_of(self, folder: Path) -> Path:
        return self.projects / slug(str(folder)) / "memory"

    @property
    def memory(self) -> Path:
        return self.memory_of(self.repo)

    def write(self, files: dict[str, str | bytes], folder: Path | None = None) -> None:
        for name, text in files.items():
            file = (folder or self.memory) / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(text if isinstance(text, bytes) else text.encode())

    def read(self, folder: Path | None = None) -> dict[str, bytes]:
        top = folder or self.memory
        return {str(file.relative_to(top)): file.read_bytes() for file in sorted(top.rglob("*")) if file.is_file()}


def git(*arguments: str, cwd: Path) -> None:
    who = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *arguments], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    who = Person(Path(tmp_path / "person").resolve(), Path(tmp_path / "repo").resolve())
    who.home.mkdir()
    (who.repo / "src").mkdir(parents=True)
    (who.repo / "src" / "parser.py").write_text("pass\n")
    git("init", "-q", ".", cwd=who.repo)
    git("add", ".", cwd=who.repo)
    git("commit", "-q", "-m", "first", cwd=who.repo)
    monkeypatch.setenv("HOME", str(who.home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(who.repo)
    return who
