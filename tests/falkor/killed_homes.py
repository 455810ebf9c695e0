"""Clients that die at work on workspaces: `python -m tests.falkor.killed_homes PORT OPERATION`.

Each child works on a prefix of its own. In the end the doctor has nothing to say, and every key belongs to something
that is known. One line of JSON says how often it died and what was wrong.
"""

import json
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from memsweep.app import App, make_app
from memsweep.embed.local import LocalEmbedder
from memsweep.settings import load_settings
from tests.falkor.killed_at_each_command import attempt, points
from tests.support.killing import Verdict
from tests.support.waiting import wait_for

_model = LocalEmbedder()


@dataclass(frozen=True)
class Operation:
    run: Callable[[App, Path, Any], object]
    prepare: Callable[[App], Any] = lambda app: None


def _deleted(app: App) -> str | None:
    return app.delete_workspace("other", confirm=True).receipt_id


OPERATIONS = {
    "create": Operation(lambda app, backup, _: app.create_workspace("new", "a new one")),
    "delete": Operation(lambda app, backup, _: app.delete_workspace("other", confirm=True)),
    "undelete": Operation(
        lambda app, backup, receipt: app.engine.undelete(receipt, app.clock(), actor=app.actor), _deleted
    ),
    "purge": Operation(lambda app, backup, _: app.purge_workspaces(0), _deleted),
    "replacing restore": Operation(lambda app, backup, _: app.restore(backup, "other", replace=True)),
}


def _events(app: App, name: str) -> list[str]:
    """What the audit log says of the workspace itself."""
    return [f"{each.action} by {each.actor}" for each in app.memory(name).sweep.audit(subject=name)]


class Home:
    """A prefix of its own on the server, with a workspace that holds something."""

    def __init__(self, port: int, folder: Path, number: int, backup: Path) -> None:
        self._client = redis.Redis(port=port)
        self._url, self._folder, self._prefix = f"falkor://127.0.0.1:{port}/home{number}", folder, f"home{number}"
        app = self.app()
        app.restore(backup, "other")
        app.close()

    def app(self) -> App:
        app = make_app(load_settings({"MEMSWEEP_HOME": str(self._folder), "MEMSWEEP_STORE": self._url}))
        app.__dict__["local_model"] = _model
        return app

    def rest(self) -> None:
        """Wait until the server has done what nobody waits for; then the time of a dead maker or writer runs out."""
        at_rest = lambda: not any(self._client.execute_command("GRAPH.INFO")[at] for at in (1, 3))  # noqa: E731
        wait_for(at_rest, "the server to come to rest")
        for what in ("making", "writer"):
            for key in self._client.scan_iter(f"{self._prefix}:*:{what}"):
                assert self._client.pttl(key) > 0
                self._client.delete(key)

    def state(self, app: App) -> list[Any]:
        """What a person could see: names with what is in them, and what can be brought back."""
        graphs = app.engine.graphs()  # type: ignore[attr-defined]
        live = [(name, app.memory(name).stats().total_memories, *_events(app, name)) for name in graphs]
        return sorted(live) + sorted(
            (name, "deleted")
            for name, _, about in app.engine.deleted()
            if about["receipt"]  # type: ignore[attr-defined]
        )

    def strange_keys(self, app: App) -> list[str]:
        engine: Any = app.engine
        unfinished = [(name, graph) for name, graph, _ in engine.deleted()]
        known = {*engine.graphs().items(), *unfinished}
        own = {f"{self._prefix}:{{{name}}}" for name, _ in known}
        graphs = "|".join(re.escape(graph) for _, graph in known) or "nothing"
        parts = re.compile(rf"({graphs})(:(vectors|indexed):\d+|:writer)?|({'|'.join(map(re.escape, own))})(:deleted)?")
        keys = (key.decode() for key in self._client.scan_iter(f"{self._prefix}:*"))
        return [key for key in keys if not parts.fullmatch(key)]

    def close(self) -> None:
        keys = list(self._client.scan_iter(f"{self._prefix}:*"))
        if keys:
            self._client.unlink(*keys)
        self._client.close()


def made_backup(port: int, folder: Path) -> Path:
    app = make_app(load_settings({"MEMSWEEP_HOME": str(folder / "origin")}))
    app.__dict__["local_model"] = _model
    for number in range(3):
        app.memory().remember(f"memory {number} of Grace Hopper")
    app.memory().care.backup(folder / "copy.backup")
    app.close()
    return folder / "copy.backup"


def main(port: int, name: str, thorough: bool) -> dict[str, Any]:
    operation = OPERATIONS[name]
    with tempfile.TemporaryDirectory() as folder:
        backup = made_backup(port, Path(folder))

        def once(number: int, at: int, sent: bool) -> tuple[list[str], list[Any], list[Any], list[str]]:
            home = Home(port, Path(folder) / "home", number, backup)
            app = home.app()
            given = operation.prepare(app)
            before = home.state(app)
            app.close()
            commands = attempt(lambda: operation.run(home.app(), backup, given), at, sent)
            home.rest()
            app = home.app()
            said = [f"doctor: {each.invariant} {each.samples}" for each in app.engine.keeper.examine()]
            said += [f"left: {key}" for key in home.strange_keys(app)]
            after = home.state(app)
            for workspace in app.workspaces():
                said += [f"doctor: {each.invariant}" for each in app.memory(workspace.id).care.doctor().findings]
            app.close()
            home.close()
            return commands, before, after, said

        commands, before, done, said = once(0, 0, False)
        verdict = Verdict(before, done, said)
        for number, (at, sent) in enumerate(points(commands, thorough), 1):
            lived, _, left, said = once(number, at, sent)
            where = f"{'after' if sent else 'before'} command {at} of {len(commands)}"
            verdict.see(where, left, said, lived=bool(lived))
    return verdict.told(may_be_same=name == "replacing restore")


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]), sys.argv[2], "thorough" in sys.argv)))
