"""Our plugin in the clients that take one, added and removed by their own commands."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import memsweep
from memsweep.clients.apply import mode_of, private_folder, put
from memsweep.clients.plan import Machine, digest, place_of, read_config
from memsweep.clients.table import CLIENTS, Client
from memsweep.errors import BadSetting, Conflict, StoreReadOnly

NAME, MARKETPLACE = "memsweep@memsweep", "memsweep"
_FOLDER, _RECORD = "init", "plugins.json"
_SECONDS = 120


@dataclass(frozen=True, slots=True)
class PluginChange:
    """The commands that add the plugin to a client, or remove it."""

    client: Client
    program: str
    """The whole path of the client; empty if it is not there."""
    commands: tuple[tuple[str, ...], ...]

    @property
    def shown(self) -> list[str]:
        """The commands as a person would type them."""
        return [shlex.join(command) for command in self.commands]


@dataclass(frozen=True, slots=True)
class SettingsBefore:
    """The settings of a client as they were before its command wrote the plugin into them."""

    path: str
    mode: int
    backup: str
    """A copy of the file; empty if there was none."""
    after: str = ""
    """The digest of what the command made of it."""


def plan_plugins(clients: Iterable[Client], folder: Path) -> list[PluginChange]:
    """Plan to add the plugin to those of the clients that take one and can be run."""
    return [
        change
        for client in clients
        if client.plugin
        and (change := _change(client, ("marketplace", "add", str(folder)), (client.plugin.add, NAME))).program
    ]


def plan_removal(home: Path, chosen: tuple[str, ...] = ()) -> list[PluginChange]:
    """Plan to remove what earlier runs added."""
    known = read_plugins(home)
    return [
        _change(client, (client.plugin.remove, NAME), ("marketplace", "remove", MARKETPLACE))
        for client in CLIENTS
        if client.plugin and client.id in known and (not chosen or client.id in chosen)
    ]


def add_plugin(change: PluginChange, home: Path, machine: Machine) -> None:
    """Noted first: an undo that finds nothing is better than a plugin that nobody knows of."""
    known, name = read_plugins(home), change.client.id
    try:
        before = known[name] if name in known else _copy_settings(change.client, home, machine)
        if name in known and before is not None and before.after != _digest_of(before):
            before = None  # somebody has changed them since: what was before is no longer what they should become
        _note(home, {**known, name: before})
        for command in change.commands:
            if failure := _failure(change.program, command):
                raise Conflict(failure, hint="`memsweep init --undo` takes back what was done.")
        _note(home, {**known, name: before and replace(before, after=_digest_of(before))})
    except OSError as error:
        raise StoreReadOnly(f"the settings of {change.client.title} cannot be kept ({error}).") from None


def remove_plugin(change: PluginChange, home: Path) -> None:
    """Every part of it; somebody may have removed one by hand. Settings that nobody else changed become as before."""
    known = read_plugins(home)
    before = known.pop(change.client.id, None)
    try:
        ours = before is not None and before.after == _digest_of(before)
        failures = [_failure(change.program, command) for command in change.commands]
        if before is not None and ours and not any(failures):
            _give_back(before)
        _note(home, known)
        _backup_of(change.client, home).unlink(missing_ok=True)
    except OSError as error:
        raise StoreReadOnly(f"the settings of {change.client.title} cannot be given back ({error}).") from None
    if said := " ".join(filter(None, failures)):
        raise Conflict(said, hint="Run it by hand if the plugin is still there.")


def _copy_settings(client: Client, home: Path, machine: Machine) -> SettingsBefore:
    assert client.plugin is not None
    path = place_of(client.plugin.settings, machine)
    content, backup = read_config(path), _backup_of(client, home)
    if content is None:
        return SettingsBefore(str(path), 0o600, "")
    put(backup, content, 0o600)
    return SettingsBefore(str(path), mode_of(path), str(backup))


def _backup_of(client: Client, home: Path) -> Path:
    return private_folder(home) / f"{client.id}.settings.before"


def _digest_of(before: SettingsBefore) -> str:
    return digest(read_config(Path(before.path)) or b"")


def _give_back(before: SettingsBefore) -> None:
    """Write the file as it was, byte for byte and with its mode: the client writes it in a form of its own."""
    content = read_config(Path(before.backup)) if before.backup else None
    if content is not None:
        put(Path(before.path), content, before.mode)
    elif not before.backup:
        Path(before.path).unlink(missing_ok=True)


def read_plugins(home: Path) -> dict[str, SettingsBefore | None]:
    """The clients that `init` added the plugin to, with their settings before; an earlier version kept none."""
    path = home / _FOLDER / _RECORD
    try:
        found = json.loads(path.read_bytes())
        if isinstance(found, list):
            return {str(each): None for each in found}
        return {name: each and SettingsBefore(**each) for name, each in found.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, AttributeError):
        raise BadSetting(f"{path} cannot be read.", hint="Correct it or move it away.") from None


def plugin_folder() -> Path:
    """The marketplace that comes with the package; in a checkout, the folder of the project."""
    package = Path(memsweep.__file__).resolve().parent
    packed = package / "plugins"
    return packed if packed.is_dir() else package.parents[1] / "plugins"


def find_program(name: str) -> str | None:
    """The whole path of a program; one in the working folder does not count, whatever PATH says."""
    places = [each for each in os.get_exec_path() if os.path.isabs(each)]
    found = shutil.which(name, path=os.pathsep.join(places))
    return found if found and os.path.isabs(found) else None


def _change(client: Client, *commands: tuple[str, ...]) -> PluginChange:
    program = client.plugin.program if client.plugin else ""
    return PluginChange(client, find_program(program) or "", tuple((program, "plugin", *line) for line in commands))


def _failure(program: str, command: tuple[str, ...]) -> str:
    """Run a command; what went wrong, if anything."""
    shown = shlex.join(command)
    try:
        done = subprocess.run(
            [program, *command[1:]],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"`{shown}` could not be run ({type(error).__name__})."
    said = (done.stderr.strip() or done.stdout.strip() or "it said nothing").splitlines()[-1]
    return f"`{shown}` failed: {said:.200}" if done.returncode else ""


def _note(home: Path, clients: Mapping[str, SettingsBefore | None]) -> None:
    record = {name: before and asdict(before) for name, before in clients.items()}
    try:
        put(private_folder(home) / _RECORD, json.dumps(record, sort_keys=True).encode(), 0o600)
    except OSError as error:
        raise StoreReadOnly(f"{home / _FOLDER} cannot be written ({error.strerror}).") from None
