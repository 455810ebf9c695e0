"""The trash, the same for every engine: what receipts hold, what comes back, and what is freed for good.

It works inside the caller's transaction. A thing takes along what the engine keeps beside its row: words, vectors,
mentions, statements.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from memsweep.model.audit import Trashed
from memsweep.model.columns import part
from memsweep.model.contribution import Contribution
from memsweep.model.graph_rows import Alias
from memsweep.model.ids import ItemKind, findable
from memsweep.model.plan import Selection
from memsweep.model.revision import MemoryAct, Revision
from memsweep.store.items import Described, Items
from memsweep.store.rows import Find, RowReads, Rows, Values, Where
from memsweep.store.things.collected import RECEIPT, PlanItemRow, PlanRow
from memsweep.store.things.graph import EntityRow, MentionLink, NameSeen, RelationRow
from memsweep.store.things.memories import ChunkRow, MemoryRow, ThreadRow
from memsweep.store.things.windows import SegmentRow


class Clash(NamedTuple):
    """A memory in the trash, and one that took its place meanwhile."""

    key: int
    id: str
    other_id: str


class SameText(NamedTuple):
    """A memory in the trash, and a live one that says the same."""

    key: int
    id: str
    other_id: str
    other: int


class Clashes(NamedTuple):
    files: list[Clash]
    """Those whose file is that of a live memory."""
    texts: list[SameText]
    """Those whose text a live memory of the same thread has; code is known by its file."""


class ReceiptOf(NamedTuple):
    """A receipt as the list of the trash shows it."""

    key: int
    id: str
    plan_id: str | None
    strategy: str
    created_at: datetime


part(ReceiptOf, RECEIPT)
_KINDS = (MemoryRow, ChunkRow, EntityRow, RelationRow)
_FOUND = (("memory", MemoryRow), ("entity", EntityRow), ("relation", RelationRow))


class Trash:
    """The trash of a workspace. Methods that only an engine can answer are abstract."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def find(self, item_id: str) -> tuple[str, int] | None:
        """Return whether it is a memory, an entity or a relation in the trash, and its key."""
        wanted: Where = ("id", "=", findable(item_id))
        found = self._rows.ask(*(Values(row, ("key",), (wanted,), "trash") for _, row in _FOUND))
        return next(((kind, key) for (kind, _), rows in zip(_FOUND, found, strict=True) for (key,) in rows), None)

    def held_by(self, receipts: Collection[int]) -> Selection:
        """Return everything that these receipts hold."""
        asked = (Values(row, ("key",), (("trash", "in", receipts),), "trash") for row in _KINDS)
        return Selection(*({key for (key,) in found} for found in self._rows.ask(*asked)))

    def holders(self, held: Selection) -> list[tuple[int, str]]:
        """Return the receipt that holds each memory and entity in the trash, and its id."""
        items = ((MemoryRow, held.memories), (EntityRow, held.entities))
        asked = (Values(row, ("trash", "id"), (("key", "in", keys),), "trash") for row, keys in items)
        return [(receipt, uid) for found in self._rows.ask(*asked) for receipt, uid in found]

    def memories_of(self, receipt: int) -> dict[int, str]:
        """Return the memories that a receipt holds, with their ids."""
        (found,) = self._rows.ask(Values(MemoryRow, ("key", "id"), (("trash", "=", receipt),), "trash"))
        return dict(map(tuple, found))

    def chunks_of(self, receipt: int) -> list[tuple[int, int]]:
        """Return the chunks that a receipt holds, each with its memory."""
        (found,) = self._rows.ask(Values(ChunkRow, ("key", "memory"), (("trash", "=", receipt),), "trash"))
        return [(key, memory) for key, memory in found]

    def still_there(self, memories: Collection[int]) -> set[int]:
        """Return those of these memories that are in the trash."""
        (found,) = self._rows.ask(Values(MemoryRow, ("key",), (("key", "in", memories),), "trash"))
        return {key for (key,) in found}

    @abstractmethod
    def clashes(self, memories: Collection[int]) -> Clashes: ...

    def chunks_with(self, memories: Collection[int]) -> list[int]:
        """Return the chunks of memories in the trash that went there with them."""
        where: tuple[Where, ...] = (("memory", "in", memories),)
        chunks, owners = self._rows.ask(
            Values(ChunkRow, ("key", "memory", "trash"), where, "trash", near="trash"),
            Values(MemoryRow, ("key", "trash"), (("key", "in", memories),), "trash"),
        )
        receipts: dict[int, int] = dict(map(tuple, owners))
        return [key for key, memory, receipt in chunks if receipts.get(memory) == receipt]

    def named_by_plans(self, held: Iterable[tuple[int, int]]) -> set[int]:
        """Return those relations, each with the receipt that holds it, that the plan of that receipt named."""
        pairs = set(held)
        keys, receipts = ({pair[place] for pair in pairs} for place in (0, 1))
        (plans,) = self._rows.ask(Values(PlanRow, ("key", "receipt"), (("receipt", "in", receipts),)))
        used: dict[int, int] = dict(map(tuple, plans))
        where: tuple[Where, ...] = (("key", "in", keys), ("plan", "in", used), ("kind", "=", "relation"))
        (items,) = self._rows.ask(Values(PlanItemRow, ("key", "plan"), where))
        return {key for key, plan in items if (key, used[plan]) in pairs}

    def take(self, moved: Selection, receipt: int) -> None:
        """Put rows into the trash of a receipt, relations before the entities that they are between."""
        items = ((RelationRow, moved.relations), (ChunkRow, moved.chunks), (MemoryRow, moved.memories))
        for row, keys in (*items, (EntityRow, moved.entities)):
            self._rows.move(row, dict.fromkeys(keys, receipt))

    def restore(self, back: Selection) -> None:
        """Memories, chunks and entities are live again, and so are mentions between what is live; not relations."""
        for row, keys in ((MemoryRow, back.memories), (ChunkRow, back.chunks), (EntityRow, back.entities)):
            self._rows.move(row, dict.fromkeys(keys))

    def hand_over(self, namesakes: Mapping[int, int]) -> None:
        """Mentions, relations and other names of an entity in the trash are those of another one from now on."""
        for entity, namesake in sorted(namesakes.items()):
            self._rows.set(MentionLink, ("entity", "=", entity), entity=namesake)
            self._rows.set(RelationRow, ("subject", "=", entity), subject=namesake)
            self._rows.set(RelationRow, ("object", "=", entity), object=namesake)
            self._rows.set(Alias, ("entity", "=", entity), entity=namesake)

    def free(self, gone: Selection) -> None:
        """Rows leave for good, with all that only they needed."""
        rows = self._rows
        threads, names = self._threads_of(gone.memories), self._names_in(gone.chunks)
        rows.free(ChunkRow, ("key", "in", gone.chunks), bin="trash")
        rows.free(MemoryAct, ("memory", "in", gone.memories))
        rows.free(MemoryRow, ("key", "in", gone.memories), bin="trash")
        rows.free(Contribution, ("relation", "in", gone.relations))
        rows.free(RelationRow, ("key", "in", gone.relations), bin="trash")
        rows.free(Alias, ("entity", "in", gone.entities))
        rows.free(EntityRow, ("key", "in", gone.entities), bin="trash")
        rows.free(ThreadRow, ("key", "in", threads))
        left = [each._replace(chunks=[key for key in each.chunks if key not in gone.chunks]) for each in names]
        rows.free(NameSeen, ("name_key", "in", {each.name_key for each in left if not each.chunks}))
        rows.put([each for each in left if each.chunks], replace=True)

    def _threads_of(self, memories: Collection[int]) -> set[int]:
        """Return the threads of memories that no others are in."""
        mine = Values(
            MemoryRow, ("thread",), (("key", "in", memories), ("thread", "known", None)), "any", distinct=True
        )
        threads = {thread for (thread,) in self._rows.ask(mine)[0]}
        (theirs,) = self._rows.ask(Values(MemoryRow, ("key", "thread"), (("thread", "in", threads),), "any"))
        return threads - {thread for key, thread in theirs if key not in memories}

    def _names_in(self, chunks: Collection[int]) -> list[NameSeen]:
        """Return names that are only counted yet, and were seen in some chunks."""
        seen = self._rows.ask(Find(NameSeen, order=()))[0] if chunks else []
        return [each for each in seen if any(key in chunks for key in each.chunks)]


