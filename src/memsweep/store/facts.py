"""Entities, facts and mentions as rows, live or in the trash: once, over the rows of any engine.

It works inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from memsweep.model.columns import Bin, part
from memsweep.model.contribution import strength_set
from memsweep.model.graph_rows import ENDS, Mention, Move, Place, RelationChange, RelationRecord, Source
from memsweep.model.merging import Parts
from memsweep.store.journals import note_if_any
from memsweep.store.rows import Find, Rows, SumsBy, Values, Where, is_in, linked
from memsweep.store.things.graph import MENTION, RELATION, MentionLink, RelationRow, RelationSource
from memsweep.store.things.memories import MemoryRow

R = TypeVar("R")


class OwnedMention(NamedTuple):
    chunk: int
    entity: int
    origin: int | None
    """Whose it is, if not the memory's own."""


part(Mention, MENTION)
part(OwnedMention, MENTION)
part(RelationRecord, RELATION, kind="relation_key")
_ANY: tuple[Where, ...] = (("relation", ">", 0),)
_MANY = 100
"""Of so many memories, a graph is asked first whether any memory states anything."""
_BINS: tuple[Bin, ...] = ("live", "trash")
_HOLDS: Where = ("invalid_at", "null", None)
_SAID = ("weight", "last_seen", "evidence", "explicit", "version")
_HAND_OVER: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("target", "split"), "a", ("c",)),
    (("name", "split name"), "a", ()),
    (("mention", "split mention", "split subject", "split object"), "c", ()),
    (("split",), "b", ()),
)
"""Of moves of these kinds: the column with the entity, and what means nothing of another one."""


