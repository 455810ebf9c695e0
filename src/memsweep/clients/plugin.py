"""Our plugin in the clients that take one, added and removed by their own commands."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import memsweep
from memsweep.clients.apply import private_folder, put
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


def plan_plugins(clients: Iterable[Client], folder: Path) -> list[PluginChange]:
    """How the plugin is added to those of the clients that take one and can be run."""
    return [
        change
        for client in clients
        if client.plugin
        and (change := _change(client, ("marketplace", "add", str(folder)), (client.plugin.add, NAME))).program
    ]


def plan_removal(home: Path, chosen: tuple[str, ...] = ()) -> list[PluginChange]:
    """How what earlier runs added is removed."""
    known = read_plugins(home)
    return [
        _change(client, (client.plugin.remove, NAME), ("marketplace", "remove", MARKETPLACE))
        for client in CLIENTS
        if client.plugin and client.id in known and (not chosen or client.id in chosen)
    ]


def add_plugin(change: PluginChange, home: Path) -> None:
    """Noted first: an undo that finds nothing is better than a plugin that nobody knows of."""
    _note(home, {*read_plugins(home), change.client.id})
    for command in change.commands:
        if failure := _failure(change.program, command):
            raise Conflict(failure, hint="`memsweep init --undo` takes back what was done.")


def remove_plugin(change: PluginChange, home: Path) -> None:
    """Every part of it; somebody may have removed one by hand."""
    failures = [_failure(change.program, command) for command in change.commands]
    _note(home, read_plugins(home) - {change.client.id})
    if said := " ".join(filter(None, failures)):
        raise Conflict(said, hint="Run it by hand if the plugin is still there.")


def read_plugins(home: Path) -> set[str]:
    """The ids of the clients that `init` added the plugin to."""
    path = home / _FOLDER / _RECORD
    try:
        return {str(each) for each in json.loads(path.read_bytes())}
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, TypeError):
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


def _note(home: Path, clients: set[str]) -> None:
    try:
        put(private_folder(home) / _RECORD, json.dumps(sorted(clients)).encode(), 0o600)
    except OSError as error:
        raise StoreReadOnly(f"{home / _FOLDER} cannot be written ({error.strerror}).") from None
