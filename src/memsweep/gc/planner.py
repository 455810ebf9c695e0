"""From a survey to a plan: what the rules name, minus what is protected, plus what loses its root. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memsweep.errors import Conflict
from memsweep.gc.roots import rooted_entities
from memsweep.gc.strategies import STRATEGIES, resolve
from memsweep.gc.strategies.rule import Options
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.model.plan import PERMANENT_TYPES, Draft, Found, PlanItem, Protected, Survey
from memsweep.model.reach import unreachable

YOUNG_DAYS = 1.0
CAP_SHARE = 0.5
CAP_FROM = 20


def needs_of(strategy: str) -> frozenset[str]:
    return frozenset(need for name in resolve(strategy) for need in STRATEGIES[name].needs)


def make_plan(survey: Survey, strategy: str, options: Options, workspace_id: str) -> Draft:
    found = {(item.kind, item.key): item for item in reversed(_found(survey, strategy, options))}
    return plan_of(survey, [*found.values()][::-1], options, workspace_id)


def plan_of(survey: Survey, found: Iterable[Found], options: Options, workspace_id: str) -> Draft:
    """A plan for exactly these things and what depends on them."""
    versions = _versions(survey)
    protected, chosen = [], []
    guard = _Guard(survey, options)
    for item in found:
        reason = guard.reason(item)
        if reason:
            protected.append(Protected(item.kind, item.key, reason))
        else:
            chosen.append(item)
    chosen += _left_without_root(survey, chosen, guard)
    items = tuple(PlanItem(f.kind, f.key, versions.get((f.kind, f.key), 0), f.reason, f.evidence) for f in chosen)
    removed = sum(item.kind == "memory" for item in items)
    total = len(survey.memories)
    return Draft(
        items=items,
        protected=tuple(protected),
        warnings=tuple(_warnings(survey, items, options, workspace_id)),
        share=removed / total if total else 0.0,
        workspace_memories=total,
    )


def check_cap(draft_share: float, workspace_memories: int, removed: int, *, allow_large: bool) -> None:
    """Refuse to take away more than half of a workspace unless that was asked for by name."""
    if allow_large or workspace_memories < CAP_FROM or draft_share <= CAP_SHARE:
        return
    raise Conflict(
        f"this would remove {removed:,} of {workspace_memories:,} memories ({draft_share:.0%} of the workspace,"
        f" more than {CAP_SHARE:.0%}); nothing was removed.",
        hint="Look at the plan; if it is right, pass allow_large=true.",
    )


def _found(survey: Survey, strategy: str, options: Options) -> list[Found]:
    return [item for name in resolve(strategy) for item in STRATEGIES[name].find(survey, options)]


class _Guard:
    """What may not be taken, whatever a rule says."""

    def __init__(self, survey: Survey, options: Options) -> None:
        self._memories = {row.key: row for row in survey.memories}
        self._entities = {row.key: row for row in survey.entities}
        self._young = options.micros_ago(options.grace_days) if options.grace_days > 0 else None

    def reason(self, item: Found) -> str:
        if item.kind == "chunk":
            return ""
        row = self._memories.get(item.key) if item.kind == "memory" else self._entities.get(item.key)
        if row is None:
            return "gone"
        if row.pinned:
            return "pinned"
        if item.kind == "entity" and self._entities[item.key].type_key in PERMANENT_TYPES:
            return "permanent type"
        if self._young is not None and row.created_at > self._young:
            return "within the grace period"
        return ""


def _left_without_root(survey: Survey, chosen: Sequence[Found], guard: _Guard) -> list[Found]:
    """Entities that had a root and lose it with the chosen memories."""
    removed = {item.key for item in chosen if item.kind == "memory"}
    if not removed:
        return []
    touched = {entity for memory, entity in survey.mentions if memory in removed}
    if not touched:
        return []
    nodes = [row.key for row in survey.entities]
    after = unreachable(nodes, survey.edges, rooted_entities(survey, removed))
    before = unreachable(nodes, survey.edges, rooted_entities(survey)) if after else set()
    known = {item.key for item in chosen if item.kind == "entity"}
    fallen = (Found("entity", key, "left_without_root") for key in sorted(after - before - known))
    return [item for item in fallen if not guard.reason(item)]


def _versions(survey: Survey) -> dict[tuple[str, int], int]:
    versions = {("memory", row.key): row.version for row in survey.memories}
    versions.update({("entity", row.key): row.version for row in survey.entities})
    return versions


def _warnings(survey: Survey, items: Sequence[PlanItem], options: Options, workspace_id: str) -> list[str]:
    warnings = []
    taken = {(item.kind, item.key) for item in items}
    young = options.micros_ago(YOUNG_DAYS)
    recent = sum(row.created_at > young and ("memory", row.key) in taken for row in survey.memories)
    recent += sum(row.created_at > young and ("entity", row.key) in taken for row in survey.entities)
    if recent:
        warnings.append(f"{recent} nodes are less than 24h old")
    if items and workspace_id == DEFAULT_WORKSPACE:
        warnings.append("WARNING: Deleting from default workspace")
    return warnings
