"""Campaign: random histories of a store with merges: what is put away comes back, by its own receipt alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from typing import Any

from memsweep.collector import collect
from memsweep.collector import purge as purging
from memsweep.collector.strategies.rule import Fading
from memsweep.errors import Conflict, MemsweepError
from memsweep.graph import facts
from memsweep.graph.facts import GraphDependencies
from memsweep.graph.merge import SplitRequest
from memsweep.model.graph import GraphBatch, RelationDraft
from memsweep.model.memory import (
    EmbeddingModel,
    Fact,
    MemoryDraft,
    NamedThing,
    NewFact,
    NewMemory,
    NewMention,
)
from memsweep.model.plan import Operation
from memsweep.model.revision import Piece
from memsweep.model.text import content_hash
from memsweep.store.adding import add
from memsweep.store.falkor import reading
from memsweep.store.file import portable
from memsweep.store.sqlite.engine import SqliteEngine
from tests.collector.stores import DIMENSION, NOW, Link, Note, StoreSpec, Thing, store_with
from tests.falkor.both_engines import Side, both_engines, unnumbered
from tests.support import store_files

Row = dict[str, Any]
Rows = dict[str, dict[Any, Row]]

STRATEGIES = (
    "stale_code",
    "orphaned_chunks",
    "orphaned_entities",
    "unreachable_entities",
    "expired",
    "decayed",
    "superseded",
    "all",
)
KINDS = ("knows", "owns")
_KEYS: dict[str, Callable[[Row], Any]] = {
    "memory": lambda row: row["uid"],
    "entity": lambda row: row["uid"],
    "relation": lambda row: row["uid"],
    "mention": lambda row: (row["chunk"], row["entity"]),
    "relation_source": lambda row: (row["relation"], row["memory"]),
    "alias": lambda row: (row["name_key"], row["type_key"]),
}
# Counts of changes, and a copy of what is computed.
_NOT_COMPARED = {"id", "version", "current"}


def run(seed: int, engine: str = "sqlite") -> dict[str, Any]:
    """One history; what was wrong with it."""
    return {"histories": 1, "violations": _run(Random(seed), seed % 3, engine)}


def _run(chance: Random, kind: int, engine: str) -> list[str]:
    spec = _spec(chance)
    if kind == 2:
        return _merges_without_some(chance, engine, spec)
    with open_store(engine, spec) as (side, look):
        return History(chance, side, look, writes=kind == 1).run()


@contextmanager
def open_store(kind: str, spec: StoreSpec) -> Iterator[tuple[Side, Callable[[], dict[str, list[Row]]]]]:
    if kind == "sqlite":
        with store_with(spec) as place:
            engine = SqliteEngine(place.home)
            try:
                yield Side(engine), lambda: _rows_of_file(place.file)
            finally:
                engine.close()
    else:
        with both_engines(spec) as pair:
            graph = pair.falkor.store._graph  # type: ignore[attr-defined]
            yield pair.falkor, lambda: reading.dump(graph)


def _merges_without_some(chance: Random, kind: str, spec: StoreSpec) -> list[str]:
    """Merges, some of them undone in any order: as if those had never been."""
    with open_store(kind, spec) as (side, look):
        history = History(chance, side, look, writes=False)
        done, wrong = history.merges_without_some()
    with open_store(kind, spec) as (side, look):
        other = History(chance, side, look, writes=False)
        names = {receipt: other.merge_at(hours, gone, into) for receipt, hours, gone, into in done}
        wanted = other.standing({})
    found = history.standing(names)
    wrong += [f"{table} {key} is {found[table].get(key)}\n    and would be {wanted[table].get(key)}"
              for table in wanted for key in sorted(wanted[table].keys() | found[table].keys(), key=str)
              if wanted[table].get(key) != found[table].get(key)]  # fmt: skip
    return [f"{said}\n    after {'; '.join(history.log)}" for said in wrong]


def _rows_of_file(file: Any) -> dict[str, list[Row]]:
    with store_files.open_file(file) as db:
        return portable.rows_of(db)


def _spec(chance: Random) -> StoreSpec:
    """Few things and many facts between them, so that merges find facts that are there twice."""
    notes, things = chance.randint(1, 4), chance.randint(3, 6)
    return StoreSpec(
        notes=tuple(
            Note(
                f"note {number}",
                path=f"m{number}.py" if chance.random() < 0.2 else None,
                stale=chance.random() < 0.3,
                pinned=chance.random() < 0.1,
                expires_days=chance.choice([None, None, -3.0, 3.0]),
                chunks=chance.choice([1, 1, 2]),
            )
            for number in range(notes)
        ),
        things=tuple(
            Thing(
                f"Thing {number}",
                pinned=chance.random() < 0.1,
                explicit=chance.random() < 0.4,
                age_days=chance.choice([0.5, 40.0, 900.0]),
            )
            for number in range(things)
        ),
        links=tuple(
            Link(
                chance.randrange(things),
                chance.randrange(things),
                chance.choice(KINDS),
                explicit=chance.random() < 0.4,
                sources=tuple(chance.sample(range(notes), chance.randint(0, min(2, notes)))),
                weight=chance.choice([None, 0.04, 0.06, 0.5, 1.0]),
            )
            for _ in range(chance.randint(3, 14))
        ),
        mentions=tuple(
            (chance.randrange(notes), chance.randrange(2), chance.randrange(things))
            for _ in range(chance.randint(0, 12))
        ),
    )


@dataclass
class Seen:
    """Everything that is in the store, by what people see."""

    tables: Rows
    receipts: dict[str, Row]
    merges: set[str]
    """Receipts of merges that stand."""

    def trash_of(self, table: str, key: Any) -> str | None:
        found: str | None = self.tables[table][key]["trash"]
        return found

    def is_open(self, receipt: str) -> bool:
        row = self.receipts[receipt]
        return row["undone_at"] is None and row["purged_at"] is None


def seen(rows: dict[str, list[Row]]) -> Seen:
    receipts = {row["id"]: row["uid"] for row in rows["receipt"]}
    named = unnumbered(rows)
    tables: Rows = {}
    for table, key in _KEYS.items():
        tables[table] = {key(row): _plain(row, receipts) for row in named.get(table, ())}
    merges = {receipts[row["receipt"]] for row in rows.get("merge_move", ()) if row["receipt"] in receipts}
    return Seen(tables, {row["uid"]: row for row in rows["receipt"]}, merges)


def state(found: Seen) -> dict[str, dict[Any, Row | None]]:
    """All of it in a form that can be compared: without counts of changes and what is computed."""
    return {table: {key: _compared(row) for key, row in rows.items()} for table, rows in found.tables.items()}


def _plain(row: Row, receipts: dict[int, str]) -> Row:
    plain = {name: round(value, 9) if isinstance(value, float) else value for name, value in row.items()}
    for name in ("trash", "receipt"):
        if name in plain:
            plain[name] = receipts.get(plain[name])
    return {name: int(value) if isinstance(value, bool) else value for name, value in plain.items()}


@dataclass
class History:
    """One history on one store. Without `writes` only the collector and merges change it, and everything returns."""

    chance: Random
    side: Side
    look: Callable[[], dict[str, list[Row]]]
    writes: bool
    wrong: list[str] = field(default_factory=list)
    log: list[str] = field(default_factory=list)
    excused: set[str] = field(default_factory=set)
    """What an undo said it could not bring back."""
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of every relation, as it was made."""
    split: set[str] = field(default_factory=set)
    made: set[str] = field(default_factory=set)
    """Entities that came of splits."""
    kept: str = ""
    hours: int = 0
    number: int = 0
    now: Seen = field(init=False)

    def __post_init__(self) -> None:
        self.now = seen(self.look())
        self._note_ends()

    def run(self) -> list[str]:
        first = self.now
        acts = _WRITING if self.writes else _RETURNING
        for _ in range(self.chance.randint(3, 9)):
            self._step(self.chance.choice(acts))
            if self.wrong:
                return self.reported()
        self._undo_all()
        if not self.writes and not self.wrong:
            self._same(first)
        return self.reported()

    def reported(self) -> list[str]:
        return [f"{said}\n    after {'; '.join(self.log)}" for said in self.wrong]

    def merges_without_some(self) -> tuple[list[tuple[str, int, list[str], str]], list[str]]:
        """Merges, and undo some; those that stand, and what went wrong."""
        done = []
        for _ in range(self.chance.randint(2, 4)):
            live = sorted(key for key, row in self.now.tables["entity"].items() if row["trash"] is None)
            if len(live) > 1:
                into, *gone = self._to_merge(live)
                done.append((self.merge_at(self.number, gone, into), self.number, gone, into))
        for receipt in self.chance.sample([each[0] for each in done], self.chance.randint(1, len(done))):
            before = self.now
            try:
                said = self._undo(receipt)
            except Conflict as error:
                self.log.append(f"undo {receipt} was refused: {error.hint}")
                continue
            self.log.append(f"undo {said}")
            self.now = seen(self.look())
            self._check(before, "undo", said)
        return [each for each in done if self.now.is_open(each[0])], self.wrong

    def merge_at(self, number: int, gone: list[str], into: str) -> str:
        self.hours = self.number = number + 1
        receipt = facts.merge(self._graphing(), gone, into, None).receipt_id
        self.log.append(f"merge {receipt} {gone} into {into}")
        self.now = seen(self.look())
        return receipt

    def standing(self, names: dict[str, str]) -> dict[str, dict[Any, Row | None]]:
        """Everything, with other names for receipts."""
        found = state(self.now)
        for rows in found.values():
            for row in rows.values():
                for column in ("trash", "receipt"):
                    if row and row.get(column):
                        row[column] = names.get(row[column], row[column])
        return found

    # what is done

    def _step(self, act: str) -> None:
        self.number += 1
        self.hours += 1 if self.chance.random() < 0.9 or not self.writes else self.chance.randint(-5, 5)
        before = self.now
        try:
            done = getattr(self, f"_{act}")()
        except MemsweepError as error:
            self.log.append(f"{act} was refused: {error.message[:80]}")
            done = None
        except Exception as error:  # noqa: BLE001  a broken store may raise anything, and the seed is what counts
            self.wrong.append(f"{act}: {type(error).__name__}: {error}")
            return
        else:
            self.log.append(f"{act} {done}")
        self.now = seen(self.look())
        self._note_ends()
        self._check(before, act, done)

    @property
    def _clock(self) -> datetime:
        return NOW + timedelta(hours=self.hours)

    def _tools(self) -> collect.CollectorDependencies:
        fading = Fading(max_age_days=0.0)
        return self.side.tools(self._clock, fading=fading)

    def _graphing(self) -> GraphDependencies:
        return GraphDependencies(self.side.store.graph, "tester", lambda: self._clock, self.side.new_id)

    def _any(self, table: str, live: bool = True) -> str:
        found = sorted(key for key, row in self.now.tables[table].items() if (row["trash"] is None) == live)
        if not found:
            raise Conflict(f"there is no such {table}.")
        return self.chance.choice(found)

    def _open(self) -> list[str]:
        return [uid for uid in self.now.receipts if self.now.is_open(uid)]

    def _merge(self) -> str:
        live = sorted(key for key, row in self.now.tables["entity"].items() if row["trash"] is None)
        if len(live) < 2:
            raise Conflict("there are too few entities.")
        into, *gone = self._to_merge(live)
        return facts.merge(self._graphing(), gone, into, None).receipt_id + f" {gone} into {into}"

    def _to_merge(self, live: list[str]) -> list[str]:
        """What others are merged into, and those; often what others were merged into before."""
        into, *gone = self.chance.sample(live, self.chance.choice([2, 2, 2, min(3, len(live))]))
        if self.kept in live and self.chance.random() < 0.5:
            gone, into = [each for each in (into, *gone) if each != self.kept], self.kept
        self.kept = into
        return [into, *gone]

    def _planned_merge(self) -> str:
        live = [self._any("entity") for _ in range(2)]
        plan = facts.plan_merge(self._graphing(), live[:1], live[1], timedelta(hours=1))
        return facts.merge(self._graphing(), [], "", plan.plan_id).receipt_id + f" {live[0]} into {live[1]}"

    def _prune(self) -> str:
        strategy = self.chance.choice(STRATEGIES)
        tools = self._tools()
        if self.chance.random() < 0.5:
            return collect.plan_and_apply(tools, strategy, confirm=True, allow_large=True).id + f" {strategy}"
        plan = collect.plan(tools, strategy)
        return collect.apply(tools, plan.id, confirm=True, allow_large=True).id + f" {strategy}"

    def _delete(self) -> str:
        memory = self._any("memory")
        return collect.delete(self._tools(), memory, confirm=True).id + f" {memory}"

    def _clear(self) -> str:
        return collect.clear(self._tools(), collect.CLEAR_PHRASE).id

    def _decay(self) -> None:
        facts.decay(self._graphing(), 0.1, 0.1, True)

    def _undo(self, receipt: str = "") -> str:
        if not receipt:
            found = self._open()
            if not found:
                raise Conflict("there is no receipt.")
            receipt = self.chance.choice(found)
        undone = collect.undo(self._tools(), receipt)
        self.excused |= {uid for uid, why in undone.conflicts if "exists again" in why or "added again" in why}
        return f"{receipt} {list(undone.conflicts) or ''}"

    def _recover(self) -> str:
        item = self._any(self.chance.choice(["memory", "memory", "entity", "relation"]), live=False)
        undone = collect.recover(self._tools(), item)
        self.excused |= {uid for uid, why in undone.conflicts if "exists again" in why}
        return item

    def _purge(self) -> str:
        before = self._clock - timedelta(hours=self.chance.choice([0, 1, 2, 4]))
        purged = purging.purge(self.side.store.collector, before, Operation("tester", self._clock))
        return " ".join(purged.receipts)

    def _delete_forever(self) -> str:
        memory = self._any("memory")
        collect.delete(self._tools(), memory, confirm=True, forever=True)
        return memory

    def _relate(self) -> str:
        names = [f"Thing {self.chance.randrange(6)}" for _ in range(2)]
        memories = [key for key, row in self.now.tables["memory"].items() if row["trash"] is None]
        draft = RelationDraft(
            NamedThing(names[0]),
            self.chance.choice(KINDS),
            NamedThing(names[1]),
            self.chance.choice([0.06, 0.5, 1.0]),
            source=self.chance.choice(["", *sorted(memories)]),
            replaces=self.chance.random() < 0.3,
        )
        facts.relate(self._graphing(), GraphBatch((), (draft,)))
        return f"{names[0]} {draft.relation} {names[1]}"

    def _add(self) -> str:
        """A text with a fact beside it; it may be known already, or in the trash."""
        things = [NamedThing(f"Thing {self.chance.randrange(6)}") for _ in range(2)]
        text = f"note {self.chance.randrange(8)}"
        reported = [NewFact(self.side.new_id("rel"), Fact(things[0], self.chance.choice(KINDS), things[1], 0.5))]
        new = NewMemory(
            self.side.new_id("mem"),
            MemoryDraft(text),
            content_hash(text),
            (Piece(self.side.new_id("chk"), text, 0, 1, 1, bytes(range(DIMENSION))),),
            tuple(NewMention(self.side.new_id("ent"), thing, (0,), True) for thing in dict.fromkeys(things)),
            tuple(reported if self.chance.random() < 0.5 else ()),
            self._clock,
        )
        add(self.side.store, new, EmbeddingModel("test", DIMENSION))
        return f"{text} about {things[0].name}, {things[1].name}"

    def _unmerge(self) -> str:
        """Make another entity of some of one's facts."""
        entity = self._any("entity")
        mine = sorted(
            key
            for key, row in self.now.tables["relation"].items()
            if row["trash"] is None and entity in (row["subject"], row["object"])
        )
        chosen = self.chance.sample(mine, min(len(mine), self.chance.randint(1, 2)))
        memories = [key for key, row in sorted(self.now.tables["memory"].items()) if row["trash"] is None][:1]
        name = f"{self.chance.choice(['Part', 'Thing'])} {self.chance.randrange(6)}"
        name = name if self.writes else f"Part {self.number}"  # nothing that was split off is in the way of an undo
        done = facts.split(self._graphing(), SplitRequest(entity, NamedThing(name), chosen, memories))
        self.split |= set(chosen)
        self.made.add(done.id)
        return f"{done.receipt_id} {chosen} and {memories} of {entity} as {name} {done.id}"

    def _pin(self) -> str:
        item = self._any(self.chance.choice(["memory", "entity"]))
        collect.pin(self._tools(), item, self.chance.random() < 0.5)
        return item

    def _undo_all(self) -> None:
        """In any order; one that is refused is tried again after the others."""
        refused: dict[str, str] = {}
        while waiting := [uid for uid in self._open() if uid not in refused]:
            receipt = self.chance.choice(waiting)
            held = len(self._open())
            self.number += 1
            before = self.now
            try:
                done = self._undo(receipt)
            except Conflict as error:
                refused[receipt] = f"{error.message} {error.hint}"
                continue
            except Exception as error:  # noqa: BLE001
                self.wrong.append(f"undo {receipt}: {type(error).__name__}: {error}")
                return
            self.log.append(f"at last undo {done}")
            self.now = seen(self.look())
            self._check(before, "undo", done)
            if self.wrong:
                return
            assert len(self._open()) < held
            refused.clear()
        final = ("exists again", "deleted permanently", "deleted for good", "was added again")
        stuck = {uid: why for uid, why in refused.items() if "Undo" not in why and not any(x in why for x in final)}
        circle = refused and not any(each in why for why in refused.values() for each in final)
        if stuck or circle:
            self.wrong.append(f"cannot be undone: {refused}")

    # what must hold

    def _note_ends(self) -> None:
        for key, row in self.now.tables["relation"].items():
            self.ends.setdefault(key, (row["subject"], row["object"]))

    def _check(self, before: Seen, act: str, done: str | None) -> None:
        self.wrong += [f"doctor: {finding}" for finding in self.side.store.keeper.examine()]
        self.wrong += self._doubled()
        self.wrong += self._made_into_one()
        self.wrong += self._touched(before, act, done)
        self.wrong += self._lost(before, act)

    def _doubled(self) -> Iterator[str]:
        places: dict[Any, str] = {}
        for key, row in self.now.tables["relation"].items():
            if row["trash"] is None and row["invalid_at"] is None:
                place = row["subject"], row["relation_key"], row["object"]
                if place in places:
                    yield f"{key} and {places[place]} say the same"
                places[place] = key

    def _made_into_one(self) -> Iterator[str]:
        for key, row in self.now.tables["relation"].items():
            if row["trash"] is None and row["subject"] == row["object"] and len(set(self.ends[key])) == 2:
                yield f"{key} leads from {row['subject']} to itself"

    def _touched(self, before: Seen, act: str, done: str | None) -> Iterator[str]:
        """What a merge put away is there until that merge is undone or purged, or nobody is left who states it."""
        stating = before.tables["relation_source"]
        for key, row in before.tables["relation"].items():
            holder = row["trash"]
            if holder not in before.merges or holder not in self.now.merges:
                continue
            after = self.now.tables["relation"].get(key)
            if after is None:
                gone = [memory not in self.now.tables["memory"] for relation, memory in stating if relation == key]
                unstated = not row["handed_in"] and gone and all(gone)
                kept = all(end in self.now.tables["entity"] for end in self.ends[key]) and key not in self.split
                if kept and not unstated:
                    yield f"{act} freed {key}, which {holder} put away"
            elif after["trash"] != holder and act != "merge":
                yield f"{act} took {key} from {holder}, which put it away: {after['trash']}"

    def _lost(self, before: Seen, act: str) -> Iterator[str]:
        """Everything lives, or waits for an undo that can be done, or was purged by name."""
        purging = act in ("purge", "delete_forever")
        for table in ("memory", "entity", "relation"):
            for key, row in before.tables[table].items():
                if key not in self.now.tables[table] and not purging and not (act == "undo" and key in self.made):
                    yield f"{act} freed {table} {key} ({row['trash']})"
        for table in ("memory", "entity", "relation"):
            for key, row in self.now.tables[table].items():
                if row["trash"] is None or self.now.is_open(row["trash"]) or key in self.excused:
                    continue
                if table == "relation" and self._waits(key, row):
                    continue
                yield f"{act} left {table} {key} in the trash of {row['trash']}, which is spent"

    def _waits(self, key: str, row: Row) -> bool:
        """For a memory that states it, or for an end of it."""
        tables = self.now.tables
        stating = [memory for relation, memory in tables["relation_source"] if relation == key]
        ends = [tables["entity"][end] for end in (row["subject"], row["object"])]
        return any(tables["memory"][memory]["trash"] for memory in stating) or any(end["trash"] for end in ends)

    def _same(self, first: Seen) -> None:
        for table, rows in first.tables.items():
            after = self.now.tables[table]
            for key in rows.keys() | after.keys():
                mine, theirs = (_compared(each.get(key)) for each in (rows, after))
                if mine != theirs:
                    self.wrong.append(f"{table} {key} is {theirs}\n    and was {mine}")


def _compared(row: Row | None) -> Row | None:
    return None if row is None else {name: value for name, value in row.items() if name not in _NOT_COMPARED}


_RETURNING = (
    "merge", "merge", "merge", "planned_merge", "unmerge", "unmerge", "prune", "prune", "delete", "clear",
    "undo", "undo", "recover", "decay",
)  # fmt: skip
_WRITING = (
    *_RETURNING, "merge", "merge", "relate", "relate", "add", "unmerge", "pin", "purge", "delete_forever",
    "delete_forever",
)  # fmt: skip
