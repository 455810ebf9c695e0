"""Apply: what was selected goes to the trash under a receipt, whole, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import NamedTuple

from memsweep.collector.contributed_memories import LinksWithout, renamed
from memsweep.collector.earlier_texts import Embed, StandingEntities, no_model
from memsweep.collector.forms import CHANGED, Forms
from memsweep.collector.planner import capped_by_plan, refuse_over_cap
from memsweep.collector.purge import Freeing, close
from memsweep.collector.retraction import Retraction
from memsweep.collector.selection import Selected, ids_of, planned_totals, select
from memsweep.model.graph_rows import UNMENTIONED, Move
from memsweep.model.memory_act import MemoryAct, Place, entities_of, lost_mentions, state_of
from memsweep.model.operation import Operation
from memsweep.model.plan import CHANGES, PlanDraft, PlanItem, Receipt, Totals
from memsweep.model.receipts import still_gone
from memsweep.model.retracted import given_back
from memsweep.model.selection import Selection
from memsweep.store import plans
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.facts import OwnedMention
from memsweep.store.forgotten import forgotten_hash
from memsweep.store.plans import Planning
from memsweep.store.receipts import NewReceipt, ReceiptRow
from memsweep.store.things.collected import TombstoneRow

Check = Callable[[Changes, Selection], None]
"""Refuses what would go too far, before anything moves."""


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that the collector takes away: what it is called, by whom and when, and the ids that it gets."""

    action: str
    strategy: str
    plan_id: str
    receipt_id: str
    by: Operation
    embed: Embed = no_model

    def receipt(self, totals: Totals, skipped: Sequence[tuple[str, str]]) -> NewReceipt:
        return NewReceipt(
            id=self.receipt_id,
            action=self.action,
            strategy=self.strategy,
            actor=self.by.actor,
            created_at=self.by.now,
            plan_id=self.plan_id,
            totals=totals,
            skipped=tuple(skipped),
        )


class Moved(NamedTuple):
    """The receipt of what was moved to the trash, and its key."""

    made: NewReceipt
    key: int
    changed: Totals

    @property
    def receipt(self) -> Receipt:
        made = self.made
        said = (made.id, made.plan_id, made.strategy, made.totals, tuple(made.skipped), made.created_at)
        return Receipt(*said, self.changed)

    @property
    def row(self) -> ReceiptRow:
        return ReceiptRow(self.key, self.made.id, self.made.plan_id, self.made.created_at, None, None)


def apply_at_once(
    tx: Changes,
    draft: PlanDraft,
    removal: Removal,
    *,
    kept: Mapping[int, str] = MappingProxyType({}),
    segments: Sequence[tuple[int, int]] = (),
    check: Check | None = None,
    forever: bool = False,
) -> Receipt:
    """Save a plan and use it, in the transaction in which it was made; `forever` frees at once what was moved."""
    selected = select(tx.items, draft.items, kept)
    if check is not None:
        check(tx, selected.going)
    forgetting = _Forgetting(tx, selected.going) if forever else None
    beside = OtherChanges(tx, selected, removal, segments)
    planning = Planning(removal.plan_id, removal.strategy, removal.by.now)
    plan, _ = plans.save(tx, draft, planned_totals(tx.items, draft.items), planning)
    moved = move(tx, selected, plan, removal, beside)
    if forgetting is not None:
        forgetting.write(tx, moved.row, plan, removal.by)
    return moved.receipt


def check_caps(strategy: str, now: datetime, tx: Changes, going: Selection) -> None:
    kinds = capped_by_plan(strategy)
    refuse_over_cap(going.totals, tx.items.count(kinds), kinds, gone_within_a_day(tx, now))


def gone_within_a_day(rows: Changes | WorkspaceReads, now: datetime) -> Totals:
    """Return what prunes and deletions took in the last 24 hours and has not come back."""
    made = rows.receipts.since(now - timedelta(days=1))
    return still_gone(made, rows.receipts.held([receipt.key for receipt in made]))


def move(tx: Changes, selected: Selected, plan: int, removal: Removal, beside: OtherChanges) -> Moved:
    """Everything that goes to the trash, under a new receipt."""
    skipped = (*selected.skipped, *beside.staying.skipped, *beside.retraction.skipped)
    made = removal.receipt(replace(selected.going.totals, segments=len(beside.segments)), skipped)
    key = tx.receipts.add(made)
    tx.trash.take(selected.going, key)
    tx.segments.trash(beside.segments, key)
    beside.retraction.write(tx, key)
    beside.staying.write(tx, key)
    tx.plans.use(plan, key)
    tx.audit(removal.by.counted(made.action, made.id, made.totals, made.strategy, (*selected.ids, *beside.staying.ids)))
    for item_id, reason in made.skipped:
        tx.audit(removal.by.event("skip", item_id, reason=reason))
    return Moved(made, key, Totals(memories=len(beside.staying.ids), relations=beside.retraction.count))