class Relations:
    """Facts, and who states them."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def at(self, keys: Collection[int]) -> list[RelationRecord]:
        return self._rows.find(RelationRecord, ("key", "in", keys), bin="any")

    def by_id(self, ids: Collection[str]) -> list[RelationRecord]:
        """Return the live ones."""
        return self._rows.find(RelationRecord, ("id", "in", ids))

    def touching(self, entities: Collection[int], besides: int = 0) -> list[RelationRecord]:
        """Return those that begin or end there, but for what one receipt holds."""
        found = at_either_end(self._rows, RelationRecord, entities, bin="any", near="any")
        return [each for each in found if each.trash is None or each.trash != besides]

    def current_at(self, entity: int, kinds: Collection[str]) -> list[RelationRecord]:
        return at_either_end(self._rows, RelationRecord, [entity], ("relation_key", "in", kinds), _HOLDS)

    def current_between(self, places: Collection[Place]) -> list[RelationRecord]:
        subjects, kinds = {subject for subject, _, _ in places}, {kind for _, kind, _ in places}
        wanted = (*is_in("subject", subjects), *is_in("relation_key", kinds), _HOLDS)
        found: list[RelationRecord] = self._rows.ask(Find(RelationRecord, wanted, near="live"))[0]
        return [each for each in found if each.place in places]

    def trashed_by(self, receipts: Collection[int]) -> list[RelationRecord]:
        return self._rows.find(RelationRecord, ("trash", "in", receipts), bin="trash")

    def stated_by(self, memories: Collection[int], besides: int = 0) -> list[RelationRecord]:
        """Return those in the trash that memories in the trash state, but for what one receipt holds."""
        if len(memories) > _MANY and not self._rows.ask(Find(RelationSource, _ANY, "any", limit=1))[0]:
            return []
        (found,) = self._rows.ask(
            Values(RelationSource, ("relation",), (("memory", "in", memories),), "any", distinct=True, near="trash")
        )
        rows = self._rows.find(RelationRecord, ("key", "in", [key for (key,) in found]), bin="trash")
        return [each for each in rows if each.trash != besides]

    def sources(self, relations: Collection[int]) -> list[Source]:
        wanted: tuple[Where, ...] = (("relation", "in", relations),)
        (found,) = self._rows.ask(Values(RelationSource, ("relation", "memory", "memory.trash"), wanted, "any"))
        return [Source(relation, memory, trash is None) for relation, memory, trash in found]

    def needed_by(self, relations: Collection[int], besides: Collection[int]) -> dict[int, int]:
        """Return those that memories in the trash of other receipts state, and the last of those receipts."""
        return _last_holders(self._rows, RelationSource, "relation", relations, "memory.trash", besides)

    def write(self, changes: Iterable[RelationChange]) -> None:
        """Two current ones never have the same ends and kind: those that leave their place go first."""
        listed = list(changes)
        both = [(before, after) for before, after, *_ in listed if before != after]
        self._move([(before, after) for before, after in both if after.trash is not None])
        for bin, of_bin in _by_bin(both):
            moved = [after for before, after in of_bin if after.ends != before.ends]
            said = (*ENDS, *_SAID)
            self._rows.change(RelationRow, said, {row.key: (*row.ends, *_said(row)) for row in moved}, bin=bin)
        self._move([(before, after) for before, after in both if after.trash is None])
        changed = [row for before, row in both if row.ends == before.ends and _said(row) != _said(before)]
        self._rows.change(RelationRow, _SAID, {row.key: _said(row) for row in changed})
        joined = [after for before, after in both if before.strength != after.strength]
        note_if_any(self._rows, [strength_set(each.key, each.last_seen, each.strength) for each in joined])
        self._rows.drop(RelationSource, [(each.after.key, memory) for each in listed for memory in each.unstated_by])
        added = [RelationSource(*source[:2]) for each in listed for source in each.newly_stated_by]
        self._rows.put(added, replace=False)

    def _move(self, changed: Sequence[tuple[RelationRecord, RelationRecord]]) -> None:
        for bin in _BINS:
            of_bin = [(before, after) for before, after in changed if (before.trash is None) == (bin == "live")]
            self._rows.move(RelationRow, {row.key: row.trash for was, row in of_bin if row.trash != was.trash}, bin=bin)

    def restore(self, keys: Collection[int]) -> None:
        self._rows.move(RelationRow, dict.fromkeys(sorted(keys)))

    def trash(self, receipts: Mapping[int, int]) -> None:
        """Put live ones into the trash of these receipts."""
        self._rows.move(RelationRow, receipts)

    def hand_on(self, receipts: Mapping[int, int]) -> None:
        """Hand those in the trash on to other receipts."""
        self._rows.move(RelationRow, receipts, bin="trash")


def at_either_end(
    rows: Rows, row: type[R], entities: Collection[int], *where: Where, bin: Bin = "live", near: Bin = "live"
) -> list[R]:
    """Return facts that begin or end at some entities, each once, in the order of their keys."""
    reads = [Find(row, ((end, "in", entities), *where), bin, (), near=near) for end in ENDS]
    found: dict[int, R] = {each.key: each for listed in rows.ask(*reads) for each in listed}
    return [found[key] for key in sorted(found)]


def _by_bin(
    changed: Sequence[tuple[RelationRecord, RelationRecord]],
) -> Iterator[tuple[Bin, list[tuple[RelationRecord, RelationRecord]]]]:
    """Say where they are once all that leave have left, and none has come back."""
    for bin in _BINS:
        live = bin == "live"
        yield bin, [(was, row) for was, row in changed if (was.trash is None and row.trash is None) == live]


def _said(row: RelationRecord) -> tuple[Any, ...]:
    return (*row.strength, row.version)


def _last_holders(
    rows: Rows, link: type[Any], column: str, keys: Collection[int], holder: str, besides: Collection[int]
) -> dict[int, int]:
    """Return for each key the last of the other receipts that hold what is linked to it."""
    where: tuple[Where, ...] = ((column, "in", keys), (holder, "known", None))
    (found,) = rows.ask(Values(link, (holder, column), where, "any", distinct=True))
    return {key: receipt for receipt, key in sorted(map(tuple, found)) if receipt not in besides}


class Mentions:
    """Mentions of entities in pieces of memories."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def of(self, entities: Collection[int]) -> list[Mention]:
        """Return those of live entities, in the order of the chunks."""
        return sorted(self._rows.ask(linked(Mention, "entity", entities))[0])

    def owners(self, entities: Collection[int]) -> dict[Mention, int]:
        """Return the origins of those mentions of live entities that are not their memories' own."""
        where: tuple[Where, ...] = (("entity", "in", entities), ("origin", "known", None))
        (found,) = self._rows.ask(Values(OwnedMention, OwnedMention._fields, where, "any", near="live"))
        return {Mention(chunk, entity): owner for chunk, entity, owner in found}

    def shared(self, entities: Collection[int], other: int) -> set[int]:
        """Return the chunks that mention one of these live entities and another one, too."""
        ours, theirs = self._rows.ask(linked(Mention, "entity", entities), linked(Mention, "entity", [other]))
        return {chunk for chunk, _ in ours} & {chunk for chunk, _ in theirs}

    def in_memories(self, entity: int, memory_ids: Collection[str]) -> list[Mention]:
        """Return live mentions of an entity in these memories."""
        (memories,) = self._rows.ask(Values(MemoryRow, ("key",), (("id", "in", memory_ids),)))
        return self._rows.find(Mention, ("entity", "=", entity), ("chunk.memory", "in", [key for (key,) in memories]))

    def count(self, entities: Collection[int]) -> int:
        """Return how many live mentions there are."""
        return sum(number for _, number, _ in self._rows.ask(SumsBy(MentionLink, "entity", entities))[0])

    def needed_by(self, entities: Collection[int], besides: Collection[int]) -> dict[int, int]:
        """Return those that chunks in the trash of other receipts mention, and the last of those receipts."""
        return _last_holders(self._rows, MentionLink, "entity", entities, "chunk.trash", besides)

    def add(self, mentions: Iterable[Mention], owners: Mapping[Mention, int]) -> None:
        """Add those of live entities. One that `owners` does not name is its memory's own; one that is there stays."""
        self._rows.put([OwnedMention(*each, owners.get(each)) for each in mentions], replace=False, live=("entity",))

    def drop(self, mentions: Iterable[Mention]) -> None:
        self._rows.drop(Mention, mentions)

    def drop_of(self, entities: Collection[int]) -> None:
        self._rows.free(MentionLink, ("entity", "in", entities))


