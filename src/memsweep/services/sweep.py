"""`memory.sweep`: the collector of a workspace: plan, look, apply, undo, purge."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Generic

from memsweep.collector import collect
from memsweep.collector.collect import plan_chosen
from memsweep.collector.history import audit_page, explain, receipt, receipts
from memsweep.collector.review import compare, groups, previews
from memsweep.collector.selection import narrow
from memsweep.errors import NotFound, UnknownWorkspace
from memsweep.model.audit import AuditPage, AuditQuery, Purged
from memsweep.model.paging import page_size
from memsweep.model.plan import ReceiptPage
from memsweep.model.strategies import QUICK
from memsweep.model.text import refuse_lone_surrogate
from memsweep.model.times import parse_time
from memsweep.operation import Mode, operation
from memsweep.services.access import collector

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.collector.collect import Safety
    from memsweep.model.audit import AuditEvent, Tombstone, Trashed
    from memsweep.model.plan import (
        Plan,
        PlanDifference,
        PlanGroups,
        PlanView,
        Preview,
        Receipt,
        ReceiptDetails,
        Undone,
        Verdict,
    )
    from memsweep.services.access import Access


class SweepService(Generic[Mode]):
    """Finds garbage, moves it to the trash, brings it back, frees it, and says why."""

    def __init__(self, access: Access[Mode]) -> None:
        self._access = access
        self._calls = access.calls

    @operation
    def plan(
        self, strategy: str = "stale_code", *, ttl_days: float | None = None, origin: Mapping[str, Any] | None = None
    ) -> Plan:
        """Find garbage and save the exact list of it; nothing is removed. `origin`: whose, with that strategy."""
        if self._access.found() is None:
            return collect.plan_of_nothing(strategy, self._access.clock(), origin)
        return collect.plan(collector(self._access), strategy, ttl_days, origin=origin)

    @operation
    def plan_chosen(self, memory_ids: Iterable[str]) -> Plan:
        """Save a plan of these memories and what only they keep alive; nothing is removed."""
        return plan_chosen(collector(self._access), list(memory_ids))

    @operation
    def preview(self, *strategies: str, limit: int = 5) -> list[Preview]:
        """Return what collections would take now (by default every quick strategy), without saving."""
        return previews(collector(self._access), strategies or QUICK, limit and page_size(limit))

    @operation
    def get_plan(self, plan_id: str) -> Plan:
        """A saved plan."""
        return collect.load_plan(collector(self._access), plan_id)

    @operation
    def over_cap(self, plan_id: str) -> str:
        """Return in words what of a saved plan exceeds the cap of a day; empty if nothing does."""
        return collect.over_cap_of(collector(self._access), plan_id)

    @operation
    def items(self, plan_id: str | Plan, *, offset: int = 0, limit: int = 20) -> list[PlanView]:
        """Return the items that a saved plan, or the plan of this id, would remove, with the reason of each."""
        return collect.plan_items(collector(self._access), plan_id, offset, page_size(limit))

    @operation
    def groups(self, plan_id: str, *, offset: int = 0, limit: int = 20, names: int = 8) -> PlanGroups:
        """A saved plan by cause: each item with what goes only because of it, files by folder."""
        return groups(collector(self._access), plan_id, offset, page_size(limit), names)

    @operation
    def compare(self, earlier: str, later: str, *, limit: int = 100) -> PlanDifference:
        """Return the items of one saved plan that another one does not name."""
        return compare(collector(self._access), earlier, later, page_size(limit))

    @operation
    def narrow(self, plan_id: str, exclude: Collection[str]) -> Plan:
        """Save a plan of what is left of a saved one without these ids and what they keep alive; one is applied."""
        return narrow(collector(self._access), plan_id, exclude)

    @operation
    def apply(
        self, plan_id: str, *, confirm: bool = False, allow_large: bool = False, exclude: Collection[str] = ()
    ) -> Receipt:
        """Move what a saved plan names to the trash, but for `exclude` and what that keeps alive, and nothing else."""
        tools = collector(self._access)
        return collect.apply(tools, plan_id, confirm=confirm, allow_large=allow_large, exclude=exclude)

    @operation
    def prune(
        self,
        strategy: str = "stale_code",
        *,
        confirm: bool = False,
        allow_large: bool = False,
        ttl_days: float | None = None,
        origin: Mapping[str, Any] | None = None,
        exclude: Collection[str] = (),
    ) -> Receipt:
        """Plan and apply, in one transaction unless something is excluded."""
        return collect.plan_and_apply(
            collector(self._access),
            strategy,
            confirm=confirm,
            allow_large=allow_large,
            ttl_days=ttl_days,
            origin=origin,
            exclude=exclude,
        )

    @operation
    def undo(self, receipt_id: str) -> Undone:
        """Bring back everything that a receipt moved."""
        return collect.undo(collector(self._access), receipt_id)

    @operation
    def recover(self, item_id: str) -> Undone:
        """Bring one memory, entity or relation back from the trash, with what it needs."""
        return collect.recover(collector(self._access), item_id)

    @operation
    def receipts(self, *, limit: int = 20, cursor: str | None = None) -> ReceiptPage:
        """Return past actions, newest first: by whom, how much, and whether they were undone or purged since."""
        return self._receipts(limit, cursor, holding=False)

    @operation
    def receipt(self, receipt_id: str) -> ReceiptDetails:
        """One of them."""
        return receipt(self._access.store.collector, self._access.clock(), receipt_id, self._purge_days())

    @operation
    def trash_by_receipt(self, *, limit: int = 20, cursor: str | None = None) -> ReceiptPage:
        """The receipts that have something in the trash, with how much and about how many bytes; `trash` has items."""
        return self._receipts(limit, cursor, holding=True)

    def _receipts(self, limit: int, cursor: str | None, *, holding: bool) -> ReceiptPage:

        store, now, days = self._access.found(), self._access.clock(), self._purge_days()
        if store is None:
            return ReceiptPage(())
        return receipts(store.collector, now, page_size(limit), cursor, holding=holding, purge_days=days)

    def _purge_days(self) -> float | None:
        """After how long a schedule frees what is in the trash; None where none does."""
        schedule = self._access.settings.schedule
        here = not schedule.workspaces or self._access.workspace_id in schedule.workspaces
        return schedule.purge_days if schedule.enabled and schedule.purge_days > 0 and here else None

    @operation
    def trash(self, *, offset: int = 0, limit: int = 20, receipt_id: str | None = None) -> tuple[list[Trashed], int]:
        """Return the items in the trash, or those of one receipt, newest first, and their number."""
        store = self._access.found()
        return store.collector.trashed(page_size(limit), offset, receipt_id) if store else ([], 0)

    @operation
    def purge(self, older_than_days: float = 30.0, *, confirm: bool = False) -> Purged:
        """Permanently delete what has been in the trash for at least this many days; this cannot be undone."""
        if confirm and self._access.found() is None:
            return Purged((), 0, 0, 0, 0)
        return collect.purge(collector(self._access), older_than_days, confirm=confirm)

    @operation
    def clear(self, confirm_phrase: str) -> Receipt:
        """Move everything that is not pinned to the trash."""
        return collect.clear(collector(self._access), confirm_phrase)

    @operation
    def check_deletion(self, memory_ids: Iterable[str]) -> Safety:
        """Return whether all of these exist and can be deleted, with warnings to consider first."""
        ids = list(memory_ids)
        try:
            return collect.validate_deletion_safety(collector(self._access), ids)
        except UnknownWorkspace:
            said = f"Workspace {self._access.workspace_id!r} does not exist"
            return collect.Safety(False, (said,), tuple(ids))

    @operation
    def explain(self, item_id: str) -> tuple[Verdict, list[PlanView], list[AuditEvent]]:
        """Why a memory or an entity is kept or is garbage, the path to what keeps it, and its history."""
        return explain(collector(self._access), item_id)

    @operation
    def audit(self, *, limit: int = 50, subject: str | None = None) -> list[AuditEvent]:
        """Return the audit log: who did what, when and why, newest first."""
        store = self._access.found()
        return [event for _, event in store.collector.audit(page_size(limit), AuditQuery(subject))] if store else []

    @operation
    def audit_page(
        self,
        *,
        limit: int = 50,
        cursor: str | None = None,
        subject: str | None = None,
        action: str = "",
        actor: str = "",
        since: str | datetime | None = None,
        until: str | datetime | None = None,
    ) -> AuditPage:
        """The same page by page: what one actor or door (`mcp`) did, one kind of act, between two times."""
        for name, given in (("action", action), ("actor", actor)):
            refuse_lone_surrogate(given, name)
        begin = None if since is None else parse_time(since, "since")
        end = None if until is None else parse_time(until, "until", end_of_day=True)
        asked = AuditQuery(subject, action, actor, begin, end)
        store = self._access.found()
        return audit_page(store.collector, asked, page_size(limit), cursor) if store else AuditPage(())

    @operation
    def tombstones(self) -> list[Tombstone]:
        """Return the texts that were deleted for good and must not be learned again."""
        store = self._access.found()
        return store.collector.tombstones() if store else []

    @operation
    def remove_tombstone(self, memory_id: str) -> None:
        """Remove a tombstone, so that the text can be learned again."""
        if not collect.remove_tombstone(collector(self._access), memory_id):
            raise NotFound(f"there is no tombstone for {memory_id!r:.60}.", hint="See `memsweep tombstone list`.")
