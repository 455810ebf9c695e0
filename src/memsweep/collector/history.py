"""Tell the history of a memory or an entity, why it is kept or is garbage, and what receipts hold, page by page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from memsweep.collector.collect import CollectorDependencies, look_over
from memsweep.collector.item_survey import around_entity, around_memory, is_kept, judge, mentioned
from memsweep.collector.planner import STRATEGIES
from memsweep.errors import NotFound
from memsweep.model.audit import AuditEvent, AuditPage, AuditQuery
from memsweep.model.ids import is_own_id
from memsweep.model.paging import PageMark, cursor_after, mark_of
from memsweep.model.plan import Held, Kind, PlanItem, PlanView, ReceiptDetails, ReceiptPage, Verdict, details_of
from memsweep.model.times import iso
from memsweep.store import plans

if TYPE_CHECKING:
    from collections.abc import Collection

    from memsweep.store.collector import Collector
    from memsweep.store.items import Items


# Why one thing is kept or is garbage: what must be seen for it is read, the rules judge, words are found.


def explain(tools: CollectorDependencies, item_id: str) -> tuple[Verdict, list[PlanView], list[AuditEvent]]:
    """Why a memory or an entity is alive or garbage, the way to what keeps it, and its history."""
    with tools.store.reading() as rows:
        found = rows.items.find(item_id)
    history = history_of(tools.store, item_id, None if found is None else found[2])
    if found is None:
        return _lost(tools, item_id, history), [], history
    kind, key, receipt_id = found
    if receipt_id is not None:
        said = f"It is in the trash; undo_prune with {receipt_id} or recover_memory with {item_id} brings it back."
        return Verdict(item_id, kind, False, (said,)), [], history
    options = tools.options()
    with tools.store.reading() as rows:
        if kind == "entity" and (own := is_kept(rows.items, key, options, tools.workspace_id)) is not None:
            verdict = mentioned(own, key, item_id, options, _id_of(rows.items))
            return verdict, plans.views(rows.items, [PlanItem("entity", key, 0, "")]), history
        seen = around_memory(rows.items, key) if kind == "memory" else around_entity(rows.items, key, options)
    survey = seen or look_over(tools, {"ways"}.union(*(strategy.needs for strategy in STRATEGIES.values())))[0]
    with tools.store.reading() as rows:
        verdict = judge(survey, kind, key, item_id, options, tools.workspace_id, _id_of(rows.items))
        way = [PlanItem("entity", step, 0, "") for step in verdict.path]
        verdict = replace(verdict, because=(*verdict.because, *_relations_on(rows.items, verdict.path)))
        return verdict, plans.views(rows.items, way), history


def _lost(tools: CollectorDependencies, item_id: str, history: Sequence[AuditEvent]) -> Verdict:
    tombstones = {each.memory_id for each in tools.store.tombstones()}
    if (verdict := verdict_on_lost(item_id, history, tombstones)) is None:
        raise NotFound(f"{item_id!r:.80} is neither a memory nor an entity of workspace {tools.workspace_id!r}.")
    return verdict


def _id_of(rows: Items) -> Callable[[int], str]:
    return lambda memory: plans.views(rows, [PlanItem("memory", memory, 0, "")])[0].id


def _relations_on(rows: Items, path: Sequence[int]) -> list[str]:
    """The relations that lead from one entity of a way to the next, in a sentence."""
    steps = list(pairwise(path))
    if not steps:
        return []
    between: dict[frozenset[int], int] = {}
    for relation, left, right in sorted(rows.around(path).relations):
        between.setdefault(frozenset((left, right)), relation)
    keys = [between[frozenset(step)] for step in steps if frozenset(step) in between]
    names = [repr(view.name) for view in plans.views(rows, [PlanItem("relation", key, 0, "") for key in keys])]
    return [f"The way there: {', '.join(names)}."] if names else []


_MOST = 1000
"""Events of one item; of more, the newest."""
_OWN: dict[str, Kind] = {"mem": "memory", "ent": "entity"}


def history_of(store: Collector, item_id: str, receipt_id: str | None) -> list[AuditEvent]:
    """Every event that concerned it, the oldest first; `receipt_id` holds it now."""
    found = _about(store, item_id)
    if receipt_id is not None and all(event.subject != receipt_id for event in found):
        # It went to the trash when the log did not name what was in a receipt yet.
        found += _about(store, receipt_id)
        found.sort(key=lambda event: event.at, reverse=True)
    return found[::-1]


def _about(store: Collector, item_id: str) -> list[AuditEvent]:
    return [event for _, event in store.audit(_MOST, AuditQuery(item_id))]


def audit_page(store: Collector, asked: AuditQuery, limit: int, cursor: str | None) -> AuditPage:
    """The newest events first; the next page follows the last one of this, whatever is written meanwhile."""
    listing = f"audit {replace(asked, before=None)}"
    mark = mark_of(cursor, listing)
    found = store.audit(limit + 1, replace(asked, before=mark and mark.key))
    page = found[:limit]
    more = cursor_after(PageMark(page[-1][0], 0, 0), listing) if found[limit:] else None
    return AuditPage(tuple(event for _, event in page), more)


def verdict_on_lost(item_id: str, history: Sequence[AuditEvent], never_again: Collection[str]) -> Verdict | None:
    """Return the verdict on an id that is in the log only; None if that is no memory's and no entity's."""
    own = next((kind for prefix, kind in _OWN.items() if is_own_id(item_id, prefix)), None)
    named = any(item_id in event.ids or (own and event.subject == item_id) for event in history)
    if not named and item_id not in never_again:
        return None
    purges = [event for event in history if event.action == "purge"]
    when = f" since {iso(purges[-1].at)}, when {purges[-1].subject} was purged" if purges else ""
    because = [f"It is gone for good{when}. Its id is in the log, its text is not."]
    if item_id in never_again:
        because.append("A tombstone keeps the same text from being added again.")
    return Verdict(item_id, own or "entity", False, tuple(because))


# The receipts of a workspace, page by page, with what each still holds.


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
