"""All workspaces of one prefix on a server or a cluster.

There is no registry in one place: each workspace has an entry of its own, a hash that lives in the same
slot as its graph. So a node that fails takes nothing with it but what it held. A graph has a name that is
never used again; a workspace that was deleted and made anew cannot meet the old one's data.
"""

from __future__ import annotations

import contextlib
import json
import re
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from itertools import starmap
from typing import Any

from memsweep.errors import (
    AlreadyExists,
    StoreAway,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreTooNew,
    UnknownWorkspace,
)
from memsweep.forking import new_lock
from memsweep.model.audit import AuditEvent
from memsweep.model.memory import Workspace
from memsweep.model.stored import expect, to_json
from memsweep.model.times import from_micros, to_micros
from memsweep.model.token import Token
from memsweep.store.audit_rows import log
from memsweep.store.falkor import cypher, gc_cypher, link, structure
from memsweep.store.falkor.home import FalkorHomeKeeper
from memsweep.store.falkor.link import Link
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.schema import MIGRATIONS, SCHEMA
from memsweep.store.falkor.store import FalkorStore
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import rows_of
from memsweep.store.refusals import unknown_receipt, unknown_workspace, workspace_exists, workspace_made_again
from memsweep.store.workspace_events import deleted, from_fields, restored, to_fields


def waiting_in(entry: Mapping[str, str]) -> list[Any]:
    """Return the events that the entry of a live workspace has yet to pass on."""
    found = json.loads(entry.get("events", "[]"))
    return found if isinstance(found, list) else []


def write(graph: GraphHandle, events: Iterable[Any]) -> None:
    with graph.writing() as tx:
        known = [event for fields in events if (event := from_fields(fields)) is not None]
        for event in known:
            if not tx.ask(gc_cypher.COUNT_EVENTS, **_about(event))[0][0]:
                log(FalkorRows(tx), AuditEvent(event.at, event.actor, event.action, event.subject, {}, event.reason))


def _about(event: AuditEvent) -> dict[str, Any]:
    return {"subject": event.subject, "at": to_micros(event.at), "action": event.action, "reason": event.reason}


_MAKING_MILLISECONDS = 120_000
_GRAPH = re.compile(r"}:[0-9a-f]{16}$")


