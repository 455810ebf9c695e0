"""The journals of memories and facts, and revisions: once, over the rows of any engine.

It works inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from memsweep.model.columns import part
from memsweep.model.contribution import Contribution, FactState, outcome
from memsweep.model.origin import UNKNOWN, Origin, stored_origin
from memsweep.model.revision import MemoryAct, Revision
from memsweep.store.rows import Find, Rows, Values, Where, is_in
from memsweep.store.things.graph import RELATION, EntityRow, RelationRow
from memsweep.store.things.memories import MEMORY, MemoryRow, OriginRow
from memsweep.store.things.windows import SegmentRow

_COUNTS: Where = ("trash", "null", None)


class BroughtMemory(NamedTuple):
    key: int
    source: str
    created_at: int


class StoredFact(NamedTuple):
    """A live relation as it is."""

    state: FactState
    version: int


class FactRow(NamedTuple):
    """The parts of a relation that change."""

    key: int
    version: int
    weight: float | None
    last_seen: int
    evidence: int
    explicit: bool
    created_at: int
    valid_at: int | None
    invalid_at: int | None


part(FactRow, RELATION)
part(BroughtMemory, MEMORY)
_STATE = FactRow._fields[2:]


def fact_state(weight: float | None, seen: int, evidence: int, explicit: object, *times: int | None) -> FactState:
    """From the columns of a relation, in the order of a `FactRow`."""
    created, *others = times
    assert created is not None, "a relation says when it was made"
    return FactState(weight, seen, evidence, bool(explicit), created, *others)


def contribute(rows: Rows, act: Contribution) -> FactState:
    """Write an act down, and what a fact that was there is after it."""
    after = outcome(act)
    rows.add([act])
    if act.before is not None:
        rows.change(RelationRow, _STATE[:4], {act.relation: after[:4]})
    return after


def note(rows: Rows, acts: Iterable[Contribution]) -> None:
    """Write down what is done to facts already."""
    rows.add([*acts])


def note_if_any(rows: Rows, acts: Iterable[Contribution]) -> None:
    """The same for what no origin has to answer for: it matters only beside other contributions.

    Of a fact that nobody has contributed to since they are kept, the first one that does says what it was before.
    """
    rows.add([*acts], beside="relation")


class MemoryActs:
    """The acts of `memsweep.store.memory_acts.MemoryActRows`."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def of_origins(self, origins: Collection[int] | None) -> list[MemoryAct]:
        """But for what was taken back; of all, and of those without one, where none are named."""
        return self._rows.find(MemoryAct, *is_in("origin", origins), _COUNTS)

    def of_memories(self, memories: Collection[int]) -> list[MemoryAct]:
        """All of them, in their order."""
        return self._rows.find(MemoryAct, ("memory", "in", memories))

    def taken_back_by(self, receipt: int) -> list[MemoryAct]:
        return self._rows.find(MemoryAct, ("trash", "=", receipt))

    def of_receipt(self, receipt: int) -> list[MemoryAct]:
        """Return the acts that undoing the receipt takes back."""
        return self._rows.find(MemoryAct, ("receipt", "=", receipt), _COUNTS)

    def add(self, acts: Iterable[MemoryAct]) -> None:
        self._rows.add([*acts])

    def mark(self, acts: Mapping[int, tuple[int | None, int | None]]) -> None:
        """By key: the receipt that undoes an act, and the one that took it back."""
        self._rows.change(MemoryAct, ("receipt", "trash"), acts)

    def free(self, receipts: Collection[int]) -> None:
        """Free the acts that these receipts have taken back."""
        self._rows.free(MemoryAct, ("trash", "in", receipts))


def asked_for(origin: Origin) -> list[Find]:
    """Return the reads of an origin; none of an unknown one."""
    where: Iterable[Where] = ((name, "=", said) for name, said in zip(OriginRow._fields, _fields(origin), strict=False))
    return [] if origin == UNKNOWN else [Find(OriginRow, tuple(where))]


def _fields(origin: Origin) -> tuple[str, str, str, str, str, str]:
    return origin.door, origin.client, origin.version, origin.session, origin.tool, origin.tier


def origins_of(rows: Iterable[OriginRow]) -> dict[int, Origin]:
    """Return origins by their keys."""
    return {key: stored_origin(*said) for *said, key in rows}


