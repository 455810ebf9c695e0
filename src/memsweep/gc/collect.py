"""The steps around the decisions: plan, apply, undo, recover, purge, delete, pin, explain."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from memsweep.errors import BadInput, Conflict, NotFound, Unconfirmed
from memsweep.gc import purge as purging
from memsweep.gc import undo as undoing
from memsweep.gc.disk import look_again, missing_files
from memsweep.gc.planner import check_cap, check_roots, make_plan, needs_of, needs_of_plan, plan_of, plan_of_all
from memsweep.gc.strategies import STRATEGIES, resolve
from memsweep.gc.strategies.rule import Fading, Options
from memsweep.gc.verdict import judge
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.model.operation import Operation
from memsweep.model.plan import Draft, Found, Plan, PlanView, Receipt, Survey, Totals, Undone, Verdict
from memsweep.model.times import days_ago

if TYPE_CHECKING:
    from memsweep.model.audit import AuditEvent, Purged
    from memsweep.store.protocol import Check, Collector

CLEAR_PHRASE = "DELETE ALL MEMORIES"
_UNCONFIRMED = "Deletion requires explicit confirmation. Set confirm=true to proceed."
_PREVIEW = "Run with dry_run=true first to preview."
_LONGEST_DAYS = 365_000


@dataclass(frozen=True, slots=True)
class Collecting:
    """What the collector needs of the world, and its settings."""

    store: Collector
    workspace_id: str
    actor: str
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    plan_hours: float = 1.0
    grace_days: float = 0.0
    apply_seconds: float = 60.0
    fading: Fading = field(default_factory=Fading)

    def operation(self) -> Operation:
        return Operation(self.actor, self.clock(), self.fading.rates)

    def options(self, ttl_days: float | None = None, fading: Fading | None = None) -> Options:
        if ttl_days is not None:
            _check_days(ttl_days, "ttl_days")
        return Options(self.clock(), ttl_days, self.grace_days, self._checked(fading or self.fading))

    @staticmethod
    def _checked(fading: Fading) -> Fading:
        _check_days(fading.max_age_days, "max_age_days")
        for name in ("node_threshold", "edge_threshold"):
            if not 0 <= getattr(fading, name) <= 1:
                raise BadInput(f"{name} must be from 0 to 1, not {getattr(fading, name)}.")
        return fading


@dataclass(frozen=True, slots=True)
class Safety:
    """Whether given memories may be deleted from a workspace."""

    is_safe: bool
    warnings: tuple[str, ...]
    blocked_ids: tuple[str, ...]


def plan(tools: Collecting, strategy: str, ttl_days: float | None = None, fading: Fading | None = None) -> Plan:
    """Find garbage and save the exact list of it. Nothing is removed."""
    decide, needs, missing = _decision(tools, strategy, tools.options(ttl_days, fading))
    return tools.store.plan(
        decide,
        needs,
        missing,
        plan_id=tools.new_id("plan"),
        strategy=strategy,
        actor=tools.actor,
        now=tools.clock(),
        lifetime=timedelta(hours=tools.plan_hours),
    )


def apply(tools: Collecting, plan_id: str, *, confirm: bool, allow_large: bool = False) -> Receipt:
    """Remove what a saved plan names, and nothing else."""
    _require(confirm, _PREVIEW)
    looks_at_disk = "files" in needs_of_plan(tools.store.load_plan(plan_id).strategy)
    return tools.store.apply(
        plan_id,
        _cap(allow_large),
        recheck=look_again(tools.store.code_paths()) if looks_at_disk else None,
        receipt_id=tools.new_id("rcpt"),
        actor=tools.actor,
        now=tools.clock(),
        seconds=tools.apply_seconds,
    )


def plan_and_apply(
    tools: Collecting,
    strategy: str,
    *,
    confirm: bool,
    allow_large: bool = False,
    ttl_days: float | None = None,
    fading: Fading | None = None,
) -> Receipt:
    """Plan and apply in one transaction."""
    resolve(strategy)
    _require(confirm, _PREVIEW)
    decide, needs, missing = _decision(tools, strategy, tools.options(ttl_days, fading))
    return _at_once(tools, decide, needs, missing, "prune", strategy, _cap(allow_large))


def prune_in_steps(tools: Collecting, strategy: str, step: int, ttl_days: float | None = None) -> Iterator[Receipt]:
    """Plan and apply again and again, about `step` things at a time, until nothing is found or nothing moves."""
    while True:
        decide, needs, missing = _decision(tools, strategy, tools.options(ttl_days), step)
        receipt = _at_once(tools, decide, needs, missing, "prune", strategy, _no_check)
        if receipt.totals == Totals():
            return
        yield receipt


def delete(tools: Collecting, memory_id: str, *, confirm: bool, forever: bool = False) -> Receipt:
    """One memory to the trash; `forever` frees it at once and keeps it from being learned again."""
    key = _key(tools, memory_id)
    _require(confirm)

    def decide(survey: Survey) -> Draft:
        draft = plan_of(survey, [Found("memory", key, "deleted")], Options(tools.clock()), tools.workspace_id)
        if not draft.items:
            reason = draft.protected[0].reason
            raise Conflict(
                f"memory {memory_id} is {reason}; it was not deleted.",
                hint="Unpin it first." if reason == "pinned" else "",
            )
        return draft

    reason = "deleted forever" if forever else None
    return _at_once(tools, decide, {"graph", "statements"}, (), "delete", "delete", _no_check, reason)


def clear(tools: Collecting, confirm_phrase: str) -> Receipt:
    """Everything to the trash but pins and what they hold; the phrase is the confirmation, and there is no cap."""
    if confirm_phrase != CLEAR_PHRASE:
        raise Unconfirmed(f"confirm_phrase must equal {CLEAR_PHRASE!r}; nothing was removed.")

    def everything(survey: Survey) -> Draft:
        return plan_of_all(survey, Options(tools.clock()), tools.workspace_id)

    needs = {"graph", "statements", "lone chunks"}
    return _at_once(tools, everything, needs, (), "clear", "clear", _no_check)


def undo(tools: Collecting, receipt_id: str) -> Undone:
    return undoing.undo(tools.store, receipt_id, tools.operation())


def recover(tools: Collecting, memory_id: str) -> Undone:
    return undoing.recover(tools.store, memory_id, tools.new_id("rcpt"), tools.operation())


def purge(tools: Collecting, older_than_days: float, *, confirm: bool) -> Purged:
    """Free what has been in the trash for so long. This cannot be undone."""
    _check_days(older_than_days, "older_than_days")
    _require(confirm)
    doing = tools.operation()
    return purging.purge(tools.store, days_ago(doing.now, older_than_days), doing)


def validate_deletion_safety(tools: Collecting, memory_ids: Sequence[str]) -> Safety:
    """S2's check before a deletion by ids."""
    known = tools.store.memory_keys(memory_ids)
    blocked = tuple(uid for uid in memory_ids if uid not in known)
    warnings = [f"Memory {uid} not found" for uid in blocked]
    if tools.workspace_id == DEFAULT_WORKSPACE:
        warnings.append("WARNING: Deleting from default workspace")
    return Safety(not blocked, tuple(warnings), blocked)