class FalkorEngine:
    """Implements `memsweep.store.protocol.Engine`."""

    def __init__(self, url: str) -> None:
        self.link = Link(url)
        self._stores: dict[str, tuple[GraphHandle, FalkorStore]] = {}
        self._opened: dict[str, tuple[GraphHandle, FalkorStore]] = {}
        self._lock = new_lock()
        self.keeper = FalkorHomeKeeper(self)
        self.tokens = FalkorTokens(self.link)

    def workspaces(self) -> list[Workspace]:
        with contextlib.suppress(StoreError):  # a listing may go to a server that takes no writes
            self.finish_abandoned()
        entries = self._entries()
        for name, entry in entries:
            self._pass_on_events(name, entry)
        return [_workspace(name, entry) for name, entry in entries]

    def graphs(self) -> dict[str, str]:
        """The graph of each workspace."""
        return {name: entry["graph"] for name, entry in self._entries()}

    def all_graphs(self) -> list[tuple[str, str]]:
        """Every graph of this prefix, whether an entry leads to it or not, with the name that is in its own."""
        keys = sorted(key for key in self.link.keys("{*}:*") if _GRAPH.search(key))
        return [(key.split("{", 1)[1].split("}", 1)[0], key) for key in keys]

    def has_graph(self, graph: str) -> bool:
        return bool(self.link.read("EXISTS", graph))

    def _entries(self) -> list[tuple[str, dict[str, str]]]:
        names = sorted(key.split("{", 1)[1][:-1] for key in self.link.keys("{*}"))
        return [(name, entry) for name in names if (entry := self._entry(name))]

    def owner_of(self, workspace_id: str) -> str | None:
        entry = self._entry(workspace_id)
        return entry.get("project", "") if entry else None

    def workspace_of(self, project: str) -> str | None:
        """Asked for only where the name that a project would have by itself is not there."""
        made = ((entry["created_at"], name) for name, entry in self._entries() if entry.get("project") == project)
        return min(made, default=("", None))[1]

    def assign(self, workspace_id: str, project: str) -> None:
        if not self.link.write("EVAL", link.ASSIGN, 1, self._entry_key(workspace_id), project):
            raise self._unknown(workspace_id)

    def describe(self, workspace_id: str, description: str) -> None:
        self.link.write("EVAL", link.DESCRIBE, 1, self._entry_key(workspace_id), description)

    def create(self, workspace_id: str, description: str, now: datetime, *, project: str = "") -> Workspace:
        if self._entry(workspace_id):
            raise workspace_exists(workspace_id)
        self.finish_abandoned(workspace_id)
        workspace = Workspace(workspace_id, description, now, project=project)
        graph = self.new_graph(workspace, now)
        if not self.enter(workspace, graph):
            self.drop_unfinished(workspace_id, graph.name)
            raise workspace_exists(workspace_id)
        return workspace

    def delete(self, workspace_id: str, now: datetime, receipt_id: str = "", *, actor: str) -> Workspace:
        entry = self._entry(workspace_id)
        if not entry:
            raise self._unknown(workspace_id)
        keys = (self._entry_key(workspace_id), self._deleted_key(workspace_id))
        hidden = _hidden(entry, deleted(workspace_id, receipt_id, actor, now))
        if not self.link.write("EVAL", link.HIDE, 2, *keys, entry["graph"], hidden):
            raise self._unknown(workspace_id)
        return _workspace(workspace_id, entry, receipt_id or None)

    def undelete(self, receipt_id: str, now: datetime, *, actor: str) -> Workspace:
        for name, graph, about in self.deleted():
            if receipt_id and about["receipt"] == receipt_id and "freeing" not in about:
                back = to_fields(restored(name, receipt_id, actor, now))
                events = to_json([*about.get("events", ()), back])
                project = about.get("project", "")
                values = (graph, about["description"], about["created_at"], to_json(about), events, project)
                keys = (self._entry_key(name), self._deleted_key(name))
                shown = self.link.write("EVAL", link.UNHIDE, 2, *keys, *values)
                if shown == 0:
                    raise workspace_made_again(name)
                if shown == 1:
                    self._pass_on_events(name, {"graph": graph, "events": events})
                    return Workspace(name, about["description"], from_micros(about["created_at"]), project=project)
        raise unknown_receipt(receipt_id)

    def _pass_on_events(self, workspace_id: str, entry: dict[str, str]) -> None:
        """Write what the entry has to tell into the audit log of the workspace; if not now, the next one does."""
        if "events" not in entry:
            return
        with contextlib.suppress(StoreError):
            write(GraphHandle(self.link, entry["graph"]), waiting_in(entry))
            self.link.write("EVAL", link.PASSED_ON, 1, self._entry_key(workspace_id), entry["events"])

    def deleted_workspaces(self) -> list[Workspace]:
        unfinished = {"making", "freeing", "copy_of"}
        found = [_deleted_workspace(name, about) for name, _, about in self.deleted() if not unfinished & about.keys()]
        return sorted(found, key=lambda each: (each.deleted_at, each.id, each.receipt_id), reverse=True)

    def purge_deleted(self, before: datetime) -> int:
        """Free the graphs of workspaces that were deleted up to a moment; how many."""
        self.finish_abandoned()
        old = self._purgeable(before)
        for name, graph, about in old:
            # Written down first: what is cut short cannot be brought back, and is finished by the next one.
            freeing = to_json({**about, "freeing": True})
            if self.link.write("EVAL", link.FREE, 1, self._deleted_key(name), graph, to_json(about), freeing):
                self.drop_unfinished(name, graph)
        return len(old)

    def _purgeable(self, before: datetime) -> list[tuple[str, str, dict[str, Any]]]:
        busy = {"making", "freeing"}
        return [
            each for each in self.deleted() if each[2]["deleted_at"] <= to_micros(before) and not busy & each[2].keys()
        ]

    def finish_abandoned(self, workspace_id: str | None = None) -> None:
        """Drop the graphs that a process had begun to make or to free when it ended; of one name, or of all."""
        known = self.deleted() if workspace_id is None else self._deleted_of(workspace_id)
        for name, graph, about in known:
            if "freeing" in about or ("making" in about and self._is_given_up(name, graph)):
                self.drop_unfinished(name, graph)

    def _is_given_up(self, workspace_id: str, graph: str) -> bool:
        """Return whether the maker's time has run out: only the primary knows for sure.

        Looked at in this order, for who has entered its graph takes it off the list first, and gives up its time then.
        """
        if self.link.write("EXISTS", f"{graph}:making"):
            return False
        return bool(self.link.write("EVAL", link.IS_LISTED, 1, self._deleted_key(workspace_id), graph))

    def open(self, workspace_id: str) -> FalkorStore:
        known = self._opened.get(workspace_id)
        if known is not None and self._is_still(workspace_id, known[0]):
            return known[1]
        entry = self._entry(workspace_id)
        if not entry:
            raise self._unknown(workspace_id)
        with self._lock:
            found = self._stores.get(entry["graph"])
            if found is None:
                graph = self._checked(workspace_id, entry)
                self._pass_on_events(workspace_id, entry)
                found = self._stores[entry["graph"]] = graph, FalkorStore(workspace_id, graph)
            self._opened[workspace_id] = found
            return found[1]

    def _is_still(self, workspace_id: str, graph: GraphHandle) -> bool:
        """Return whether this is the graph of the workspace; read the workspace's description on the way."""
        commands = [("HGET", self._entry_key(workspace_id), "graph"), graph.question(cypher.META)]
        try:
            name, meta = self.link.read_all(commands)
        except (StoreAway, StoreBusy):
            raise
        except StoreError:  # it may have been purged; then the long way says so
            return False
        graph.seen = rows_of(meta)[0][0]
        return bool(name == graph.name.encode())

    def open_or_create(self, workspace_id: str, now: datetime, *, project: str = "") -> FalkorStore:
        try:
            return self.open(workspace_id)
        except UnknownWorkspace:
            with contextlib.suppress(AlreadyExists):  # another process was quicker, which is as good
                self.create(workspace_id, "", now, project=project)
        return self.open(workspace_id)

    def close(self) -> None:
        self._stores.clear()
        self._opened.clear()
        self.link.close()

    def new_graph(self, workspace: Workspace, now: datetime) -> GraphHandle:
        """A graph with its indexes that no entry leads to yet; until then it counts as deleted."""
        graph = GraphHandle(self.link, f"{self._entry_key(workspace.id)}:{secrets.token_hex(8)}")
        self.link.write("SET", f"{graph.name}:making", "1", "PX", _MAKING_MILLISECONDS)
        self._note(workspace, graph, now, making=True)
        meta = {
            "name": workspace.id,
            "description": workspace.description,
            "created_at": to_micros(workspace.created_at),
            "revision": 0,
            "keys": 0,
            "generation": 0,
            "schema": SCHEMA,
        }
        self.link.change(graph.name, cypher.MAKE_WORKSPACE, meta=meta)
        self.link.send_all([("GRAPH.QUERY", graph.name, index) for step in MIGRATIONS for index in step])
        structure.wait(graph)
        return graph

    def enter(self, workspace: Workspace, graph: GraphHandle) -> bool:
        """Give a graph the name of its workspace; False if another has it."""
        self.link.change(graph.name, cypher.SETTLE)
        key = self._entry_key(workspace.id)
        values = (graph.name, workspace.description, to_micros(workspace.created_at), workspace.project)
        entered = bool(self.link.write("EVAL", link.SHOW, 2, key, self._deleted_key(workspace.id), *values))
        if entered:
            self.link.write("UNLINK", f"{graph.name}:making")
        return entered

    def replace(self, workspace: Workspace, graph: GraphHandle, event: AuditEvent) -> bool | None:
        """Enter a graph in the place of another, at once; whether there was one, None if that has changed meanwhile."""
        self.link.change(graph.name, cypher.SETTLE)
        entry = self._entry(workspace.id)
        keys = (self._entry_key(workspace.id), self._deleted_key(workspace.id))
        values = (graph.name, workspace.description, to_micros(workspace.created_at))
        old = (entry["graph"], _hidden(entry, event)) if entry else ("", "")
        return bool(entry) if self.link.write("EVAL", link.REPLACE, 2, *keys, *values, *old) else None

    def drop_graph(self, graph: str) -> None:
        """With all that is beside it; also if an earlier attempt was cut short."""
        try:
            if self.has_graph(graph):
                self.link.send_all([("GRAPH.DELETE", graph)])
        except (StoreAway, StoreBusy):
            raise
        except StoreError:
            if self.has_graph(graph):  # or another process was quicker
                raise
        for key in list(self.link.keys(f"{graph.removeprefix(self.link.prefix + ':')}:*")):
            self.link.write("UNLINK", key)

    def note_unfinished(self, workspace: Workspace, graph: GraphHandle, source: str, now: datetime) -> None:
        """Until it is entered, a copy counts as deleted: nobody sees it, and a purge frees what nobody went on with."""
        self._note(workspace, graph, now, copy_of=source)
        self.link.write("UNLINK", f"{graph.name}:making")

    def _note(self, workspace: Workspace, graph: GraphHandle, now: datetime, **more: Any) -> None:
        about = {
            "description": workspace.description,
            "created_at": to_micros(workspace.created_at),
            "deleted_at": to_micros(now),
            "receipt": "",
            **more,
        }
        self.link.write("HSET", self._deleted_key(workspace.id), graph.name, to_json(about))

    def unfinished(self, workspace_id: str) -> list[tuple[str, str]]:
        """Graphs of interrupted copies to this name, and what they are copies of."""
        return [(graph, about["copy_of"]) for _, graph, about in self._deleted_of(workspace_id) if "copy_of" in about]

    def drop_unfinished(self, workspace_id: str, graph: str) -> None:
        self.drop_graph(graph)
        self.link.write("HDEL", self._deleted_key(workspace_id), graph)

    def deleted(self) -> list[tuple[str, str, dict[str, Any]]]:
        """Workspace, graph and what is known of every deletion."""
        names = [key.split("{", 1)[1].split("}", 1)[0] for key in self.link.keys("{*}:deleted")]
        return [each for name in names for each in self._deleted_of(name)]

    def _deleted_of(self, workspace_id: str) -> list[tuple[str, str, dict[str, Any]]]:
        listed = _pairs(self.link.read("HGETALL", self._deleted_key(workspace_id)))
        return [(workspace_id, graph.decode(), json.loads(about)) for graph, about in listed]

    def _checked(self, workspace_id: str, entry: dict[str, str]) -> GraphHandle:
        graph = GraphHandle(self.link, entry["graph"])
        if not self.has_graph(graph.name):
            raise StoreCorrupt(
                f"the graph of workspace {workspace_id!r} is missing: {graph.name}.",
                hint="Restore a backup with --replace, or delete the workspace.",
            )
        if graph.meta()["schema"] > SCHEMA:
            raise StoreTooNew(f"workspace {workspace_id!r} was written by a newer memsweep.", hint="Upgrade memsweep.")
        if graph.meta()["schema"] < SCHEMA:
            structure.bring_up_to_date(graph)
        return graph

    def _entry(self, workspace_id: str) -> dict[str, str]:
        pairs = _pairs(self.link.read("HGETALL", self._entry_key(workspace_id)))
        return {name.decode(): value.decode() for name, value in pairs}

    def _entry_key(self, workspace_id: str) -> str:
        return f"{self.link.prefix}:{{{workspace_id}}}"

    def _deleted_key(self, workspace_id: str) -> str:
        return f"{self._entry_key(workspace_id)}:deleted"

    def _unknown(self, workspace_id: str) -> UnknownWorkspace:
        return unknown_workspace(workspace_id, (each.id for each in self.workspaces()), self.deleted_workspaces())


