"""Saved plans, receipts and tombstones: once, over the rows of any engine. Inside the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

from memsweep.model.columns import part
from memsweep.model.ids import findable
from memsweep.model.plan import Held, PlanItem, StoredReceipt, Totals, counts_of
from memsweep.model.revision import Revision
from memsweep.store.refusals import forgotten_text
from memsweep.store.rows import Find, Rows, SumsBy, Values, Where
from memsweep.store.texts import about, hashes, tombstoned
from memsweep.store.things.code import CodeSkipRow
from memsweep.store.things.collected import PLAN_ITEM, RECEIPT, PlanItemRow, PlanRow, SavedReceipt, TombstoneRow
from memsweep.store.things.graph import EntityRow, RelationRow
from memsweep.store.things.memories import ChunkRow, MemoryRow
from memsweep.store.things.windows import SegmentRow

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class NewReceipt:
    """The receipt of an operation, before it has a key."""

    id: str
    action: str
    strategy: str
    actor: str
    created_at: datetime
    plan_id: str | None = None
    totals: Totals = field(default_factory=Totals)
    skipped: Sequence[tuple[str, str]] = ()
    undone_at: datetime | None = None


class ReceiptRow(NamedTuple):
    """The state of a receipt."""

    key: int
    id: str
    plan_id: str | None
    created_at: datetime
    undone_at: datetime | None
    purged_at: datetime | None


@dataclass(frozen=True, slots=True)
class SavedPlan:
    head: PlanRow
    receipt_id: str | None
    """The receipt of its use, once it was used."""

    @property
    def key(self) -> int:
        return self.head.key


part(PlanItem, PLAN_ITEM)
part(ReceiptRow, RECEIPT)
_TEXTS: dict[type[Any], tuple[str, str]] = {
    MemoryRow: ("memories", "text"),
    ChunkRow: ("chunks", "text"),
    EntityRow: ("entities", "name"),
    RelationRow: ("relations", "relation"),
    SegmentRow: ("segments", "text"),
}
"""What waits in the trash: its kind, and the column whose letters are counted."""


class Receipts:
    """The operations that were done, and what can still come back."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, receipt_id: str) -> ReceiptRow | None:
        found = self._rows.find(ReceiptRow, ("id", "=", findable(receipt_id)))
        return found[0] if found else None

    def at(self, keys: Collection[int]) -> dict[int, ReceiptRow]:
        return {row.key: row for row in self._rows.find(ReceiptRow, ("key", "in", keys))}

    def page(self, before: int | None, limit: int, *, holding: bool) -> list[StoredReceipt]:
        """The newest first, those made before a key, but for recoveries; or those that hold something in the trash."""
        where: list[Where] = [("action", "<>", "recover")]  # what recovers one memory holds nothing
        if before is not None:
            where.append(("key", "<", before))
        if holding:
            holders = [Values(row, ("trash",), bin="trash", distinct=True) for row in _TEXTS]
            found = self._rows.ask(*holders, Values(Revision, ("receipt",), distinct=True))
            where.append(("key", "in", {key for keys in found for (key,) in keys}))
        (rows,) = self._rows.ask(Find(SavedReceipt, tuple(where), newest=True, limit=limit))
        return [_stored(row) for row in rows]

    def since(self, at: datetime) -> list[StoredReceipt]:
        """Return those made since a moment, the newest first."""
        (rows,) = self._rows.ask(Find(SavedReceipt, (("created_at", ">=", at),), newest=True))
        return [_stored(row) for row in rows]

    def held(self, keys: Collection[int]) -> dict[int, Held]:
        """Return the contents of each of these that holds something."""
        kinds = [*(kind for kind, _ in _TEXTS.values()), "stashed", "revisions"]
        asked = [SumsBy(row, "trash", keys, letters, "trash") for row, (_, letters) in _TEXTS.items()]
        asked += [SumsBy(SegmentRow, "stash", keys), SumsBy(Revision, "receipt", keys, "before")]
        found: dict[int, Held] = defaultdict(Held)
        for kind, rows in zip(kinds, self._rows.ask(*asked), strict=True):
            for receipt, number, letters in rows:
                held = found[receipt]
                found[receipt] = held._replace(**{kind: number, "letters": held.letters + int(letters)})
        return dict(found)

    def not_purged(self, before: datetime) -> list[ReceiptRow]:
        """Return those made up to a moment whose trash was not freed yet, the oldest first."""
        return self._rows.find(ReceiptRow, ("purged_at", "null", None), ("created_at", "<=", before))

    def add(self, receipt: NewReceipt) -> int:
        """The key of a new one."""
        named = (receipt.id, receipt.plan_id, receipt.action, receipt.strategy, receipt.actor, receipt.created_at)
        said = (counts_of(receipt.totals), list(receipt.skipped), receipt.undone_at)
        return self._rows.add([SavedReceipt(*named, *said)])[0]

    def set_undone(self, key: int, at: datetime) -> None:
        self._rows.set(SavedReceipt, ("key", "=", key), undone_at=at)

    def set_purged(self, keys: Collection[int], at: datetime) -> None:
        self._rows.set(SavedReceipt, ("key", "in", keys), purged_at=at)

    def let_go(self, before: datetime, most: int) -> bool:
        """Drop so many of those purged before a moment, with their plans; return whether more may be left.

        What a merge or a split left, or a stash, is still read by its receipt, which stays.
        """
        old: tuple[Where, ...] = (("purged_at", "<", before), ("action", "<>", "merge"), ("action", "<>", "unmerge"))
        purged, stashes = self._rows.ask(
            Values(SavedReceipt, ("key",), old),
            Values(SegmentRow, ("stash",), (("stash", "known", None),), "any", distinct=True),
        )
        spent = sorted({key for (key,) in purged} - {key for (key,) in stashes})[:most]
        if spent:
            Plans(self._rows).drop(("receipt", "in", spent))
            self._rows.free(SavedReceipt, ("key", "in", spent))
        return len(spent) == most


