"""Sentences about the strategy `secrets`, and texts without their secrets. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.model.strategies import SECRETS
from memsweep.model.text import counted
from memsweep.report.counts import ItemCounts, amount
from memsweep.secrets.find import redacted

if TYPE_CHECKING:
    from memsweep.model.plan import Plan, Receipt

_CUT = 80
"""Where the store cuts a text of which it only shows the beginning."""
_SHOWN_OF_A_WORD = 12


def would(plan: Plan) -> str:
    """Return a sentence on what a plan would do."""
    if not plan.item_count:
        return "Nothing to collect."
    if plan.strategy == SECRETS:
        return f"Would redact secrets in {places(plan.totals, plan.item_count)}."
    return f"Would move {amount(plan.totals)} to the trash."


def done(receipt: Receipt) -> str:
    """Return a sentence on what the strategy did."""
    if not amount(receipt.totals) and receipt.skipped:
        return "Nothing was redacted."
    return (
        f"Redacted secrets in {places(receipt.totals)}. undo_prune with {receipt.id} brings them back until purge_trash"
        " frees them."
    )


def places(totals: ItemCounts, number: int = 1) -> str:
    """Return the number of places with secrets: of things that people know, or of records of the workspace."""
    return amount(totals) or counted(number, "record")


def masked(beginning: str) -> str:
    """Return the beginning of a text without its secrets. A word that was cut goes: no rule knows half a secret."""
    if len(beginning) < _CUT:
        return redacted(beginning)[0]
    return redacted(beginning.rpartition(" ")[0] or beginning[:_SHOWN_OF_A_WORD])[0]