def _pairs(listed: Any) -> list[tuple[bytes, bytes]]:
    return list(listed.items()) if isinstance(listed, dict) else list(zip(listed[::2], listed[1::2], strict=True))


def _workspace(name: str, entry: dict[str, str], receipt_id: str | None = None) -> Workspace:
    created_at, project = from_micros(int(entry["created_at"])), entry.get("project", "")
    return Workspace(name, entry["description"], created_at, receipt_id, project=project)


def _deleted_workspace(name: str, about: dict[str, Any]) -> Workspace:
    created_at, deleted_at = from_micros(about["created_at"]), from_micros(about["deleted_at"])
    project = about.get("project", "")
    return Workspace(name, about["description"], created_at, about["receipt"] or None, deleted_at, project)


def _hidden(entry: dict[str, str], event: AuditEvent) -> str:
    """Return the kept part of the entry of a workspace that this event deletes; its audit log gets it on its return."""
    return to_json(
        {
            "description": entry["description"],
            "created_at": int(entry["created_at"]),
            "deleted_at": to_micros(event.at),
            "receipt": event.reason,
            "events": [*waiting_in(entry), to_fields(event)],
            "project": entry.get("project", ""),
        }
    )


class FalkorTokens:
    """Implements `memsweep.store.ports.tokens.Tokens`."""

    def __init__(self, link: Link) -> None:
        self._link, self._key = link, f"{link.prefix}:tokens"

    def find(self, digest: str) -> Token | None:
        kept = self._link.read("HGET", self._key, digest)
        return None if kept is None else self._token(digest, kept)

    def all(self) -> list[Token]:
        listed = self._link.read("HGETALL", self._key)
        pairs = listed.items() if isinstance(listed, dict) else zip(listed[::2], listed[1::2], strict=True)
        found = sorted((digest.decode(), kept) for digest, kept in pairs)
        return sorted(starmap(self._token, found), key=lambda each: each.created_at)

    def add(self, token: Token) -> bool:
        values = (token.digest, _kept(token), token.name)
        return bool(self._link.write("EVAL", link.ADD_TOKEN, 1, self._key, *values))

    def revoke(self, name: str, now: datetime) -> Token | None:
        """Only one of two that do so at once changes it; to the other it is revoked already."""
        for token in self.all():
            if token.name == name and token.revoked_at is None:
                revoked = replace(token, revoked_at=now)
                values = (token.digest, _kept(token), _kept(revoked))
                if self._link.write("EVAL", link.FREE, 1, self._key, *values):
                    return revoked
        return None

    def _token(self, digest: str, kept: bytes) -> Token:
        """Of a token nothing is guessed: what is damaged lets nobody in."""
        try:
            return _read(digest, json.loads(kept))
        except (ValueError, TypeError, LookupError) as error:
            raise StoreCorrupt(
                f"what the store keeps of the token {digest[:12]}… is damaged.",
                hint=f"Remove it on the server: HDEL {self._key} {digest}",
            ) from error


def _kept(token: Token) -> str:
    times = {"expires_at": token.expires_at, "revoked_at": token.revoked_at}
    return to_json(
        {
            "name": token.name,
            "workspaces": list(token.workspaces),
            "read_only": token.read_only,
            "created_at": to_micros(token.created_at),
            **{key: to_micros(at) for key, at in times.items() if at is not None},
        }
    )


def _read(digest: str, about: dict[str, Any]) -> Token:
    expect(list, about["workspaces"])
    expect(str, about["name"], *about["workspaces"])
    expect(bool, about["read_only"])
    times = (from_micros(about[key]) if key in about else None for key in ("expires_at", "revoked_at"))
    created_at = from_micros(about["created_at"])
    return Token(about["name"], digest, tuple(about["workspaces"]), about["read_only"], created_at, *times)
