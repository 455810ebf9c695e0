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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any, TypeVar

from memsweep.errors import AlreadyExists, StoreAway, StoreBusy, StoreCorrupt, StoreError, StoreTooNew
from memsweep.forking import new_lock
from memsweep.model.audit import AuditEvent
from memsweep.model.columns import declared, encoded, encoders
from memsweep.model.memory import Workspace
from memsweep.model.text import to_json
from memsweep.model.times import micros_or_none, to_micros
from memsweep.store.audit_rows import log
from memsweep.store.falkor import cypher, link, structure
from memsweep.store.falkor.home import FalkorHomeKeeper
from memsweep.store.falkor.link import Link
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.store import FalkorStore
from memsweep.store.falkor.structure import MIGRATIONS, SCHEMA
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import rows_of
from memsweep.store.rows import Where
from memsweep.store.things.registry import TokenRow, WorkspaceRow
from memsweep.store.workspaces import Change, Engine, changed, from_fields, sound_rows, to_fields

R = TypeVar("R")


def waiting_in(entry: Mapping[str, str]) -> list[Any]:
    """Return the events that the entry of a live workspace has yet to pass on."""
    found = json.loads(entry.get("events", "[]"))
    return found if isinstance(found, list) else []


_COUNT_EVENTS = """
    MATCH (a:AuditEvent {subject: $subject}) WHERE a.at = $at AND a.action = $action AND a.reason = $reason
    RETURN count(a)"""


def write(graph: GraphHandle, events: Iterable[Any]) -> None:
    with graph.writing() as tx:
        known = [event for fields in events if (event := from_fields(fields)) is not None]
        for event in known:
            if not tx.ask(_COUNT_EVENTS, **_about(event))[0][0]:
                log(FalkorRows(tx), AuditEvent(event.at, event.actor, event.action, event.subject, {}, event.reason))


def _about(event: AuditEvent) -> dict[str, Any]:
    return {"subject": event.subject, "at": to_micros(event.at), "action": event.action, "reason": event.reason}


_MAKING_MILLISECONDS = 120_000
_GRAPH = re.compile(r"}:[0-9a-f]{16}$")


