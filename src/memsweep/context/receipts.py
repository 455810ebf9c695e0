"""What leaves a durable context window leaves with a receipt and a line in the audit log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime

from memsweep.context.steps import Leaving, Left, gone
from memsweep.store.ports.windows import OpenWindow


@dataclass(frozen=True, slots=True)
class Acting:
    """Who acts, and when."""

    actor: str
    now: datetime
    new_id: Callable[[str], str]


def take_out(
    window: OpenWindow,
    acting: Acting,
    leaving: Leaving,
    why: str,
    refused: Mapping[str, str] | None = None,
    *,
    plan: tuple[int, str] | None = None,
) -> Left:
    """Move what leaves, write the receipt and the audit log; a plan (key and id) is used up by it."""
    if not leaving and plan is None:
        return Left()
    receipt_id, refused = acting.new_id("rcpt"), refused or {}
    receipt = window.add_receipt(receipt_id, plan[1] if plan else None, "context", acting.actor, acting.now)
    window.stash([held for held, _ in leaving.stash], receipt)
    window.trash([held for held, _ in leaving.delete], receipt)
    window.fill_receipt(receipt, len(leaving.stash), len(leaving.delete), refused.items())
    if plan is not None:
        window.plans.use(plan[0], receipt)
    left = Left(gone(leaving.stash), gone(leaving.delete), receipt_id)
    counts = {
        "stashed": len(left.stashed),
        "segments": len(left.deleted),
        "tokens": sum(each.tokens for each in (*left.stashed, *left.deleted)),
    }
    window.audit("context", receipt_id, counts, why, acting.actor, acting.now)
    return left
