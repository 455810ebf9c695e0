"""Undo and recover: what a receipt put into the trash is live again. Reads and decides first, writes last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.collector.earlier_texts import Embed
from memsweep.collector.restore import Returning
from memsweep.collector.restore_contributions import LinksAgain, Restatement, RestoreContributions
from memsweep.collector.revert_edits import RevertEdits
from memsweep.collector.unmerge import take_apart, take_back
from memsweep.errors import Conflict, NotFound
from memsweep.model.plan import Selection, Totals, Undone
from memsweep.model.text import FindNames
from memsweep.store.paused import gc_paused
from memsweep.store.receipts import NewReceipt, ReceiptRow

if TYPE_CHECKING:
    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.collector import Collector
    from memsweep.store.windows import SummarySegment


def undo(
    store: Collector, receipt_id: str, new_receipt: str, doing: Operation, embed: Embed, find: FindNames
) -> Undone:
    """Everything of a receipt back, but for what has been made again meanwhile, and what a merge keeps.

    The summary of segments that come back goes to the trash, under a new receipt, which also holds what a memory was
    that is changed back.
    """
    with store.changing() as tx:
        receipt = _usable(tx.receipts.get(receipt_id), receipt_id)
        with gc_paused():
            moves = tx.moves.of([receipt])
            apart = take_apart(tx, receipt, moves, doing, find) if moves else None
            joined = take_back(tx, receipt, moves) if moves else None
            restated = Restatement(tx, receipt)
            changed = RevertEdits(tx, receipt, doing, embed)
            again = RestoreContributions(tx, receipt, moves, doing, embed, changed.memories)
            said = again.returning._replace(facts=restated.said_again, stated=frozenset(restated.relations))
            back = Returning(tx, receipt, doing, apart, ended=restated.ended, said=said, find=find)
            facts = restated.conflicts(tx, back.relations)
        _refuse_taken_since(tx, receipt)
        staying = _segments_that_stay(tx, receipt)
        summaries = tx.segments.summaries(receipt)
        going = [each for each in summaries if not each.pinned]
        clashes = [*staying.values()]
        waiting = (*changed.conflicts, *back.conflicts, *facts, *again.conflicts, *clashes)
        does = bool(apart or joined or changed.count or restated.relations or again.gives or back.changes)
        does = does or bool(tx.segments.moved_by(receipt) - staying.keys())
        if not does or (changed.conflicts and not changed.count):
            _refuse_if_anything_waits(waiting, receipt_id)
            _refuse_emptied(tx, receipt, receipt_id)
        for first in (apart, joined):
            if first is not None:
                first.write(tx)
        restated.write(tx, back.relations)  # first: what it ends may give way to what comes back
        again.bring_back(tx)
        back.write(tx)
        totals = replace(back.totals, segments=tx.segments.put_back(receipt, staying.keys()))
        totals = totals.plus(changed.totals).plus(joined.totals if joined else Totals())
        again.write(tx, _take_out(tx, going, changed, new_receipt, doing))
        tx.receipts.set_undone(receipt, doing.now)
        told = (*back.ids, *changed.ids, *again.ids, *(joined.ids if joined else ()))
        tx.audit(doing.counted("undo", receipt_id, totals, ids=told))
    clashes += [(each.id, "this summary is pinned, so it stays in the window") for each in summaries if each.pinned]
    clashes += joined.conflicts if joined else []
    clashes += apart.conflicts if apart else []
    conflicts = (*back.conflicts, *facts, *changed.conflicts, *again.conflicts, *clashes)
    return Undone(
        totals,
        conflicts,
        tuple(each.id for each in going),
        new_receipt if going or changed.updated else None,
        changed.updated,
        changed.description,
        Totals(memories=again.count, relations=restated.count),
    )


def _segments_that_stay(tx: Changes, receipt: int) -> dict[int, tuple[str, str]]:
    """Return the segments that cannot come back, by key: the id, and why."""
    taken = tx.segments.clashing(receipt).items()
    staying = {key: (uid, "a segment with its id was added meanwhile") for key, uid in taken}
    if tx.segments.moved_by(receipt) and tx.tombstones.any():
        texts = tx.segments.texts_moved_by(receipt)
        gone = tx.tombstones.why_gone({key: text for key, (_, text) in texts.items()})
        staying |= {key: (texts[key][0], why) for key, why in gone.items()}
    return staying


def _refuse_taken_since(tx: Changes, receipt: int) -> None:
    """Refuse while what was stashed is in the trash of a later receipt."""
    for last in tx.segments.taken_since(receipt)[:1]:
        raise Conflict("what it put into the stash is in the trash. Nothing was changed.", hint=f"Undo {last} first.")


def _refuse_if_anything_waits(waiting: Sequence[tuple[str, str]], receipt_id: str) -> None:
    """Nothing comes back: the receipt can be used later, when what stands in its way is gone."""
    for item, why in waiting:
        raise Conflict(f"receipt {receipt_id} cannot be undone: of {item}, {why}. Nothing was changed.")


def _refuse_emptied(tx: Changes, receipt: int, receipt_id: str) -> None:
    """An update holds what a memory was until that memory is deleted for good."""
    if any(each.action == "update" for each in tx.receipts.page(receipt + 1, 1, holding=False)):
        raise Conflict(f"receipt {receipt_id} cannot be undone: the memory that it changed was deleted for good.")


def _take_out(
    tx: Changes, summaries: Sequence[SummarySegment], changed: RevertEdits, receipt_id: str, doing: Operation
) -> int:
    """Move what gives way under a receipt of its own; return its key, or 0."""
    totals = Totals(memories=changed.updated, segments=len(summaries))
    receipt = NewReceipt(receipt_id, "undo", "undo", doing.actor, doing.now, totals=totals)
    key = tx.receipts.add(receipt) if summaries or changed.updated else 0
    changed.write(tx, key)
    if summaries:
        tx.segments.trash([(each.key, each.project) for each in summaries], key)
        tx.audit(doing.counted("trash", receipt_id, totals, "summary of segments that came back"))
    return key


def recover(store: Collector, item_id: str, receipt_id: str, doing: Operation, find: FindNames) -> Undone:
    """Bring one item back with what it needs, under a receipt of its own that is undone at once."""
    with store.changing() as tx:
        found = tx.trash.find(item_id)
        if found is None:
            raise NotFound(f"{item_id!r:.60} is not in the trash.", hint="list_trash shows what is.")
        only, holder = only_one(tx, item_id, *found)
        back = Returning(tx, holder, doing, only=only, find=find)
        if not back.has(only):
            raise cannot_return(tx, item_id, only, back.conflicts)
        acts = ActsBack(tx, only)
        acts.write(tx)
        back.write(tx)
        tx.receipts.add(NewReceipt(receipt_id, "recover", "recover", doing.actor, doing.now, undone_at=doing.now))
        tx.audit(doing.counted("recover", item_id, back.totals, ids=back.ids))
    return Undone(back.totals, tuple(back.conflicts))


def _usable(receipt: ReceiptRow | None, receipt_id: str) -> int:
    if receipt is None:
        raise NotFound(
            f"receipt {receipt_id!r:.60} does not exist in this workspace.", hint="list_trash shows the receipts."
        )
    if receipt.undone_at is not None:
        raise Conflict(f"receipt {receipt_id} was undone already at {receipt.undone_at:%Y-%m-%d %H:%M} UTC.")
    if receipt.purged_at is not None:
        raise Conflict(
            f"receipt {receipt_id} was purged at {receipt.purged_at:%Y-%m-%d %H:%M} UTC; it cannot be undone."
        )
    return receipt.key


_NO_RECEIPT = 0
"""Holds nothing: keys begin at 1."""


def only_one(tx: Changes, item_id: str, kind: str, key: int) -> tuple[Selection, int]:
    """Return the selection to bring back, and the receipt whose rules it follows.

    What a merge put away comes back with the merge, so that nobody has half of one.
    """
    if kind == "memory":
        return Selection(memories={key}), _NO_RECEIPT
    if kind == "entity":
        _refuse_merged(tx, item_id, [tx.entities.at([key])[key].trash])
        return Selection(entities={key}), _NO_RECEIPT
    (relation,) = tx.relations.at([key])
    ends = tx.entities.at(relation.ends).values()
    _refuse_merged(tx, item_id, [relation.trash, *(end.trash for end in ends)])
    return Selection(relations={key}), relation.trash or _NO_RECEIPT


def _refuse_merged(tx: Changes, item_id: str, holders: Sequence[int | None]) -> None:
    for merge in tx.moves.targets().keys() & {*holders}:
        receipt = tx.receipts.at({merge})[merge].id
        raise Conflict(f"{item_id} cannot come back alone: a merge put it away.", hint=f"Undo {receipt} instead.")


class ActsBack:
    """The acts that a retraction took with the one item that comes back; decided when it is made."""

    def __init__(self, tx: Changes, only: Selection) -> None:
        rows = tx.texts.at(only.memories) if only.memories else {}
        held = {key: row.trash for key, row in rows.items() if row.trash is not None}
        acts = tx.acts.of_memories(held) if held else []
        self._acts = {act.key: act.receipt for act in acts if act.trash == held[act.memory]}
        self._links = [LinksAgain(tx, tx.moves.of([receipt]), only=key) for key, receipt in held.items()]
        facts = {row.key: row.trash for row in tx.relations.at(only.relations)} if only.relations else {}
        journal = tx.origins.journal(facts) if facts else []
        self._contributions = {
            each.key for each in journal if each.trash is not None and each.trash == facts[each.relation]
        }

    def write(self, tx: Changes) -> None:
        """Before the item comes back: links are written where their ends are."""
        tx.acts.mark({key: (receipt, None) for key, receipt in self._acts.items()})
        for links in self._links:
            links.write(tx)
        tx.origins.take_back(self._contributions, None)


def cannot_return(tx: Changes, item_id: str, only: Selection, conflicts: Sequence[tuple[str, str]]) -> Conflict:
    """Return the error that says what stands in the way of one item."""
    why = _made_again(tx, only) or next((said for uid, said in conflicts if uid == item_id), "")
    return Conflict(f"{item_id} cannot come back: {why or _unstated(tx, only)}.")


def _made_again(tx: Changes, only: Selection) -> str:
    names = {each.full_name for each in tx.entities.at(only.entities).values()} if only.entities else set()
    namesakes = tx.entities.live_named(names) if names else {}
    return next((f"its name is that of {namesake.id} by now" for namesake in namesakes.values()), "")


def _unstated(tx: Changes, only: Selection) -> str:
    """A fact that only memories in the trash state waits for one of them."""
    sources = tx.relations.sources(only.relations)
    held = tx.trash.holders(Selection(memories={each.memory for each in sources}))
    first = min((uid for _, uid in held), default="")
    return f"no live memory states it; recover_memory with {first} brings both back" if first else "nothing states it"
