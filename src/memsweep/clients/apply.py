"""Writes a change whole or not at all, with a copy of what was there, and takes it back."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import stat
from dataclasses import asdict, dataclass
from pathlib import Path

from memsweep.clients.editing import CannotEdit
from memsweep.clients.plan import ConfigChange, digest, read_config, without_entry
from memsweep.clients.table import CLIENTS, Client
from memsweep.errors import BadSetting, Conflict, StoreReadOnly
from memsweep.regular import WRITING

_FOLDER, _RECORD = "init", "record.json"


@dataclass(frozen=True, slots=True)
class Written:
    """A change of a file by `init`; kept until it is undone."""

    client: str
    path: str
    backup: str
    """A copy of the file before; empty if there was none."""
    after: str
    """The digest of what was written."""


def write(change: ConfigChange, home: Path) -> Written:
    """Back up, then replace, then note it; a file that changed since it was shown is left alone."""
    folder = private_folder(home)
    backup = folder / f"{change.client.id}.{secrets.token_hex(4)}.before" if change.before is not None else None
    try:
        if backup is not None and change.before is not None:
            put(backup, change.before, 0o600)
        if read_config(change.path) != change.before:
            raise Conflict(f"{change.path} has changed since it was shown.", hint="Run it again.")
        done = Written(change.client.id, str(change.path), str(backup or ""), digest(change.after))
        # Noted first: an undo that finds nothing to undo is better than a change that nobody knows of.
        _note(folder, [*read_record(home), done])
        change.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        put(change.path, change.after, mode_of(change.path))
    except OSError as error:
        raise StoreReadOnly(
            f"{change.path} cannot be written ({error.strerror}).", hint="Nothing was changed."
        ) from None
    return done


def plan_undo(home: Path, chosen: tuple[str, ...] = ()) -> list[tuple[Written, ConfigChange]]:
    """Plan to restore every file, the last written first."""
    clients = {client.id: client for client in CLIENTS}
    record = [each for each in read_record(home) if each.client in clients and (not chosen or each.client in chosen)]
    return [(each, _undone(each, clients[each.client])) for each in reversed(record)]


def undo(written: Written, change: ConfigChange, home: Path) -> None:
    try:
        if read_config(change.path) != change.before:
            raise Conflict(f"{change.path} has changed since it was shown.", hint="Run it again.")
        if change.before is not None:
            if change.after or written.backup:
                put(change.path, change.after, mode_of(change.path))
            else:
                change.path.unlink()
        _note(private_folder(home), [each for each in read_record(home) if each != written])
        if written.backup:
            Path(written.backup).unlink(missing_ok=True)
    except OSError as error:
        raise StoreReadOnly(f"{change.path} cannot be written ({error.strerror}).") from None


def read_record(home: Path) -> list[Written]:
    path = home / _FOLDER / _RECORD
    try:
        found = json.loads(path.read_bytes())
        return [Written(**each) for each in found]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        raise BadSetting(f"{path} cannot be read.", hint="Correct it or move it away.") from None


def _undone(written: Written, client: Client) -> ConfigChange:
    """As it was before, if nobody has changed it since; else without our entry, if that can be done safely."""
    path = Path(written.path)
    try:
        now = read_config(path)
        if now is None:
            return ConfigChange(client, path, "there")
        if digest(now) == written.after:
            before = read_config(Path(written.backup)) if written.backup else b""
            if before is not None:
                return ConfigChange(client, path, "changed", now, before)
        after = without_entry(client, path, now)
        return ConfigChange(client, path, "there" if after == now else "changed", now, after)
    except (CannotEdit, UnicodeDecodeError, OSError) as error:
        kept = f"; the file as it was is kept as {written.backup}" if written.backup else ""
        return ConfigChange(client, path, "refused", why=f"{error}{kept}")


def put(path: Path, content: bytes, mode: int) -> None:
    """Whole or not at all; the folder is that of the file, so that it is one rename."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.memsweep")
    handle = os.open(draft, WRITING | os.O_EXCL, mode)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(content)
            out.flush()
            os.fsync(out.fileno())
        os.chmod(draft, mode)
        os.replace(draft, path)
    except BaseException:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def mode_of(path: Path) -> int:
    try:
        return stat.S_IMODE(path.stat().st_mode)
    except FileNotFoundError:
        return 0o600


def private_folder(home: Path) -> Path:
    folder = home / _FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder


def _note(folder: Path, record: list[Written]) -> None:
    put(folder / _RECORD, json.dumps([asdict(each) for each in record], indent=1).encode(), 0o600)
