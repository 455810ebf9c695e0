"""The steps around the decisions: plan, apply, undo, recover, purge, delete, pin, and a collection in steps."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from memsweep.collector import purge as purging
from memsweep.collector import undo as undoing
from memsweep.collector.earlier_texts import Embed, no_model
from memsweep.collector.item_survey import around_deletion
from memsweep.collector.planner import (
    CASCADE,
    KINDS,
    WHOLE,
    PlanPart,
    capped_by_plan,
    decide,
    decide_together,
    needs_of,
    needs_of_plan,
    over_cap,
    plan_of,
    plan_of_all,
    refuse_over_cap,
    resolve,
)
from memsweep.collector.purge import Freeing, close, earlier_backups
from memsweep.collector.retraction import OriginFilter, Retraction, contributed_by, make_wanted
from memsweep.collector.selection import (
    FirstLook,
    Selected,
    excluded_relations,
    first_look,
    ids_in,
    ids_of,
    narrow,
    no_memory,
    open_plan,
    planned_totals,
    select,
    what_goes_with,
)
from memsweep.collector.strategies.rule import Fading, Options
from memsweep.collector.written_since import no_names
from memsweep.errors import BadInput, Conflict, NotFound, Unconfirmed
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.model.plan import (
    Deleted,
    Found,
    Kind,
    Operation,
    Plan,
    PlanDraft,
    PlanItem,
    PlanView,
    Receipt,
    Selection,
    Survey,
    Totals,
    Undone,
    still_gone,
)
from memsweep.model.strategies import ALIASES, CHOSEN, SECRETS
from memsweep.model.text import FindNames
from memsweep.model.times import days_ago
from memsweep.store import plans
from memsweep.store.changes import Changes, WorkspaceReads
from memsweep.store.paused import gc_paused
from memsweep.store.plans import Planning
from memsweep.store.receipts import NewReceipt
from memsweep.store.texts import forgotten_hash
from memsweep.store.things.collected import TombstoneRow

if TYPE_CHECKING:
    from memsweep.model.audit import Purged
    from memsweep.store.collector import Collector


Check = Callable[[Changes, Selection], None]
"""Refuses what would go too far, before anything moves."""


@dataclass(frozen=True, slots=True)
class Removal:
    """One thing that the collector takes away: what it is called, by whom and when, and the ids that it gets."""

    action: str
    strategy: str
    plan_id: str
    receipt_id: str
    by: Operation
    embed: Embed = no_model

    def receipt(self, totals: Totals, skipped: Sequence[tuple[str, str]]) -> NewReceipt:
        return NewReceipt(
            id=self.receipt_id,
            action=self.action,
            strategy=self.strategy,
            actor=self.by.actor,
            created_at=self.by.now,
            plan_id=self.plan_id,
            totals=totals,
            skipped=tuple(skipped),
        )


def apply_at_once(
    tx: Changes,
    draft: PlanDraft,
    removal: Removal,
    *,
    kept: Mapping[int, str] = MappingProxyType({}),
    segments: Sequence[tuple[int, int]] = (),
    check: Check | None = None,
    forever: bool = False,
) -> Receipt:
    """Save a plan and use it, in the transaction in which it was made; `forever` frees at once what was moved."""
    selected = select(tx.items, draft.items, kept)
    if check is not None:
        check(tx, selected.going)
    forgetting = _Forgetting(tx, selected.going) if forever else None
    retraction = _retraction(tx, selected, removal)
    planning = Planning(removal.plan_id, removal.strategy, removal.by.now)
    plan, _ = plans.save(tx, draft, planned_totals(tx.items, draft.items), planning)
    key, receipt = move(tx, selected, plan, removal, retraction, segments)
    if forgetting is not None:
        forgetting.write(tx, key, receipt, plan, removal.by)
    return receipt


def check_caps(strategy: str, now: datetime, tx: Changes, going: Selection) -> None:
    kinds = capped_by_plan(strategy)
    refuse_over_cap(going.totals, tx.items.count(kinds), kinds, gone_within_a_day(tx, now))


def gone_within_a_day(rows: Changes | WorkspaceReads, now: datetime) -> Totals:
    """Return what prunes and deletions took in the last 24 hours and has not come back."""
    made = rows.receipts.since(now - timedelta(days=1))
    return still_gone(made, rows.receipts.held([receipt.key for receipt in made]))


def move(
    tx: Changes,
    selected: Selected,
    plan: int,
    removal: Removal,
    retraction: Retraction | None,
    segments: Sequence[tuple[int, int]] = (),
) -> tuple[int, Receipt]:
    """Everything that goes to the trash, under a new receipt; its key, and the receipt."""
    if selected.segments:  # those that nobody has pinned or taken out since they were planned
        there = set(tx.segments.unpinned())
        segments = [*segments, *(each for each in selected.segments if each in there)]
    skipped = (*selected.skipped, *(retraction.skipped if retraction else ()))
    made = removal.receipt(replace(selected.going.totals, segments=len(segments)), skipped)
    key = tx.receipts.add(made)
    tx.trash.take(selected.going, key)
    tx.segments.trash(segments, key)
    if retraction is not None:
        retraction.write(tx, key)
    tx.plans.use(plan, key)
    ids = (*selected.ids, *(retraction.ids if retraction else ()))
    tx.audit(removal.by.counted(made.action, made.id, made.totals, made.strategy, ids))
    for item_id, reason in made.skipped:
        tx.audit(removal.by.event("skip", item_id, reason=reason))
    changed = retraction.changed if retraction else Totals()
    return key, Receipt(made.id, made.plan_id, made.strategy, made.totals, skipped, made.created_at, changed)


def _retraction(tx: Changes, selected: Selected, removal: Removal) -> Retraction | None:
    """Return what changes and stays, where the plan takes back what somebody did."""
    if not selected.changes and not selected.retracted:
        return None
    return Retraction(tx, selected.changes, selected.going, selected.retracted, removal.by, removal.embed)


class _Forgetting:
    """Frees what goes to the trash at once, and keeps a hash of it, so that it is not learned again."""

    def __init__(self, tx: Changes, going: Selection) -> None:
        self._freeing = Freeing(tx, going)
        self._ids = ids_of(tx.items, self._freeing.gone.memories, self._freeing.gone.entities)
        self._texts = [(memory.id, memory.text) for memory in tx.texts.at(going.memories).values()]

    def write(self, tx: Changes, key: int, receipt: Receipt, plan: int, by: Operation) -> None:
        hashes = [(uid, forgotten_hash(text)) for uid, text in self._texts]
        tx.tombstones.add([TombstoneRow(digest, by.now, uid, "deleted forever") for uid, digest in hashes])
        self._freeing.write(tx)
        close(tx, {key: receipt.id}, [plan], by, {key: self._ids})


CLEAR_PHRASE = "DELETE ALL MEMORIES"
_UNCONFIRMED = "Deletion requires explicit confirmation. Set confirm=true to proceed."
_PREVIEW = "Run with dry_run=true first to preview."
_LONGEST_DAYS = 365_000
_LET_GO = 100
"""So many receipts and events are let go by one change."""


@dataclass(frozen=True, slots=True)
class CollectorDependencies:
    """The dependencies of the collector, and its settings."""

    store: Collector
    workspace_id: str
    actor: str
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    plan_hours: float = 1.0
    grace_days: float = 0.0
    apply_seconds: float = 60.0
    history_days: float = 90.0
    fading: Fading = field(default_factory=Fading)
    embed: Embed = no_model
    find_names: FindNames = no_names
    list_as: Callable[[str], None] = lambda description: None  # in the list of workspaces

    def operation(self) -> Operation:
        return Operation(self.actor, self.clock(), self.fading.rates)

    @contextmanager
    def changing(self, seconds: float | None = None) -> Iterator[Changes]:
        """Yield a transaction that also lets go of a little of what is too old to tell of, by whole days."""
        with self.store.changing(seconds) as tx:
            yield tx
            if not self.history_days:
                return
            day = days_ago(self.clock(), self.history_days).replace(hour=0, minute=0, second=0, microsecond=0)
            if day != self.store.let_go_before and not tx.let_go(day, _LET_GO):
                self.store.let_go_before = day

    def options(
        self, ttl_days: float | None = None, fading: Fading | None = None, wanted: OriginFilter | None = None
    ) -> Options:
        if ttl_days is not None:
            _check_days(ttl_days, "ttl_days")
        return Options(self.clock(), ttl_days, self.grace_days, self._checked(fading or self.fading), wanted)

    @staticmethod
    def _checked(fading: Fading) -> Fading:
        _check_days(fading.max_age_days, "max_age_days")
        for name in ("node_threshold", "edge_threshold"):
            if not 0 <= getattr(fading, name) <= 1:
                raise BadInput(f"{name} must be from 0 to 1, not {getattr(fading, name)}.")
        return fading


@dataclass(frozen=True, slots=True)
class Safety:
    """The answer whether given memories may be deleted from a workspace."""

    is_safe: bool
    warnings: tuple[str, ...]
    blocked_ids: tuple[str, ...]


def plan(
    tools: CollectorDependencies,
    strategy: str,
    ttl_days: float | None = None,
    fading: Fading | None = None,
    origin: object = None,
) -> Plan:
    """Find garbage and save the exact list of it. Nothing is removed."""
    if strategy == SECRETS:
        from memsweep.collector import redact  # late: its patterns take as long to compile as many a plan

        return redact.plan(tools)
    options, needs = tools.options(ttl_days, fading, wanted_by(strategy, origin)), needs_of(strategy)
    with gc_paused():
        if options.wanted is None:
            survey, seen = look_over(tools, needs)
        else:
            with tools.store.changing() as tx:
                survey, seen, options = tx.items.survey(needs), FirstLook(), with_contributions(tx, options)
        draft = decide(survey, strategy, options, tools.workspace_id)
    return save_draft(tools, replace(draft, warnings=draft.warnings + seen.left_out), strategy)


def plan_of_nothing(strategy: str, now: datetime, origin: object = None) -> Plan:
    """Return the plan of a workspace that nothing was put into yet; it is not saved, for there is nothing to apply."""
    if strategy != SECRETS:
        resolve(strategy)
    wanted_by(strategy, origin)
    return Plan("", strategy, now, now, "", Totals(), 0, (), (), 0.0, 0)


def save_draft(tools: CollectorDependencies, draft: PlanDraft, strategy: str) -> Plan:
    planning = Planning(tools.new_id("plan"), strategy, tools.clock(), timedelta(hours=tools.plan_hours))
    # What changes in between is found out by the apply.
    with tools.changing() as tx:
        ids = ids_in(tx.items, draft.items)
        _, plan = plans.save(tx, draft, planned_totals(tx.items, draft.items), planning)
        if plan.item_count:
            tx.audit(tools.operation().counted("plan", plan.id, plan.totals, strategy, ids))
    return plan


def wanted_by(strategy: str, origin: object) -> OriginFilter | None:
    """Return the filter of what a strategy is asked to take back."""
    if strategy == "origin":
        return make_wanted(origin)
    if origin is not None:
        raise BadInput(f"origin is for strategy 'origin', not for {strategy!r:.40}.")
    return None


def load_plan(tools: CollectorDependencies, plan_id: str) -> Plan:
    with tools.store.reading() as rows:
        return plans.load(rows, plan_id)[1]


def refuse_other_strategy(
    plan: Plan, strategy: str, hint: str = "Leave the strategy out to use this plan, or the plan to make another."
) -> None:
    """Refuse a strategy that is said beside a saved plan of another one: only one of the two can be meant."""
    if ALIASES.get(strategy, strategy) != ALIASES.get(plan.strategy, plan.strategy):
        raise BadInput(
            f"plan {plan.id} is of strategy {plan.strategy!r}, not {strategy!r:.60}; nothing was removed.",
            hint=hint,
        )


def over_cap_of(tools: CollectorDependencies, plan_id: str) -> str:
    """Return in words what of a saved plan exceeds the cap of a day; empty if nothing does."""
    with tools.store.reading() as rows:
        plan = plans.load(rows, plan_id)[1]
        kinds = () if plan.strategy == SECRETS else capped_by_plan(plan.strategy)
        return over_cap(plan.totals, rows.items.count(kinds), kinds, gone_within_a_day(rows, tools.clock()))


def plan_items(tools: CollectorDependencies, plan: str | Plan, offset: int, limit: int) -> list[PlanView]:
    """Return the items that a saved plan would remove, with the reason of each."""
    with tools.store.reading() as rows:
        if isinstance(plan, Plan) and plan.items:
            items: Sequence[PlanItem] = plan.items[offset : offset + limit]
        else:
            saved, _ = plans.load(rows, plan.id if isinstance(plan, Plan) else plan)
            items = rows.plans.items(saved.key, offset, limit)
        return plans.views(rows.items, items)


def apply(
    tools: CollectorDependencies,
    plan_id: str,
    *,
    confirm: bool,
    allow_large: bool = False,
    exclude: Collection[str] = (),
) -> Receipt:
    """Remove what a saved plan names, but for the ids in `exclude` and what they keep alive, and nothing else."""
    _require(confirm, _PREVIEW)
    if exclude:
        plan_id = narrow(tools, plan_id, exclude).id
    strategy = load_plan(tools, plan_id).strategy
    if strategy == SECRETS:
        from memsweep.collector import redact

        return redact.apply(tools, plan_id)
    seen = _first_look(tools, needs_of_plan(strategy))
    removal = _removal(tools, "prune", strategy, plan_id)
    with tools.changing(tools.apply_seconds) as tx:
        saved, plan, items = open_plan(tx, plan_id, removal.by.now)
        selected = select(tx.items, items, seen.kept(items), excluded_relations(plans.excluded(saved)))
        if not allow_large:
            check_caps(strategy, removal.by.now, tx, selected.going)
        key, receipt = move(tx, selected, saved.key, removal, _retraction(tx, selected, removal))
        plans.use_whole(tx, plan, key)
        return receipt


def plan_and_apply(
    tools: CollectorDependencies,
    strategy: str,
    *,
    confirm: bool,
    allow_large: bool = False,
    ttl_days: float | None = None,
    fading: Fading | None = None,
    origin: object = None,
    exclude: Collection[str] = (),
) -> Receipt:
    """Plan and apply in one transaction; secrets are looked for, and what to exclude, before it."""
    if strategy != SECRETS:
        resolve(strategy)
    wanted = wanted_by(strategy, origin)
    _require(confirm, _PREVIEW)
    if strategy == SECRETS or exclude:
        made = plan(tools, strategy, ttl_days, fading, origin)
        return apply(tools, made.id, confirm=confirm, allow_large=allow_large, exclude=exclude)
    check = None if allow_large else partial(check_caps, strategy, tools.clock())
    return _prune(tools, strategy, tools.options(ttl_days, fading, wanted), check)


def prune_part(
    tools: CollectorDependencies, strategy: str, part: PlanPart, ttl_days: float | None, check: Check | None
) -> Receipt:
    """The same for a part of what is found; `check` may refuse it."""
    return _prune(tools, strategy, tools.options(ttl_days), check, part)


def delete(tools: CollectorDependencies, memory_id: str, *, confirm: bool, forever: bool = False) -> Deleted:
    """One memory to the trash with what only it states; `forever` frees it and keeps it from being learned again."""
    key = _key(tools, memory_id)
    _require(confirm)
    removal = _removal(tools, "delete", "delete")
    backups = earlier_backups(tools.store) if forever else []
    with tools.changing(tools.apply_seconds) as tx:
        options = Options(tools.clock())
        survey = around_deletion(tx, key, options)
        draft = plan_of(survey, [Found("memory", key, "deleted")], options, tools.workspace_id)
        _refuse_protected(draft, memory_id)
        gone, kept = what_goes_with(tx.items, key, survey, select(tx.items, draft.items, {}).going)
        receipt = apply_at_once(tx, draft, removal, forever=forever)
    if not forever:
        return Deleted(**_fields(receipt), gone=gone, kept=kept)
    notes = (*tools.store.wipe("the memory is deleted for good"), *backups)
    return Deleted(**_fields(receipt), gone=gone, kept=kept, notes=notes)


def clear(tools: CollectorDependencies, confirm_phrase: str) -> Receipt:
    """Everything to the trash but pins and what they hold; the phrase is the confirmation, and there is no cap."""
    if confirm_phrase != CLEAR_PHRASE:
        raise Unconfirmed(f"confirm_phrase must equal {CLEAR_PHRASE!r}; nothing was removed.")
    removal = _removal(tools, "clear", "clear")
    with tools.changing(tools.apply_seconds) as tx:
        with gc_paused():
            survey = tx.items.survey({*CASCADE, "lone chunks"})
            draft = plan_of_all(survey, Options(tools.clock()), tools.workspace_id)
        return apply_at_once(tx, draft, removal, segments=tx.segments.unpinned())


def undo(tools: CollectorDependencies, receipt_id: str) -> Undone:
    done = undoing.undo(tools.store, receipt_id, tools.new_id("rcpt"), tools.operation(), tools.embed, tools.find_names)
    if done.description:
        tools.list_as(done.description)
    return done


def recover(tools: CollectorDependencies, item_id: str) -> Undone:
    return undoing.recover(tools.store, item_id, tools.new_id("rcpt"), tools.operation(), tools.find_names)


def purge(tools: CollectorDependencies, older_than_days: float, *, confirm: bool) -> Purged:
    """Free what has been in the trash for so long. This cannot be undone."""
    _check_days(older_than_days, "older_than_days")
    _require(confirm)
    doing = tools.operation()
    backups = earlier_backups(tools.store)
    freed = purging.purge(tools.store, days_ago(doing.now, older_than_days), doing)
    return replace(freed, notes=(*freed.notes, *backups)) if freed.receipts else freed


def validate_deletion_safety(tools: CollectorDependencies, memory_ids: Sequence[str]) -> Safety:
    """Return whether all of these memories are there to be deleted, and what to think of before."""
    known = tools.store.memory_keys(memory_ids)
    blocked = tuple(uid for uid in memory_ids if uid not in known)
    warnings = [f"Memory {uid} not found" for uid in blocked]
    if tools.workspace_id == DEFAULT_WORKSPACE:
        warnings.append("WARNING: Deleting from default workspace")
    return Safety(not blocked, tuple(warnings), blocked)


def pin(tools: CollectorDependencies, item_id: str, pinned: bool) -> Kind:
    """Pin or unpin a memory or an entity; which of them it was."""
    with tools.changing() as tx:
        found = tx.items.find(item_id)
        if found is None or found[2] is not None:
            raise NotFound(f"{item_id!r:.60} is neither a memory nor an entity of this workspace.")
        kind, key, _ = found
        tx.items.pin(kind, key, pinned)
        tx.audit(tools.operation().event("pin" if pinned else "unpin", item_id))
        return kind


def remove_tombstone(tools: CollectorDependencies, memory_id: str) -> bool:
    """Let what was forgotten for good be learned again; whether there was something."""
    with tools.changing() as tx:
        found = tx.tombstones.drop(memory_id)
        if found:
            tx.audit(tools.operation().event("remove tombstone", memory_id))
        return found


def _require(confirm: bool, hint: str = "") -> None:
    if confirm is not True:
        raise Unconfirmed(_UNCONFIRMED, hint=hint)


def _check_days(days: float, what: str) -> None:
    if not 0 <= days <= _LONGEST_DAYS:  # which NaN is not either
        raise BadInput(f"{what} must be a number of days from 0 to {_LONGEST_DAYS:,}, not {days}.")


def _key(tools: CollectorDependencies, memory_id: str) -> int:
    found = tools.store.memory_keys([memory_id])
    if memory_id not in found:
        raise no_memory(memory_id, tools.workspace_id)
    return found[memory_id]


def look_over(tools: CollectorDependencies, needs: Collection[str]) -> tuple[Survey, FirstLook]:
    """Return what rules must see that need this much, and the look at the files that some need."""
    seen = _first_look(tools, needs)
    with tools.store.reading() as rows:
        return rows.items.survey(needs, seen.missing), seen


def with_contributions(tx: Changes, options: Options) -> Options:
    """The options with everything that those brought whose things are taken back."""
    return options if options.wanted is None else replace(options, contributed=contributed_by(tx, options.wanted))


def _first_look(tools: CollectorDependencies, needs: Collection[str]) -> FirstLook:
    return first_look(tools.store.code_paths()) if "files" in needs else FirstLook()


def _removal(tools: CollectorDependencies, action: str, strategy: str, plan_id: str | None = None) -> Removal:
    plan_id = plan_id or tools.new_id("plan")
    return Removal(action, strategy, plan_id, tools.new_id("rcpt"), tools.operation(), tools.embed)


def _prune(
    tools: CollectorDependencies, strategy: str, options: Options, check: Check | None, part: PlanPart = WHOLE
) -> Receipt:
    """Survey, decide and apply in one transaction: nothing can change in between."""
    needs = needs_of(strategy)
    seen = _first_look(tools, needs)
    removal = _removal(tools, "prune", strategy)
    with tools.changing(tools.apply_seconds) as tx:
        with gc_paused():
            survey = tx.items.survey(needs, seen.missing)
            draft = decide(survey, strategy, with_contributions(tx, options), tools.workspace_id, part)
        kept = seen.kept(draft.items)
        return apply_at_once(tx, draft, removal, kept=kept, check=check)


def _fields(receipt: Receipt) -> dict[str, Any]:
    return {each.name: getattr(receipt, each.name) for each in fields(Receipt)}


def _refuse_protected(draft: PlanDraft, memory_id: str) -> None:
    if not draft.items:
        reason = draft.protected[0].reason
        raise Conflict(
            f"memory {memory_id} is {reason}; it was not deleted.", hint="Unpin it first." if reason == "pinned" else ""
        )


def plan_chosen(tools: CollectorDependencies, memory_ids: Sequence[str]) -> Plan:
    """These, and what only they keep alive; what is pinned is named as protected."""
    keys = tools.store.memory_keys(memory_ids)
    for memory_id in memory_ids:
        if memory_id not in keys:
            raise no_memory(memory_id, tools.workspace_id)
    with gc_paused(), tools.store.reading() as rows:
        found = [Found("memory", keys[memory_id], "deleted") for memory_id in dict.fromkeys(memory_ids)]
        draft = plan_of(rows.items.survey(CASCADE), found, tools.options(), tools.workspace_id)
    return save_draft(tools, draft, CHOSEN)


@dataclass(frozen=True, slots=True)
class Outlook:
    """The items that a run would take, and those that are there, at one moment."""

    items: frozenset[tuple[Kind, int]] = frozenset()
    going: Totals = field(default_factory=Totals)
    there: Mapping[Kind, int] = field(default_factory=dict)
    gone: Totals = field(default_factory=Totals)
    """What went in the 24 hours before."""
    named_by: Mapping[str, int] = field(default_factory=dict)
    """How many things each strategy names by itself; one may be named by several."""


def look_ahead(tools: CollectorDependencies, strategies: Sequence[str], ttl_days: float | None) -> Outlook:
    """All that these strategies would take together; nothing is planned or moved."""
    needs = frozenset(need for strategy in strategies for need in needs_of(strategy))
    seen, options = _first_look(tools, needs), tools.options(ttl_days)
    with tools.store.changing(tools.apply_seconds) as tx:
        with gc_paused():
            survey = tx.items.survey(needs, seen.missing)
            draft, named_by = decide_together(survey, strategies, options, tools.workspace_id)
        going = select(tx.items, draft.items, seen.kept(draft.items)).going.totals
        items = frozenset((item.kind, item.key) for item in draft.items)
        return Outlook(items, going, tx.items.count(KINDS), gone_within_a_day(tx, tools.clock()), named_by)


def prune_in_steps(
    tools: CollectorDependencies,
    strategies: Sequence[str],
    step: int,
    ttl_days: float | None = None,
    *,
    outlook: Outlook,
    allow_large: bool = False,
) -> Iterator[Receipt]:
    """Apply each strategy again and again, about `step` things at a time, until nothing of the outlook is left."""
    taken = Totals()
    part = PlanPart(step, outlook.items)
    for strategy in strategies:
        while outlook.named_by[strategy]:
            check = None if allow_large else partial(_refuse_more, outlook, taken)
            receipt = prune_part(tools, strategy, part, ttl_days, check)
            if receipt.totals == Totals():
                break
            taken = taken.plus(receipt.totals)
            yield receipt


def _refuse_more(outlook: Outlook, taken: Totals, tx: Changes, going: Selection) -> None:
    """Others may have changed the graph since the look; what the steps take together stays below the cap."""
    refuse_over_cap(taken.plus(going.totals), outlook.there, KINDS, outlook.gone)
