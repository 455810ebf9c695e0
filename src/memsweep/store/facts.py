"""Entities, facts and mentions as rows, live or in the trash: once, over the rows of any engine.

It works inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from memsweep.model.columns import part
from memsweep.model.graph_rows import Mention, Move
from memsweep.model.splitting import Parts
from memsweep.store.rows import Rows, Totals, Values, Where, is_in, linked
from memsweep.store.things.graph import MENTION, MentionLink
from memsweep.store.things.memories import MemoryRow


class OwnedMention(NamedTuple):
    chunk: int
    entity: int
    origin: int | None
    """Whose it is, if not the memory's own."""


part(Mention, MENTION)
part(OwnedMention, MENTION)
_HAND_OVER: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...] = (
    (("target", "split"), "a", ("c",)),
    (("name", "split name"), "a", ()),
    (("mention", "split mention", "split subject", "split object"), "c", ()),
    (("split",), "b", ()),
)
"""Of moves of these kinds: the column with the entity, and what means nothing of another one."""


class Mentions:
    """Which pieces of memories mention which entities."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def of(self, entities: Collection[int]) -> list[Mention]:
        """Of live entities, in the order of the chunks."""
        return sorted(self._rows.ask(linked(Mention, "entity", entities))[0])

    def owners(self, entities: Collection[int]) -> dict[Mention, int]:
        """Of live entities: the origins of mentions that are not their memories' own."""
        where: tuple[Where, ...] = (("entity", "in", entities), ("origin", "known", None))
        (found,) = self._rows.ask(Values(OwnedMention, OwnedMention._fields, where, "any", near="live"))
        return {Mention(chunk, entity): owner for chunk, entity, owner in found}

    def shared(self, entities: Collection[int], other: int) -> set[int]:
        """The chunks that mention one of these live entities and another one, too."""
        ours, theirs = self._rows.ask(linked(Mention, "entity", entities), linked(Mention, "entity", [other]))
        return {chunk for chunk, _ in ours} & {chunk for chunk, _ in theirs}

    def in_memories(self, entity: int, memory_ids: Collection[str]) -> list[Mention]:
        """Live mentions of an entity in these memories."""
        (memories,) = self._rows.ask(Values(MemoryRow, ("key",), (("id", "in", memory_ids),)))
        return self._rows.find(Mention, ("entity", "=", entity), ("chunk.memory", "in", [key for (key,) in memories]))

    def count(self, entities: Collection[int]) -> int:
        """Live mentions."""
        return sum(number for _, number, _ in self._rows.ask(Totals(MentionLink, "entity", entities))[0])

    def needed_by(self, entities: Collection[int], besides: Collection[int]) -> dict[int, int]:
        """Those that chunks in the trash of other receipts mention, and the last of those receipts."""
        where: tuple[Where, ...] = (("entity", "in", entities), ("chunk.trash", "known", None))
        (found,) = self._rows.ask(Values(MentionLink, ("chunk.trash", "entity"), where, "any", distinct=True))
        return {entity: receipt for receipt, entity in sorted(map(tuple, found)) if receipt not in besides}

    def add(self, mentions: Iterable[Mention], owners: Mapping[Mention, int]) -> None:
        """Of live entities. Those that `owners` does not name are their memories' own. One that is there stays."""
        self._rows.put([OwnedMention(*each, owners.get(each)) for each in mentions], replace=False, live=("entity",))

    def drop(self, mentions: Iterable[Mention]) -> None:
        self._rows.drop(Mention, mentions)

    def drop_of(self, entities: Collection[int]) -> None:
        self._rows.free(MentionLink, ("entity", "in", entities))


class Moves:
    """What merges and splits wrote down. One stands while its moves are there."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def targets(self) -> dict[int, int]:
        """The receipts of the merges that stand, and which entity each kept."""
        (found,) = self._rows.ask(Values(Move, ("receipt", "a"), (("kind", "=", "target"),), distinct=True))
        return dict(map(tuple, found))

    def splits(self) -> dict[int, Parts]:
        """The receipts of the splits that stand, and which entities each made of one."""
        (found,) = self._rows.ask(Values(Move, ("receipt", "a", "b"), (("kind", "=", "split"),)))
        return {receipt: Parts(old, new) for receipt, old, new in found}

    def of(
        self, receipts: Collection[int], kinds: Collection[str] = (), about: Collection[int] | None = None
    ) -> list[Move]:
        """In the order of the receipts, and as they were added; all kinds if none is named, `about` these `a`."""
        where = (*is_in("receipt", receipts), *is_in("kind", kinds or None), *is_in("a", about))
        found = self._rows.find(Move, *where)
        return sorted(found, key=lambda move: (move.receipt, move.place))

    def add(self, moves: Sequence[Move]) -> None:
        """Write something (more) down."""
        self._rows.add(moves)

    def set(self, changed: Iterable[Move]) -> None:
        """Other values of what is there, by receipt and place."""
        for move in changed:
            at: tuple[Where, ...] = (("receipt", "=", move.receipt), ("place", "=", move.place))
            self._rows.set(Move, *at, a=move.a, b=move.b, c=move.c, said=move.said)

    def drop(self, receipts: Collection[int]) -> None:
        self._rows.free(Move, ("receipt", "in", receipts))

    def hand_over(self, namesakes: Mapping[int, int], receipts: Collection[int]) -> None:
        """In these merges and splits, another entity stands for one that does not come back.

        It does so as what was kept, in names, and where mentions and relations were moved to or from. Entities are
        known by their versions, and this is another one: a merge cannot make it as it was.
        """
        for kinds, column, cleared in _HAND_OVER:
            where: tuple[Where, ...] = (("receipt", "in", receipts), ("kind", "in", kinds))
            for entity, namesake in sorted(namesakes.items()):
                self._rows.set(Move, *where, (column, "=", entity), **{column: namesake, **dict.fromkeys(cleared)})
