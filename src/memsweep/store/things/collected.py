"""Plans, receipts, the audit log and tombstones: declared for every engine. Pure.

A damaged plan goes, for it can be made again; a receipt is what undo needs.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, NamedTuple, get_args

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import declare
from memsweep.model.ids import ItemKind
from memsweep.model.plan import evidence_text


class PlanRow(NamedTuple):
    id: Annotated[str, c.WORD.but(unique=True, found_by="id")]
    strategy: Annotated[str, c.WORD]
    created_at: Annotated[datetime, c.TIME.but(remedy=f.drop)]
    expires_at: Annotated[datetime, c.TIME.but(remedy=f.drop)]
    digest: Annotated[str, c.WORD]
    summary: Annotated[Mapping[str, Any], c.OBJECT.but(fits=f.summary, remedy=f.drop, default=None, in_words=True)]
    receipt: Annotated[int | None, c.TRASH.but(remedy=f.drop, found_by="")] = None
    key: Annotated[int, c.KEY] = 0


def _evidence(evidence: Mapping[str, Any]) -> str:
    return evidence_text(evidence) if evidence else "{}"


class PlanItemRow(NamedTuple):
    plan: Annotated[int, c.LINK.but(refers="plan")]
    position: Annotated[int, c.NUMBER.but(remedy=f.drop)]
    kind: Annotated[ItemKind, c.choice(*get_args(ItemKind))]
    key: Annotated[int, c.LINK.but(in_file="key", found_by="ref")]
    """Of the item."""
    version: Annotated[int, c.NUMBER.but(remedy=f.drop)]
    reason: Annotated[str, c.TEXT.but(remedy=f.drop)]
    evidence: Annotated[Mapping[str, Any], c.OBJECT.but(remedy=f.drop, to_file=_evidence, to_node=_evidence)]


class SavedReceipt(NamedTuple):
    """An operation that was done, and its state now."""

    id: Annotated[str, c.uid("rcpt_lost{}")]
    plan_id: Annotated[str | None, c.MAYBE_TEXT.but(stored="plan")]
    action: Annotated[str, c.WORD.but(remedy=f.to("lost"))]
    strategy: Annotated[str, c.WORD.but(remedy=f.to("lost"))]
    actor: Annotated[str, c.TEXT.but(in_words=True)]
    created_at: Annotated[datetime, c.TIME]
    counts: Annotated[Mapping[str, int], c.OBJECT.but(fits=f.counts)]
    skipped: Annotated[list[Any], c.JSON.but(fits=f.pairs, remedy=f.to("[]"), default="[]", in_words=True)]
    undone_at: Annotated[datetime | None, c.MAYBE_TIME] = None
    purged_at: Annotated[datetime | None, c.MAYBE_TIME] = None
    key: Annotated[int, c.KEY] = 0


class AuditRow(NamedTuple):
    at: Annotated[int, c.MOMENT]
    actor: Annotated[str, c.TEXT.but(in_words=True)]
    action: Annotated[str, c.TEXT]
    subject: Annotated[str, c.TEXT.but(in_words=True)]
    counts: Annotated[Mapping[str, Any], c.OBJECT]
    reason: Annotated[str, c.TEXT.but(default="", in_words=True)]
    key: Annotated[int, c.KEY] = 0


class TombstoneRow(NamedTuple):
    hash: Annotated[bytes, c.HASH.but(found_by="hash")]
    at: Annotated[datetime, c.TIME]
    memory: Annotated[str, c.TEXT]
    reason: Annotated[str, c.TEXT]


PLAN = declare(PlanRow, "plan", "Plan")
PLAN_ITEM = declare(PlanItemRow, "plan_item", "PlanItem", known_by=("plan", "position"))
RECEIPT = declare(SavedReceipt, "receipt", "Receipt")
AUDIT = declare(AuditRow, "audit", "AuditEvent", known_by=("key",))
TOMBSTONE = declare(TombstoneRow, "tombstone", "Tombstone", known_by=("hash",))
