"""The same workspace in both engines, the same acts on both, and what each has then, in one form."""

import json
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path
from typing import Any

from memsweep.collector.collect import CollectorDependencies
from memsweep.errors import MemsweepError
from memsweep.model.care import RestoreRequest
from memsweep.model.ids import make_id
from memsweep.store.falkor import reading
from memsweep.store.falkor.engine import FalkorEngine
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.file import portable
from memsweep.store.protocol import Store
from memsweep.store.sqlite.engine import SqliteEngine
from memsweep.store.workspaces import Engine
from tests.collector.stores import NOW, Place, StoreSpec, embed, store_with
from tests.support import store_files
from tests.support.engines import falkor_server

_IN_TRASH = ("memory", "chunk", "entity", "relation", "segment")
_RECORDS = ("plan", "receipt", "audit", "project")
_NUMBERED = ("memory", "chunk", "entity", "relation", "segment", "project")
_NAMES = {
    "chunk": {"memory": "memory"},
    "vector": {"chunk": "chunk"},
    "memory_tag": {"memory": "memory"},
    "code_file": {"memory": "memory"},
    "relation": {"subject": "entity", "object": "entity"},
    "mention": {"chunk": "chunk", "entity": "entity"},
    "relation_source": {"relation": "relation", "memory": "memory"},
    "supersession": {"old": "memory", "new": "memory"},
    "alias": {"entity": "entity"},
    "segment": {"project": "project"},
    "segment_link": {"project": "project", "source": "segment"},
}


@dataclass
class Side:
    """One engine with its own clockwork: equal calls get equal ids on both sides."""

    engine: Engine
    ticks: Iterator[int] = field(default_factory=lambda: count(1 << 40))  # far from what was planted

    @property
    def store(self) -> Store:
        return self.engine.open("default")

    def new_id(self, prefix: str) -> str:
        return make_id(prefix, next(self.ticks).to_bytes(8, "big"))

    def tools(self, now: datetime = NOW, **settings: Any) -> CollectorDependencies:
        return CollectorDependencies(
            store=self.store.collector,
            workspace_id="default",
            actor="tester",
            clock=lambda: now,
            new_id=self.new_id,
            **{"embed": embed, **settings},
        )


@dataclass
class BothEngines:
    place: Place
    sqlite: Side
    falkor: Side

    def both(self, act: Callable[[Side], Any]) -> Any:
        """Do it on both sides: the same answer or the same refusal; the answer."""
        shown, said = outcome(self.sqlite, act), outcome(self.falkor, act)
        assert said == shown, f"falkor: {said}\nsqlite: {shown}"
        return shown[1]

    def same(self) -> None:
        """Both sides hold the same."""
        mine, theirs = self.rows(), graph_rows(self.falkor.engine)
        for table, wanted in mine.items():
            assert theirs[table] == wanted, table

    def align(self) -> None:
        """So that the entity of a split has the same key on both sides: its receipt, which comes first, takes a number
        as well in a graph."""
        keys = self.falkor.store._graph.meta()["keys"]  # type: ignore[attr-defined]
        with store_files.open_file(self.place.file) as db, db:
            db.execute("delete from sqlite_sequence where name = 'entity'")
            db.execute("insert into sqlite_sequence values ('entity', ?)", (keys + 1,))

    def same_by_id(self) -> None:
        """Both sides hold the same, whatever numbers they gave it."""
        with store_files.open_file(self.place.file) as db:
            mine = comparable(unnumbered(portable.rows_of(db)))
        theirs = comparable(unnumbered(reading.dump(_graph(self.falkor.engine))))
        for table, wanted in mine.items():
            assert theirs[table] == wanted, f"{table}: {set(theirs[table]) ^ set(wanted)}"

    def rows(self) -> dict[str, list[str]]:
        with store_files.open_file(self.place.file) as db:
            return comparable(portable.rows_of(db))


def unnumbered(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[dict[str, Any]]]:
    """Rows that name each other by what people see: what is made later has other numbers in each engine."""
    ids = {table: {row["id"]: row["uid"] for row in rows.get(table, ())} for table in _NUMBERED}
    return {table: [_unnumbered(table, row, ids) for row in found] for table, found in rows.items()}