class _Waiting(NamedTuple):
    kind: str
    key: int
    receipt: int


_LISTED: Mapping[ItemKind, tuple[type[Any], tuple[Where, ...]]] = {
    "memory": (MemoryRow, ()),
    "entity": (EntityRow, ()),
    "chunk": (ChunkRow, (("memory", "lost", None),)),
    "segment": (SegmentRow, ()),
}
_HELD: tuple[Where, ...] = (("trash", ">", 0),)
"""Of all facts in the trash; a graph finds them by its index."""
_REVISED = ("memory", "entity", "relation", "segment")


def trashed(
    rows: RowReads, items: Items, limit: int, offset: int, receipt_id: str | None = None
) -> tuple[list[Trashed], int]:
    """Return a page of the trash, the last first, or of what one receipt has there; and how much there is."""
    waiting = _waiting(rows)
    receipts = {each.key: each for each in rows.find(ReceiptOf, ("key", "in", {each.receipt for each in waiting}))}
    if receipt_id is not None:
        receipts = {key: each for key, each in receipts.items() if each.id == findable(receipt_id)}
    there = sorted((each for each in waiting if each.receipt in receipts), key=lambda each: each.key)
    there.sort(key=lambda each: (receipts[each.receipt].created_at, each.kind), reverse=True)
    return _shown(rows, items, there[offset : offset + limit], receipts), len(there)