class Moves:
    """The moves that merges and splits wrote down. One stands while its moves are there."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def targets(self) -> dict[int, int]:
        """Return the receipts of the merges that stand, and which entity each kept."""
        (found,) = self._rows.ask(Values(Move, ("receipt", "a"), (("kind", "=", "target"),), distinct=True))
        return dict(map(tuple, found))

    def standing(self) -> tuple[set[int], set[int]]:
        """Return the receipts of the merges and of the splits that stand."""
        of_any: Where = ("kind", "in", ("target", "split"))
        (found,) = self._rows.ask(Values(Move, ("kind", "receipt"), (of_any,), distinct=True))
        merges = {receipt for kind, receipt in found if kind == "target"}
        return merges, {receipt for kind, receipt in found if kind == "split"}

    def splits(self) -> dict[int, Parts]:
        """Return the receipts of the splits that stand, and which entities each made of one."""
        (found,) = self._rows.ask(Values(Move, ("receipt", "a", "b"), (("kind", "=", "split"),)))
        return {receipt: Parts(old, new) for receipt, old, new in found}

    def of(
        self, receipts: Collection[int], kinds: Collection[str] = (), about: Collection[int] | None = None
    ) -> list[Move]:
        """Return moves by receipt, and as they were added; all kinds if none is named, `about` these `a`."""
        where = (*is_in("receipt", receipts), *is_in("kind", kinds or None), *is_in("a", about))
        found = self._rows.find(Move, *where)
        return sorted(found, key=lambda move: (move.receipt, move.place))

    def add(self, moves: Sequence[Move]) -> None:
        """Write something (more) down."""
        self._rows.add(moves)

    def set(self, changed: Iterable[Move]) -> None:
        """Give what is there other values, by receipt and place."""
        for move in changed:
            at: tuple[Where, ...] = (("receipt", "=", move.receipt), ("place", "=", move.place))
            self._rows.set(Move, *at, a=move.a, b=move.b, c=move.c, said=move.said)

    def drop(self, receipts: Collection[int]) -> None:
        self._rows.free(Move, ("receipt", "in", receipts))

    def hand_over(self, namesakes: Mapping[int, int], receipts: Collection[int]) -> None:
        """Let another entity stand for one that does not come back, in these merges and splits.

        It does so as what was kept, in names, and where mentions and relations were moved to or from. Entities are
        known by their versions, and this is another one: a merge cannot make it as it was.
        """
        for kinds, column, cleared in _HAND_OVER:
            where: tuple[Where, ...] = (("receipt", "in", receipts), ("kind", "in", kinds))
            for entity, namesake in sorted(namesakes.items()):
                self._rows.set(Move, *where, (column, "=", entity), **{column: namesake, **dict.fromkeys(cleared)})