def _unnumbered(table: str, row: dict[str, Any], ids: dict[str, dict[int, str]]) -> dict[str, Any]:
    named = {name: ids[kind].get(row[name], row[name]) for name, kind in _NAMES.get(table, {}).items()}
    if table in _NUMBERED:
        named["id"] = row["uid"]
    if table == "plan":
        named["digest"] = ""  # it is of the numbers
        summary = json.loads(row["summary"])
        kept = [[kind, ids.get(kind, {}).get(key, "gone"), why] for kind, key, why in summary["protected"]]
        spared = [[kind, ids.get(kind, {}).get(key, "gone")] for kind, key in summary.get("spared", ())]
        named["summary"] = json.dumps(summary | {"protected": kept, "spared": spared})
    if table in ("merge_move", "revision"):
        return {"receipt": row["receipt"], "kind": row["kind"]}
    if table == "plan_item":
        named["key"] = ids.get(row["kind"], {}).get(row["key"], row["key"])
    if table == "name_seen":
        named["chunks"] = json.dumps([ids["chunk"][key] for key in json.loads(row["chunks"])])
    return row | named


def outcome(side: Side, act: Callable[[Side], Any]) -> tuple[str, Any]:
    try:
        return "done", act(side)
    except MemsweepError as error:
        return type(error).__name__, error.message


def graph_rows(engine: Engine) -> dict[str, list[str]]:
    return comparable(reading.dump(_graph(engine)))


def _graph(engine: Engine) -> GraphHandle:
    assert isinstance(engine, FalkorEngine)
    return engine.open("default")._graph


def comparable(rows: dict[str, list[dict[str, Any]]]) -> dict[str, list[str]]:
    """Rows without the numbers that each engine gives its own records: receipts and plans go by their ids."""
    receipt = {row["id"]: row["uid"] for row in rows.get("receipt", ())}
    plan = {row["id"]: row["uid"] for row in rows.get("plan", ())}
    shown: dict[str, list[str]] = {}
    for table in (*_IN_TRASH, *_RECORDS, "thread", "memory_tag", "vector", "mention", "relation_source", "supersession",
                  "code_root", "code_file", "code_skip", "plan_item", "tombstone", "name_seen", "segment_link", "alias",
                  "merge_move", "revision"):  # fmt: skip
        kept = (row for row in rows.get(table, ()) if row.get("action") != "restore")  # how the copy came here
        shown[table] = sorted(_comparable(table, reading.comparable(row), receipt, plan) for row in kept)
    return shown


def _comparable(table: str, row: dict[str, Any], receipt: dict[int, str], plan: dict[int, str]) -> str:
    if table in _IN_TRASH:
        row["trash"] = receipt.get(row["trash"])
    if table == "segment":
        row["stash"] = receipt.get(row["stash"])
    if table == "mention":
        row["trash"] = row["trash"] is not None
    if table in _RECORDS:
        row.pop("id")
    if table in ("alias", "merge_move", "revision"):
        row["receipt"] = receipt.get(row["receipt"])
    if table == "plan":
        row["receipt"] = receipt.get(row["receipt"])
    if table == "plan_item":
        row["plan"] = plan.get(row["plan"])
    return repr(sorted(row.items()))


@contextmanager
def both_engines(spec: StoreSpec, now: datetime = NOW) -> Iterator[BothEngines]:
    """A workspace of some content, and a copy of it in FalkorDB with the same keys."""
    with store_with(spec, now) as place, tempfile.TemporaryDirectory() as folder:
        engine = FalkorEngine(f"{falkor_server().url}/t{secrets.token_hex(6)}")
        draft = Path(folder) / "copy"
        draft.touch()
        own = SqliteEngine(place.home)
        own.open("default").keeper.copy(draft, draft, "0", now)
        engine.keeper.install(draft, RestoreRequest("default", False, "r", "tester", now))
        try:
            yield BothEngines(place, Side(own), Side(engine))
        finally:
            for graph in engine.graphs().values():
                engine.drop_graph(graph)
            engine.close()
            own.close()
