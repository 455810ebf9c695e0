"""Tell the history of a memory or an entity from the audit log; also when nothing else of it is left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from memsweep.model.audit import AuditPage, AuditQuery
from memsweep.model.ids import is_own_id
from memsweep.model.paging import PageMark, cursor_after, mark_of
from memsweep.model.plan import Kind, Verdict
from memsweep.model.times import iso

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from memsweep.model.audit import AuditEvent
    from memsweep.store.ports.collector import Collector

_MOST = 1000
"""Events of one item; of more, the newest."""
_LOOKED_THROUGH = 10_000
_SHOWN_BACKUPS = 5
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


def earlier_backups(store: Collector) -> list[str]:
    """Copies that were made before, which nothing here changes; the newest first."""
    events = [event for _, event in store.audit(_LOOKED_THROUGH, AuditQuery(action="backup"))]
    files = list(dict.fromkeys(event.subject for event in events))
    if not files:
        return []
    more = f" and {len(files) - _SHOWN_BACKUPS:,} more" if len(files) > _SHOWN_BACKUPS else ""
    return [f"Backups made earlier may still have it: {', '.join(files[:_SHOWN_BACKUPS])}{more}."]
