"""The receipts of a workspace, page by page, with what each still holds."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.errors import NotFound
from memsweep.model.paging import PageMark, cursor_after, mark_of
from memsweep.model.plan import Held, ReceiptDetails, ReceiptPage, details_of

if TYPE_CHECKING:
    from memsweep.store.ports.collector import Collector

_LISTINGS = {False: "receipts", True: "trash by receipt"}


def receipt(store: Collector, now: datetime, receipt_id: str, purge_days: float | None = None) -> ReceiptDetails:
    """One of them."""
    with store.reading() as rows:
        known = rows.receipts.get(receipt_id)
        found = rows.receipts.page(known.key + 1, 1, holding=False) if known else []
        if not known or not found or found[0].key != known.key:
            raise NotFound(f"there is no receipt {receipt_id!r:.60} in this workspace.")
        held, model = rows.receipts.held([known.key]), rows.texts.model()
    return details_of(found[0], held.get(known.key, Held()), now, model.dimension if model else 0, purge_days)


def receipts(
    store: Collector,
    now: datetime,
    limit: int,
    cursor: str | None,
    *,
    holding: bool = False,
    purge_days: float | None = None,
) -> ReceiptPage:
    """The newest first; with `holding`, those that have something in the trash."""
    mark = mark_of(cursor, _LISTINGS[holding])
    with store.reading() as rows:
        found = rows.receipts.page(mark and mark.key, limit + 1, holding=holding)
        page, more = found[:limit], found[limit:]
        held = rows.receipts.held([row.key for row in page]) if page else {}
        model = rows.texts.model()
    size = model.dimension if model is not None else 0
    details = tuple(details_of(row, held.get(row.key, Held()), now, size, purge_days) for row in page)
    return ReceiptPage(details, cursor_after(PageMark(page[-1].key, 0, 0), _LISTINGS[holding]) if more else None)