def _stored(row: SavedReceipt) -> StoredReceipt:
    named = (row.key, row.id, row.plan_id, row.action, row.strategy, row.actor, row.created_at)
    return StoredReceipt(*named, row.counts, len(row.skipped), row.undone_at, row.purged_at)


class Plans:
    """Saved plans: a head, and the items in their order."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def get(self, plan_id: str) -> SavedPlan | None:
        for head in self._rows.find(PlanRow, ("id", "=", findable(plan_id))):
            used = [] if head.receipt is None else self._rows.find(ReceiptRow, ("key", "=", head.receipt))
            return SavedPlan(head, used[0].id if used else None)
        return None

    def items(self, plan: int, offset: int = 0, limit: int | None = None) -> list[PlanItem]:
        where: tuple[Where, ...] = (("plan", "=", plan), ("position", ">=", offset))
        if limit != 0:
            (found,) = self._rows.ask(Find(PlanItem, where, order=("position",), limit=limit or 0))
            return found
        return []

    def add(self, head: PlanRow, items: Sequence[PlanItem]) -> int:
        """The key of a new one."""
        (key,) = self._rows.add([head])
        self._rows.add([PlanItemRow(key, position, *item) for position, item in enumerate(items)])
        return key

    def keys(self, plan_ids: Collection[str]) -> list[int]:
        (found,) = self._rows.ask(Values(PlanRow, ("key",), (("id", "in", {findable(each) for each in plan_ids}),)))
        return [key for (key,) in found]

    def forget(self, plans: Collection[int]) -> None:
        """Drop what was in them."""
        self._rows.free(PlanItemRow, ("plan", "in", plans))

    def use(self, plan: int, receipt: int) -> None:
        self._rows.set(PlanRow, ("key", "=", plan), receipt=receipt)

    def drop_unused(self, expired_before: datetime) -> None:
        self.drop(("expires_at", "<", expired_before), ("receipt", "null", None))

    def drop(self, *where: Where) -> None:
        """Drop those that meet the conditions, with what was in them."""
        (found,) = self._rows.ask(Values(PlanRow, ("key",), where))
        if keys := [key for (key,) in found]:
            self.forget(keys)
            self._rows.free(PlanRow, ("key", "in", keys))


class Tombstones:
    """The texts that were forgotten for good, by the hash of their content."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def add(self, tombstones: Iterable[TombstoneRow]) -> None:
        """A content that has one keeps it."""
        self._rows.put([*tombstones], replace=False)

    def among(self, texts: Sequence[str]) -> set[str]:
        """Return those of these texts that have one, and may not be learned again."""
        return tombstoned(self._rows, texts)

    def any(self) -> bool:
        return bool(self._rows.ask(Find(TombstoneRow, limit=1, order=("hash",)))[0])

    def why_gone(self, texts: Mapping[Key, str]) -> dict[Key, str]:
        """Say of those of these texts that were forgotten when that was: none of them may come back."""
        (found,) = self._rows.ask(Find(TombstoneRow, about([*texts.values()]).where, order=("hash",)))
        known = {row.hash: row for row in found}
        said = ((key, known[digest]) for key, text in texts.items() for digest in hashes(text) if digest in known)
        return {key: forgotten_text(row.at, row.memory) for key, row in said}

    def drop(self, memory_id: str) -> bool:
        """Drop a tombstone; return whether there was one. Files passed over because of it are read again."""
        where: Where = ("memory", "=", findable(memory_id))
        (found,) = self._rows.ask(Values(TombstoneRow, ("memory",), (where,)))
        if found:
            self._rows.free(TombstoneRow, where)
            self._rows.free(CodeSkipRow, ("digest", "<>", "listed"))
        return bool(found)
