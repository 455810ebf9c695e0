"""The identity of a machine in a store that several machines share, where a path alone says too little."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from memsweep.errors import BadSetting
from memsweep.project.naming import as_path
from memsweep.regular import read_regular

_NAME = "installation"
_DIGITS = 12


def owner_in(store: str, home: Path, identity: str) -> str:
    """A project as the registry of a store has it: its path, on a server with the number of this installation."""
    return f"{_installation(home)}:{identity}" if store else identity


def path_of(owner: str, store: str, home: Path) -> bytes | None:
    """Return the path of a project of this machine; None for one of another machine."""
    if not store:
        return as_path(owner)
    number, _, identity = owner.partition(":")
    return as_path(identity) if number == _installation(home) else None


def _installation(home: Path) -> str:
    """A random number in the home; whoever asks first makes it."""
    path = home / _NAME
    try:
        with contextlib.suppress(FileNotFoundError):
            return _read(path)
        _make(path)
        return _read(path)
    except OSError as error:
        raise BadSetting(
            f"{path} cannot be read or written ({error.strerror}).", hint="Check MEMSWEEP_HOME, or set the workspace."
        ) from None


def _make(path: Path) -> None:
    """Never half of it, and never over another's."""
    import secrets  # late: `memsweep where` starts without it

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{_NAME}.{secrets.token_hex(4)}")
    draft.write_text(secrets.token_hex(_DIGITS // 2), encoding="ascii")
    with contextlib.suppress(FileExistsError):
        os.link(draft, path)
    draft.unlink()


def _read(path: Path) -> str:
    return read_regular(path, 64).decode("ascii", "replace").strip()[:_DIGITS]