class Origins:
    """The contributions of origins, and the acts that made facts."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._keys: dict[Origin, int | None] = {UNKNOWN: None}

    def key_of(self, origin: Origin) -> int | None:
        """Return the key by which rows refer to an origin, which is stored once; None for an unknown one."""
        if origin not in self._keys:
            (found,) = self._rows.ask(*asked_for(origin))
            self._keys[origin] = found[0].key if found else self._rows.add([OriginRow(*_fields(origin))])[0]
        return self._keys[origin]

    def known(self) -> dict[int, Origin]:
        return origins_of(self._rows.find(OriginRow))

    def memories(self, origins: Collection[int] | None) -> list[BroughtMemory]:
        return self._rows.find(BroughtMemory, *is_in("origin", origins))

    def relations(self, origins: Collection[int] | None) -> dict[int, int]:
        """Return the relations that they made, and when."""
        return dict(map(tuple, self._rows.ask(Values(RelationRow, ("key", "created_at"), is_in("origin", origins)))[0]))

    def entities(self, origins: Collection[int] | None) -> dict[int, int]:
        """Return the entities that nobody else has passed, and when they were made."""
        return dict(map(tuple, self._rows.ask(Values(EntityRow, ("key", "created_at"), is_in("origin", origins)))[0]))

    def segments(self, origins: Collection[int] | None) -> list[tuple[int, int, int]]:
        """Return the segments that are not pinned: the key, the window, and when it was made."""
        where = (("pinned", "=", False), *is_in("origin", origins))
        (found,) = self._rows.ask(Values(SegmentRow, ("key", "project", "created_at"), where))
        return [(key, window, made) for key, window, made in found]

    def acts(self, origins: Collection[int] | None) -> list[Contribution]:
        """But for what was taken back; also on relations in the trash."""
        return self._rows.find(Contribution, *is_in("origin", origins), _COUNTS)

    def journal(self, relations: Collection[int]) -> list[Contribution]:
        """All that was ever contributed to these, in its order."""
        return self._rows.find(Contribution, ("relation", "in", relations))

    def facts(self, relations: Collection[int], *, trashed: bool = False) -> dict[int, StoredFact]:
        """Live ones; on request also those in the trash."""
        found = self._rows.find(FactRow, ("key", "in", relations), bin="any" if trashed else "live")
        return {row.key: StoredFact(FactState(*row[2:]), row.version) for row in found}

    def taken_back_by(self, receipt: int) -> set[int]:
        """The relations of the contributions that a receipt has taken back."""
        (found,) = self._rows.ask(Values(Contribution, ("relation",), (("trash", "=", receipt),), distinct=True))
        return {relation for (relation,) in found}

    def take_back(self, acts: Collection[int], receipt: int | None) -> None:
        """By key; without a receipt they are given back."""
        self._rows.set(Contribution, ("key", "in", acts), trash=receipt)

    def give_back(self, receipt: int) -> None:
        self._rows.set(Contribution, ("trash", "=", receipt), trash=None)

    def release(self, memory: int, at: int) -> None:
        """Let a memory out of quarantine."""
        self._rows.change(MemoryRow, ("released_at",), {memory: (at,)})

    def release_facts(self, relations: Collection[int], at: int) -> None:
        self._rows.change(RelationRow, ("released_at",), dict.fromkeys(sorted(relations), (at,)))

    def set_facts(self, facts: Mapping[int, StoredFact]) -> None:
        """Also of those in the trash."""
        self._rows.change(
            RelationRow, (*_STATE, "version"), {key: (*fact.state, fact.version) for key, fact in facts.items()}
        )


class Revisions:
    """Revisions, in the order of their keys."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def of_receipts(self, receipts: Collection[int]) -> list[Revision]:
        """In the order of their keys."""
        return self._rows.find(Revision, ("receipt", "in", receipts))

    def of_items(self, kind: str, items: Collection[int]) -> list[Revision]:
        """In the order of their keys."""
        return self._rows.find(Revision, ("kind", "=", kind), ("item", "in", items))

    def add(self, revisions: Iterable[Revision]) -> None:
        self._rows.add([*revisions])

    def drop(self, keys: Collection[int]) -> None:
        self._rows.free(Revision, ("key", "in", keys))

    def free(self, keys: Collection[int]) -> None:
        """Drop them, with what the word index still knows of their texts."""
        self.drop(keys)
