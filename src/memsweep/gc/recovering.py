"""One item comes back from the trash with what it needs, or it is said what it waits for. Reads and decides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memsweep.errors import Conflict
from memsweep.gc.links import LinksAgain
from memsweep.model.selection import Selection

if TYPE_CHECKING:
    from memsweep.store.changes import Changes

_NO_RECEIPT = 0
"""Holds nothing: keys begin at 1."""


def only_one(tx: Changes, item_id: str, kind: str, key: int) -> tuple[Selection, int]:
    """What is to come back, and the receipt whose rules it follows: a fact may stand in the way of its own receipt's.

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
    """What a retraction took back with the one item that comes back from its trash; decided when it is made."""

    def __init__(self, tx: Changes, only: Selection) -> None:
        rows = tx.texts.at(only.memories) if only.memories else {}
        held = {key: row.trash for key, row in rows.items() if row.trash is not None}
        acts = tx.acts.of_memories(held) if held else []
        self._acts = {act.key: act.receipt for act in acts if act.trash == held[act.memory]}
        self._links = [LinksAgain(tx, receipt, only=key) for key, receipt in held.items()]
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
    """What stands in the way of one item."""
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