class OtherChanges:
    """The changes beside memories and the graph, read before anything is written."""

    def __init__(
        self, tx: Changes, selected: Selected, removal: Removal, segments: Sequence[tuple[int, int]] = ()
    ) -> None:
        # Those of a plan that nobody has pinned or taken out since.
        there = set(tx.segments.unpinned()) if selected.segments else set()
        self.segments = [*segments, *(each for each in selected.segments if each in there)]
        changes, going, retracted = selected.changes, selected.going, selected.retracted
        self.retraction = Retraction(tx, changes, going.relations, retracted)
        self.staying = Staying(tx, changes, removal.by, removal.embed, going.memories, retracted)


class _Forgetting:
    """Frees what goes to the trash at once, and keeps a hash of it, so that it is not learned again."""

    def __init__(self, tx: Changes, going: Selection) -> None:
        self._freeing = Freeing(tx, going)
        self._ids = ids_of(tx.items, self._freeing.gone.memories, self._freeing.gone.entities)
        self._texts = [(memory.id, memory.text) for memory in tx.texts.at(going.memories).values()]

    def write(self, tx: Changes, receipt: ReceiptRow, plan: int, by: Operation) -> None:
        hashes = [(uid, forgotten_hash(text)) for uid, text in self._texts]
        tx.tombstones.add([TombstoneRow(digest, by.now, uid, "deleted forever") for uid, digest in hashes])
        self._freeing.write(tx)
        close(tx, [receipt], [plan], by, {receipt.key: self._ids})


_GONE = "gone since the plan was made"


class Staying:
    """The changes of memories in a plan that stay as something else; decided when it is made."""

    def __init__(
        self,
        tx: Changes,
        items: Iterable[PlanItem],
        doing: Operation,
        embed: Embed,
        going: Collection[int] = (),
        retracted: Iterable[PlanItem] = (),
    ) -> None:
        """`going` are memories that leave with the plan; the acts of those `retracted` are taken back with them."""
        wanted = [item for item in items if item.kind == "memory" and item.reason in CHANGES]
        whole = [item for item in retracted if item.kind == "memory"]
        self._forms = Forms(tx, {item.key for item in (*wanted, *whole)}, doing, going)
        self.skipped: list[tuple[str, str]] = []
        done = [item for item in wanted if self._take(item)]
        self.ids = [self._forms.rows[item.key].id for item in done]
        self._acts = {key: act for item in (*done, *whole) for key, act in self._taken(item).items()}
        self._links = LinksWithout(tx, [*done, *whole])
        self._lost: dict[int, set[Place]] = {}
        self._mentions = self._lost_mentions(tx, done) if done else []
        self._forms.read(embed, self._lost)

    def write(self, tx: Changes, receipt: int) -> None:
        if not self.ids and not self._acts:
            return
        tx.acts.mark({key: (act.receipt, receipt) for key, act in self._acts.items()})
        tx.acts.drop_mentions([(each.chunk, each.entity) for each in self._mentions])
        tx.moves.add([Move(receipt, UNMENTIONED, *each) for each in self._mentions])
        self._links.write(tx, receipt)
        self._forms.write(receipt)

    def _take(self, item: PlanItem) -> bool:
        row = self._forms.rows.get(item.key)
        if row is None or row.trash != item.evidence.get("trash"):
            why = _GONE
        elif row.version != item.evidence.get("version", item.version):
            why = CHANGED
        elif not (acts := set(item.evidence.get("acts", ()))):
            return True
        else:
            journal = given_back(self._forms.journal[item.key], row.trash)
            why = self._forms.make(row, state_of(journal), state_of(journal, acts))
        if why:
            self.skipped.append((row.id if row else f"memory {item.key}", why))
        return not why

    def _taken(self, item: PlanItem) -> dict[int, MemoryAct]:
        acts = set(item.evidence.get("acts", ()))
        return {act.key: act for act in self._forms.journal[item.key] if act.key in acts}

    def _lost_mentions(self, tx: Changes, done: Sequence[PlanItem]) -> list[OwnedMention]:
        planned = [(chunk, entity) for item in done for chunk, entity in item.evidence.get("mentions", ())]
        known = entities_of(act for item in done for act in self._forms.journal[item.key])
        entities = StandingEntities(tx, known | {entity for _, entity in planned})
        for form in self._forms.made:
            journal = renamed(self._forms.journal[form.now.key], entities)
            self._lost[form.now.key] = lost_mentions(journal, self._acts, form.after.content_hash.hex())
        wanted = {(chunk, entities.now(entity)) for chunk, entity in planned}
        there = tx.acts.mentions([item.key for item in done])
        return [
            OwnedMention(each.chunk, each.entity, each.origin) for each in there if (each.chunk, each.entity) in wanted
        ]