def _waiting(rows: RowReads) -> list[_Waiting]:
    """Return all that is listed: no chunk beside its memory, and no fact beside an end that went with it."""
    kept = [Values(row, ("key", "trash"), where, "trash") for row, where in _LISTED.values()]
    facts = Values(RelationRow, ("key", "trash", "subject.trash", "object.trash"), _HELD, "trash")
    revised = Values(Revision, ("key", "receipt"), (("kind", "in", _REVISED),))
    *found, relations, revisions = rows.ask(*kept, facts, revised)
    return [
        *(_Waiting(kind, *row) for kind, answer in zip(_LISTED, found, strict=True) for row in answer),
        *(_Waiting("relation", key, trash) for key, trash, *ends in relations if trash not in ends),
        *(_Waiting("revision", *row) for row in revisions),
    ]


def _shown(rows: RowReads, items: Items, page: Sequence[_Waiting], receipts: Mapping[int, ReceiptOf]) -> list[Trashed]:
    keys: dict[Any, set[int]] = defaultdict(set)
    for each in page:
        keys[each.kind].add(each.key)
    (revised,) = rows.ask(Find(Revision, (("key", "in", keys.pop("revision", ())),)))
    described: dict[Any, Described] = {**items.describe(keys, "trash")}
    described |= {("revision", each.key): Described(each.before["id"], each.kind) for each in revised}
    reasons = _reasons(rows, page, {receipts[each.receipt] for each in page})
    found = []
    for each in page:
        said, by = described.get((each.kind, each.key)), receipts[each.receipt]
        if said is not None:
            why = reasons.get((by.key, each.kind, each.key), by.strategy)
            found.append(
                Trashed(each.kind, said.id, said.whole_name, by.id, by.strategy, why, by.created_at, said.path or "")
            )
    return found


def _reasons(
    rows: RowReads, page: Collection[_Waiting], receipts: Collection[ReceiptOf]
) -> dict[tuple[int, str, int], str]:
    """Return why plans named items, by the receipt, the kind and the key."""
    used = {each.plan_id: each.key for each in receipts if each.plan_id is not None}
    (plans,) = rows.ask(Values(PlanRow, ("key", "id"), (("id", "in", used),)))
    by = {plan: used[uid] for plan, uid in plans}
    where: tuple[Where, ...] = (("key", "in", {each.key for each in page}), ("plan", "in", by))
    (found,) = rows.ask(Values(PlanItemRow, ("plan", "kind", "key", "reason"), where))
    return {(by[plan], kind, key): reason for plan, kind, key, reason in found}