class FalkorEngine(Engine):
    """Implements `memsweep.store.workspaces.Engine`."""

    def __init__(self, url: str) -> None:
        self.link = Link(url)
        self._stores: dict[str, tuple[GraphHandle, FalkorStore]] = {}
        self._opened: dict[str, tuple[GraphHandle, FalkorStore]] = {}
        self._lock = new_lock()
        self._tokens_key = f"{self.link.prefix}:tokens"

    @cached_property
    def keeper(self) -> FalkorHomeKeeper:
        return FalkorHomeKeeper(self)

    def rows(self, row: type[R], *where: Where) -> list[R]:
        it, names = declared(row)
        if it.row is TokenRow:
            return self._token_rows(row, where)
        listed = (about for about in self._listed(row, where) if _meets(about, where))
        return sound_rows(row, ([about[name] for name in names] for about in listed), "node")

    def _listed(self, row: type[Any], where: Sequence[Where]) -> Iterator[dict[str, Any]]:
        """Columns of workspaces, live or deleted ones, among them all that are asked for."""
        name = next((value for column, op, value in where if (column, op) == ("name", "=")), None)
        if ("deleted_at", "known", None) in where:
            for deleted, graph, about in self.deleted() if name is None else self._deleted_of(name):
                if not _UNFINISHED & about.keys():
                    own = {"name": deleted, "file": graph, "receipt": about["receipt"] or None, "key": 0}
                    yield {"project": "", **about, **own}
            return
        whole = name is None and row is WorkspaceRow
        if whole:
            with contextlib.suppress(StoreError):  # a listing may go to a server that takes no writes
                self.finish_abandoned()
        for live, entry in self._entries() if name is None else [(name, self._entry(name))]:
            if whole:
                self._pass_on_events(live, entry)
            if entry:
                own = {"name": live, "file": entry["graph"], "created_at": int(entry["created_at"]), "key": 0}
                yield {"project": "", **entry, **own, "deleted_at": None, "receipt": None}

    def change(self, *changes: Change, event: AuditEvent | None = None) -> bool:
        """All of them are of one workspace, so one script does it."""
        if isinstance(changes[0][1], TokenRow):
            return self._change_token(*changes[0])
        name, said = changes[0][1].name, [to_fields(event)] if event else []
        entry = self._entry(name)
        live = [was.file for was, _ in changes if was is not None and was.deleted_at is None]
        if live and entry.get("graph") != live[0]:
            return False
        off = on = "", ""
        fields: dict[str, Any] = {}
        for was, becomes in changes:
            if becomes.deleted_at is not None:
                on = becomes.file, _deletion(becomes, [*waiting_in(entry), *said])
            elif becomes.file in live:
                fields = {each: getattr(becomes, each) for each in changed(was, becomes)}
            elif was is None:
                self.link.change(becomes.file, cypher.SETTLE)
                off, fields = (becomes.file, ""), _entry_of(becomes, [])
            elif (about := self._deletion_of(name, becomes.file)) is not None:
                off = becomes.file, to_json(about)
                fields = _entry_of(becomes, [*about.get("events", ()), *said])
            else:
                return False
        keys = self._entry_key(name), self._deleted_key(name)
        values = [*(live or [""]), *off, *on, *(part for each in fields.items() for part in each)]
        if not self.link.write("EVAL", link.CHANGE_ENTRY, 2, *keys, *values):
            return False
        if "graph" in fields:
            self.link.write("UNLINK", f"{fields['graph']}:making")
            self._pass_on_events(name, fields)
        return True

    def _deletion_of(self, workspace_id: str, graph: str) -> dict[str, Any] | None:
        """Return the list's line on a deleted workspace; None if it is being freed."""
        found = {each: about for _, each, about in self._deleted_of(workspace_id) if "freeing" not in about}
        return found.get(graph)

    @contextlib.contextmanager
    def making(self, workspace: Workspace, now: datetime) -> Iterator[str]:
        self.finish_abandoned(workspace.id)
        graph = self.new_graph(workspace, now)
        try:
            yield graph.name
        except AlreadyExists:
            self.drop_unfinished(workspace.id, graph.name)
            raise

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

    def _pass_on_events(self, workspace_id: str, entry: dict[str, str]) -> None:
        """Write what the entry has to tell into the audit log of the workspace; if not now, the next one does."""
        if "events" not in entry:
            return
        with contextlib.suppress(StoreError):
            write(GraphHandle(self.link, entry["graph"]), waiting_in(entry))
            self.link.write("EVAL", link.PASSED_ON, 1, self._entry_key(workspace_id), entry["events"])

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

    def _token_rows(self, row: type[R], where: Sequence[Where]) -> list[R]:
        """Of a token nothing is guessed: a damaged one lets nobody in."""
        digest = next((value for column, _, value in where if column == "digest"), None)
        if digest is None:
            listed = sorted((each.decode(), kept) for each, kept in _pairs(self.link.read("HGETALL", self._tokens_key)))
        else:
            kept = self.link.read("HGET", self._tokens_key, digest)
            listed = [] if kept is None else [(digest, kept)]
        found = []
        for digest, kept in listed:
            try:
                about = {**dict.fromkeys(TokenRow._fields), **json.loads(kept), "digest": digest}
                rows = sound_rows(row, [[about[name] for name in declared(row)[1]]], "node")
            except (ValueError, TypeError) as error:
                raise StoreCorrupt(
                    f"what the store keeps of the token {digest[:12]}… is damaged.",
                    hint=f"Remove it on the server: HDEL {self._tokens_key} {digest}",
                ) from error
            found += rows if _meets(about, where) else []
        return found

    def _change_token(self, was: TokenRow | None, becomes: TokenRow) -> bool:
        if was is None:
            values = (becomes.digest, _token_text(becomes), becomes.name)
            return bool(self.link.write("EVAL", link.ADD_TOKEN, 1, self._tokens_key, *values))
        values = (becomes.digest, _token_text(was), _token_text(becomes))
        return bool(self.link.write("EVAL", link.FREE, 1, self._tokens_key, *values))


def _pairs(listed: Any) -> list[tuple[bytes, bytes]]:
    return list(listed.items()) if isinstance(listed, dict) else list(zip(listed[::2], listed[1::2], strict=True))


_UNFINISHED = {"making", "freeing", "copy_of"}


def _meets(about: Mapping[str, Any], where: Iterable[Where]) -> bool:
    for column, op, value in where:
        kept = about[column]
        if not (kept == value if op == "=" else (kept is None) == (op == "null")):
            return False
    return True


def _entry_of(row: WorkspaceRow, events: list[Any]) -> dict[str, Any]:
    """Return the fields of the entry of a workspace, with the events that its audit log has yet to get."""
    said = {"description": row.description, "created_at": to_micros(row.created_at), "project": row.project}
    return {"graph": row.file, **said, **({"events": to_json(events)} if events else {})}


def _deletion(row: WorkspaceRow, events: list[Any]) -> str:
    """Return the kept part of the entry of a deleted workspace; its audit log gets the events on its return."""
    return to_json(
        {
            "description": row.description,
            "created_at": to_micros(row.created_at),
            "deleted_at": micros_or_none(row.deleted_at),
            "receipt": row.receipt or "",
            "events": events,
            "project": row.project,
        }
    )


def _token_text(token: TokenRow) -> str:
    it, names = declared(TokenRow)
    kept = zip(names, encoded(encoders(it, names, "node"), token), strict=True)
    return to_json({name: value for name, value in kept if value is not None and name != "digest"})