def explain(tools: Collecting, item_id: str) -> tuple[Verdict, list[PlanView], list[AuditEvent]]:
    """Why a memory or an entity is alive or garbage, the way to what keeps it, and its history."""
    found = tools.store.find(item_id)
    if found is None:
        raise NotFound(f"{item_id!r:.80} is neither a memory nor an entity of workspace {tools.workspace_id!r}.")
    kind, key, receipt_id = found
    history = tools.store.audit(20, item_id)
    if receipt_id is not None:
        said = f"It is in the trash; undo_prune with {receipt_id} or recover_memory brings it back."
        return Verdict(item_id, kind, False, (said,)), [], history + tools.store.audit(20, receipt_id)
    needs = {"ways"}.union(*(strategy.needs for strategy in STRATEGIES.values()))
    survey = tools.store.survey(needs, missing_files(tools.store.code_paths()))
    verdict = judge(survey, kind, key, item_id, tools.options(), tools.workspace_id, _id_of(tools.store))
    return verdict, [tools.store.describe("entity", step) for step in verdict.path], history


def _id_of(store: Collector) -> Callable[[int], str]:
    return lambda memory: store.describe("memory", memory).id


def _require(confirm: bool, hint: str = "") -> None:
    if confirm is not True:
        raise Unconfirmed(_UNCONFIRMED, hint=hint)


def _check_days(days: float, what: str) -> None:
    if not 0 <= days <= _LONGEST_DAYS:  # which NaN is not either
        raise BadInput(f"{what} must be a number of days from 0 to {_LONGEST_DAYS:,}, not {days}.")


def _key(tools: Collecting, memory_id: str) -> int:
    found = tools.store.memory_keys([memory_id])
    if memory_id not in found:
        raise NotFound(
            f"memory {memory_id!r:.80} does not exist in workspace {tools.workspace_id!r}.",
            hint="Take an id from search_memory, and check the workspace.",
        )
    return found[memory_id]


def _decision(
    tools: Collecting, strategy: str, options: Options, at_most: int | None = None
) -> tuple[Callable[[Survey], Draft], frozenset[str], Collection[int]]:
    needs = needs_of(strategy)
    missing = missing_files(tools.store.code_paths()) if "files" in needs else ()

    def decide(survey: Survey) -> Draft:
        check_roots(survey, strategy, options)
        return make_plan(survey, strategy, options, tools.workspace_id, at_most)

    return decide, needs, missing


def _at_once(
    tools: Collecting,
    decide: Callable[[Survey], Draft],
    needs: Collection[str],
    missing: Collection[int],
    action: str,
    strategy: str,
    check: Check,
    tombstone: str | None = None,
) -> Receipt:
    receipt = tools.store.plan_and_apply(
        decide,
        needs,
        missing,
        check,
        recheck=look_again(tools.store.code_paths()) if "files" in needs else None,
        plan_id=tools.new_id("plan"),
        receipt_id=tools.new_id("rcpt"),
        action=action,
        strategy=strategy,
        actor=tools.actor,
        now=tools.clock(),
        seconds=tools.apply_seconds,
        tombstone=None if tombstone is None else (tombstone, partial(purging.free_at_once, doing=tools.operation())),
    )
    if tombstone is not None:
        tools.store.wipe("the memory is deleted for good")
    return receipt


def _cap(allow_large: bool) -> Check:
    return lambda removed, of, what: check_cap(removed, of, what, allow_large=allow_large)


def _no_check(removed: int, of: int, what: str) -> None: ...
