"""Folders and git repositories to index, and a second look at one by a user whom permissions bind."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memsweep.code.request import make_scope
from memsweep.code.walk import Seen, walk
from tests.support import unprivileged

ROOT = Path(__file__).resolve().parents[2]
GIT_SETTINGS = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.com",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.com",
}


def grow(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write files below a folder; a name that ends in a slash is a folder."""
    for name, content in files.items():
        place = root / name
        if name.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def git(folder: Path, *arguments: str, check: bool = True) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *arguments],
        cwd=folder,
        env=environment | GIT_SETTINGS,
        capture_output=True,
        text=True,
        check=check,
    )
    return done.stdout


def repository(root: Path, files: dict[str, str | bytes]) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    return grow(root, files)


def look(root: Path, languages: list[str] | None = None, **filters: Any) -> Seen:
    return walk(make_scope(str(root), languages, **filters))


def names(root: Path) -> set[str]:
    return set(look(root).present)


def look_as_ordinary_user(root: Path, *paths: str) -> dict[str, Any]:
    """What a user without the powers of root sees: paths, reasons, and the states of some paths."""
    command = [sys.executable, "-S", "-E", unprivileged.__file__, sys.executable, __file__, str(root), *paths]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(command, env=environment, capture_output=True, check=False, cwd="/")
    if done.returncode == unprivileged.CANNOT:
        pytest.skip("this machine does not allow to drop the powers of root")
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def _report(root: str, paths: list[str]) -> None:
    from memsweep.code.fingerprint import Unreadable, read_file

    scope = make_scope(root)
    seen = walk(scope)
    reads = {path: read_file(scope.root, path) for path in paths}
    answer = {
        "root": seen.root_state,
        "present": sorted(seen.present),
        "unreadable": seen.unreadable,
        "folders": seen.unreadable_folders,
        "states": {path: seen.state(path) for path in paths},
        "reads": {path: got.reason if isinstance(got, Unreadable) else "read" for path, got in reads.items()},
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    _report(sys.argv[1], sys.argv[2:])
