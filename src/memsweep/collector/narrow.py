"""A part of a saved plan: exactly its items, but for those that somebody excludes and what these keep alive.

Nothing is found anew, so a part never holds what nobody was shown. It lives no longer than the whole, and of a plan and
its parts one is applied.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import timedelta
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memsweep.collector.planner import YOUNG_DAYS, rewarned
from memsweep.collector.selection import excluded_relations, ids_in, open_plan, planned_totals, select
from memsweep.errors import BadInput
from memsweep.model.plan import CHANGES, RETRACTED, Kind, Plan, PlanDraft, PlanItem, Protected, Totals
from memsweep.model.strategies import SECRETS
from memsweep.model.times import to_micros
from memsweep.store import plans
from memsweep.store.plans import Planning

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies
    from memsweep.collector.selection import Selected
    from memsweep.store.changes import Changes
    from memsweep.store.items import Items

EXCLUDED = "spared"
KEPT_ALIVE = "kept alive by something spared"
_NAMED: tuple[Kind, ...] = ("memory", "chunk", "entity", "relation", "segment")
Key = tuple[Kind, int]


class NarrowedPlan(NamedTuple):
    """The parts of a plan: what is left, what was excluded, and what stays with that."""

    left: tuple[PlanItem, ...]
    excluded: tuple[PlanItem, ...]
    kept_alive: tuple[PlanItem, ...] = ()


def narrow(tools: CollectorDependencies, plan_id: str, exclude: Collection[str]) -> Plan:
    """Save a plan of what is left of a saved one without the items of these ids. Nothing is removed."""
    wanted = _checked(exclude)
    doing = tools.operation()
    with tools.changing(tools.apply_seconds) as tx:
        saved, plan, items = open_plan(tx, plan_id, doing.now)
        earlier = plans.excluded(saved)
        part = _part(tx, plan, items, _keys_of(tx.items, plan, items, wanted), earlier)
        draft = _draft(tx.items, plan, part, earlier)
        totals = _totals(tx.items, plan, draft)
        planning = Planning(tools.new_id("plan"), plan.strategy, plan.created_at, plan.expires_at - plan.created_at)
        _, made = plans.save(tx, draft, totals, planning)
        tx.audit(doing.counted("narrow", made.id, made.totals, plan_id, ids_in(tx.items, part.excluded)))
    return made


def _checked(exclude: Collection[str]) -> set[str]:
    if isinstance(exclude, str) or not all(isinstance(each, str) for each in exclude):
        raise BadInput(f"exclude must be a list of ids, not {exclude!r:.60}.")
    return set(exclude)


def _keys_of(rows: Items, plan: Plan, items: Sequence[PlanItem], wanted: set[str]) -> set[Key]:
    """Return the keys of these ids; an id that is not in the plan is refused."""
    kinds = {kind: [item.key for item in items if item.kind == kind] for kind in _NAMED}
    ids = rows.ids({kind: keys for kind, keys in kinds.items() if keys})
    known = {uid: key for key, uid in ids.items()}
    if unknown := sorted(wanted - known.keys()):
        raise BadInput(
            f"exclude: {unknown[0]!r:.60} is not in plan {plan.id}; nothing was changed.",
            hint="prune_memory with plan_id shows what is in it.",
        )
    return {known[uid] for uid in wanted}


def _part(
    tx: Changes, plan: Plan, items: Sequence[PlanItem], asked: set[Key], earlier: Collection[Key]
) -> NarrowedPlan:
    excluded = tuple(item for item in items if _key(item) in asked)
    left = [item for item in items if _key(item) not in asked]
    if not excluded or plan.strategy == SECRETS:  # where one does not hold another
        return NarrowedPlan(tuple(left), excluded)
    facts = _facts_of(tx, left, excluded) | _still_superseded(left, excluded)
    staying = {*earlier, *asked, *facts}
    left = [item for item in left if _key(item) not in facts]
    before = select(tx.items, items, {}, excluded_relations(earlier))
    after = select(tx.items, left, {}, excluded_relations(staying))
    held = {_key(item) for item in left if _goes(item, before) and not _goes(item, after)}
    kept_alive = tuple(item for item in items if _key(item) in held | facts)
    return NarrowedPlan(tuple(item for item in left if _key(item) not in held), excluded, kept_alive)


def _facts_of(tx: Changes, left: Sequence[PlanItem], excluded: Sequence[PlanItem]) -> set[Key]:
    """Facts to be taken back that stay as they are: what an excluded memory said, what an excluded fact has ended."""
    facts = [item for item in left if item.kind == "relation" and item.reason in RETRACTED]
    memories = {item.key for item in excluded if item.kind == "memory"}
    if not facts:
        return set()
    said = {relation for relation, memory in tx.items.sources([item.key for item in facts]) if memory in memories}
    acts = {act.key for act in tx.origins.journal([item.key for item in facts]) if act.memory in memories}
    stay = {item.key for item in facts if item.key in said or not acts.isdisjoint(item.evidence.get("acts", ()))}
    stay |= _still_ended(tx.items, facts, stay | {item.key for item in excluded if item.kind == "relation"})
    return {("relation", key) for key in stay}


def _still_ended(rows: Items, facts: Sequence[PlanItem], staying: set[int]) -> set[int]:
    """Return the facts that would hold again beside one that stays and may have taken their place."""
    again = {item.key for item in facts if item.reason == "holds_again"}
    ends = {key: row.belongs_to[0] for (_, key), row in rows.live({"relation": again | staying}).items()}
    subjects = {ends[key] for key in staying & ends.keys()}
    return {key for key in again & ends.keys() if ends[key] in subjects}


def _still_superseded(left: Sequence[PlanItem], excluded: Sequence[PlanItem]) -> set[Key]:
    """Memories to be current again whose place an excluded one has taken."""
    newer = {str(item.key) for item in excluded if item.kind == "memory"}
    return {
        _key(item)
        for item in left
        if item.kind == "memory" and item.reason in CHANGES and not newer.isdisjoint(item.evidence.get("links", ()))
    }


def _goes(item: PlanItem, selected: Selected) -> bool:
    return item.reason not in CHANGES and selected.going.has(item)


def _draft(rows: Items, plan: Plan, part: NarrowedPlan, earlier: Collection[Key]) -> PlanDraft:
    memories = sum(item.kind == "memory" and item.reason not in CHANGES for item in part.left)
    protected = [Protected(item.kind, item.key, EXCLUDED) for item in part.excluded]
    protected += [Protected(item.kind, item.key, KEPT_ALIVE) for item in part.kept_alive]
    staying = chain(earlier, map(_key, part.excluded), map(_key, part.kept_alive))
    return PlanDraft(
        items=part.left,
        protected=tuple(each for each in protected if each.kind in _NAMED[:-1]),
        warnings=rewarned(plan.warnings, _young(rows, plan, part.left), bool(part.left)),
        share=memories / plan.workspace_memories if plan.workspace_memories else 0.0,
        workspace_memories=plan.workspace_memories,
        narrowed_from=plan.narrowed_from or plan.id,
        excluded=tuple(staying),
    )


def _young(rows: Items, plan: Plan, items: Sequence[PlanItem]) -> int:
    """Return how many were new when the plan was made."""
    kinds: tuple[Kind, ...] = ("memory", "entity")
    wanted = {kind: {item.key for item in items if item.kind == kind} for kind in kinds}
    described = rows.describe({kind: keys for kind, keys in wanted.items() if keys})
    since = to_micros(plan.created_at - timedelta(days=YOUNG_DAYS))
    return sum(row.created_at is not None and row.created_at > since for row in described.values())


def _totals(rows: Items, plan: Plan, draft: PlanDraft) -> Totals:
    if plan.strategy == SECRETS:
        from memsweep.collector.redact import totals_of

        return totals_of(draft.items)
    return planned_totals(rows, draft.items, excluded_relations(draft.excluded))


def _key(item: PlanItem) -> Key:
    return item.kind, item.key
