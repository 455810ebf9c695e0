"""Plan the changes of `init`: the clients that are there, their files, and each change as a value."""

from __future__ import annotations

import difflib
import hashlib
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from memsweep.clients import editing
from memsweep.clients.editing import CannotEdit
from memsweep.clients.table import CLIENTS, PLATFORMS, Client, Platform, folders
from memsweep.errors import BadInput
from memsweep.regular import read_regular
from memsweep.secrets.find import redacted
from memsweep.settings.load import client_variables, kept_for_servers

NAME = "memsweep"
_LONGEST = 64 * 1024**2
State = Literal["new", "changed", "there", "refused"]


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine for clients: the platform, the person's home, and variables that move folders."""

    platform: Platform
    home: Path
    variables: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConfigChange:
    """One file before and after; `before` is None where there is no file yet."""

    client: Client
    path: Path
    """Where the bytes are: of a link, what it leads to."""
    state: State
    before: bytes | None = None
    after: bytes = b""
    why: str = ""
    """Why it is refused."""

    @property
    def diff(self) -> str:
        """The lines that change, without secrets that stand in one of them."""
        old, new = ((text or b"").decode("utf-8", "replace").splitlines() for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, str(self.path), str(self.path), n=1, lineterm="")
        return redacted("\n".join(lines))[0]


def find_clients(machine: Machine, chosen: Iterable[str] = ()) -> list[Client]:
    """Return the clients that are on the machine, or those that somebody names."""
    wanted = list(chosen)
    known = {client.id: client for client in CLIENTS}
    if unknown := [name for name in wanted if name not in known]:
        raise BadInput(f"client {unknown[0]!r:.60} is unknown.", hint=f"Use one of: {', '.join(known)}.")
    if wanted:
        return [known[name] for name in dict.fromkeys(wanted)]
    return [client for client in CLIENTS if any(os.path.exists(sign) for sign in _signs(client, machine))]


def plan_entry(client: Client, machine: Machine, entry: Mapping[str, Any]) -> ConfigChange:
    """The change that adds our server, or brings it up to date; what a person added to the entry is kept."""
    path = file_of(client, machine)
    try:
        before = read_config(path)
        text = "" if before is None else before.decode("utf-8")
        known = _entry(client, text)
        wanted = {**known, **client.extra, **entry}
        if known == wanted:
            return ConfigChange(client, path, "there", before, before or b"")
        set_entry: Any = editing.set_table if client.form == "toml" else editing.set_member
        after = set_entry(text, (client.servers, NAME), wanted).encode()
        return ConfigChange(client, path, "changed" if known else "new", before, after)
    except (CannotEdit, UnicodeDecodeError, OSError) as error:
        return ConfigChange(client, path, "refused", why=_why(error))


def without_entry(client: Client, path: Path, before: bytes) -> bytes:
    """A file without our server."""
    drop = editing.drop_table if client.form == "toml" else editing.drop_member
    return drop(before.decode("utf-8"), (client.servers, NAME)).encode()


def file_of(client: Client, machine: Machine) -> Path:
    return place_of(client.files[machine.platform], machine)


def place_of(template: str, machine: Machine) -> Path:
    """Return the path of a file of a client, whatever links lead there."""
    return Path(os.path.realpath(template.format(**folders(machine.platform, machine.home, machine.variables))))


def read_config(path: Path) -> bytes | None:
    try:
        return read_regular(path, _LONGEST)
    except FileNotFoundError:
        return None


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _signs(client: Client, machine: Machine) -> list[str]:
    places = folders(machine.platform, machine.home, machine.variables)
    return [sign.format(**places) for sign in client.signs[machine.platform]]


def _entry(client: Client, text: str) -> dict[str, Any]:
    if not text.strip():
        return {}
    found = (editing.parse_toml if client.form == "toml" else editing.parse_json)(text)
    servers = found.get(client.servers, {}) if isinstance(found, dict) else None
    known = servers.get(NAME, {}) if isinstance(servers, dict) else None
    if not isinstance(known, dict):
        raise CannotEdit(f"its {client.servers!r} has another form than it should")
    return known


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return getattr(error, "strerror", None) or str(error)


def this_machine() -> Machine:
    platform: Platform = next((each for each in PLATFORMS if sys.platform.startswith(each)), "linux")
    return Machine(platform, Path.home(), client_variables())


def server_entry() -> dict[str, Any]:
    """The program of this installation by its whole path: a client may have another PATH than the shell."""
    script = Path(sys.executable).with_name("memsweep.exe" if sys.platform == "win32" else "memsweep")
    if os.access(script, os.X_OK):
        command, arguments = str(script), ["serve"]
    else:
        command, arguments = sys.executable, ["-P", "-m", "memsweep", "serve"]
    entry: dict[str, Any] = {"command": command, "args": arguments}
    variables = kept_for_servers()
    return {**entry, "env": variables} if variables else entry
