"""From a survey to a plan: what the rules name, minus what is protected, plus what loses its root. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from memsweep.collector.strategies import duplicates, entities, memories
from memsweep.collector.strategies.rule import Options, liveness, protection
from memsweep.errors import BadInput, Conflict
from memsweep.model.ids import DEFAULT_WORKSPACE
from memsweep.model.plan import (
    CHANGES,
    IN_TRASH,
    RETRACTED,
    Found,
    Kind,
    PlanDraft,
    PlanItem,
    Protected,
    Survey,
    SurveyedEntity,
    SurveyedMemory,
    SurveyedRelation,
    Totals,
)
from memsweep.model.strategies import ALIASES, ALL, COLLECTED, NAMES

Need = Literal[
    "graph",
    "unmentioned graph",
    "relations",
    "statements",
    "ways",
    "lone chunks",
    "chunk counts",
    "texts",
    "files",
    "supersessions",
    "origins",
]
Rule = Callable[[Survey, Options], Iterable[Found]]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A rule and what it must see; every survey has the memories."""

    find: Rule
    needs: frozenset[Need] = frozenset()
    capped: tuple[Kind, ...] = ("memory",)
    """Of what it may not take more than half unless that was asked for."""


# What removes memories may leave entities without a root, so it must see the graph, and which memory states what.
CASCADE: frozenset[Need] = frozenset({"graph", "statements"})
STRATEGIES: dict[str, Strategy] = {
    "stale_code": Strategy(memories.stale_code, CASCADE),
    "missing_files": Strategy(memories.missing_files, CASCADE | {"files"}),
    "orphaned_chunks": Strategy(entities.orphaned_chunks, frozenset({"lone chunks"})),
    "orphaned_entities": Strategy(entities.orphaned_entities, frozenset({"graph"})),
    # It takes no memories, so what one of them speaks of stays as it is.
    "unreachable_entities": Strategy(entities.unreachable_entities, frozenset({"unmentioned graph", "statements"})),
    "expired": Strategy(memories.expired, CASCADE),
    "empty_memories": Strategy(memories.empty_memories, CASCADE | {"chunk counts"}),
    "duplicates": Strategy(duplicates.find, CASCADE | {"texts", "supersessions", "chunk counts"}),
    # It takes no memories, and may still take most of what is known.
    "decayed": Strategy(entities.decayed, frozenset({"relations"}), ("memory", "entity", "relation")),
    "superseded": Strategy(memories.superseded, CASCADE | {"relations", "supersessions"}),
    "origin": Strategy(memories.contributed, CASCADE | {"relations", "origins"}, ("memory", "entity", "relation")),
}


def resolve(name: str) -> tuple[str, ...]:
    """The strategies behind a name."""
    if name == "all":
        return ALL
    name = ALIASES.get(name, name)
    if name not in STRATEGIES:
        raise BadInput(f"Invalid strategy {name!r:.60}. Valid: {', '.join(NAMES)}")
    return (name,)


YOUNG_DAYS = 1.0
CAP_SHARE = 0.5
CAP_FROM = 20
KINDS: tuple[Kind, ...] = ("memory", "entity", "relation")
"""What the cap counts."""
_PLURALS = {"memory": "memories", "entity": "entities", "relation": "relations"}

_YOUNG = " nodes are less than 24h old"
_DEFAULT = "WARNING: Deleting from default workspace"
_BY_ROOTS = {"orphaned_entities", "unreachable_entities"}


def needs_of(strategy: str) -> frozenset[str]:
    return frozenset(need for name in resolve(strategy) for need in STRATEGIES[name].needs)


def needs_of_plan(strategy: str) -> frozenset[str]:
    """The same for what a saved plan says, which may be no strategy of the collector."""
    return needs_of(strategy) if strategy in COLLECTED else frozenset()


def capped_by_plan(strategy: str) -> tuple[Kind, ...]:
    """Of what a saved plan may not take more than half."""
    names = resolve(strategy) if strategy in COLLECTED else ()
    return tuple(dict.fromkeys(kind for name in names for kind in STRATEGIES[name].capped)) or ("memory",)


class PlanPart(NamedTuple):
    """The part of the findings that a plan takes: about `at_most` things, and none that is not among `only`."""

    at_most: int | None = None
    only: Collection[tuple[Kind, int]] | None = None

    def has(self, item: Found) -> bool:
        return self.only is None or (item.kind, item.key) in self.only

    def of(self, chosen: list[Found]) -> list[Found]:
        """The first memories and chunks; entities wait until none is left, then go together: components fall whole."""
        if self.at_most is None:
            return chosen
        return [item for item in chosen if item.kind != "entity"][: self.at_most] or chosen


WHOLE = PlanPart()


def make_plan(survey: Survey, strategy: str, options: Options, workspace_id: str, part: PlanPart = WHOLE) -> PlanDraft:
    """Return the draft of what a strategy names, or a part of it."""
    return plan_of(survey, _found(survey, strategy, options).values(), options, workspace_id, part)


def decide(survey: Survey, strategy: str, options: Options, workspace_id: str, part: PlanPart = WHOLE) -> PlanDraft:
    """The same, but nothing is planned where the survey cannot be right."""
    check_roots(survey, strategy, options)
    return make_plan(survey, strategy, options, workspace_id, part)


def decide_together(
    survey: Survey, strategies: Iterable[str], options: Options, workspace_id: str
) -> tuple[PlanDraft, dict[str, int]]:
    """Return what several strategies name, as one plan, and how much each of them names."""
    found: dict[tuple[Kind, int], Found] = {}
    named_by = {}
    for strategy in strategies:
        check_roots(survey, strategy, options)
        named = _found(survey, strategy, options)
        named_by[strategy] = len(named)
        found = {**named, **found}
    return plan_of(survey, found.values(), options, workspace_id), named_by


def plan_of_all(survey: Survey, options: Options, workspace_id: str) -> PlanDraft:
    """Everything that is not pinned and that nothing pinned holds; having been handed in holds nothing here."""
    unpinned = [row.key for row in survey.memories if not row.pinned]
    dead, protected = liveness(survey, options, unpinned, explicit=False)
    found = [Found("memory", row.key, "cleared") for row in survey.memories]
    found += [Found("chunk", key, "cleared") for key, _ in survey.lone_chunks]
    found += [Found("entity", row.key, "cleared") for row in survey.entities if row.key in dead or row.key in protected]
    return plan_of(survey, found, options, workspace_id)


def plan_of(
    survey: Survey, found: Iterable[Found], options: Options, workspace_id: str, part: PlanPart = WHOLE
) -> PlanDraft:
    """A plan for exactly these things and what depends on them."""
    found, total = list(filter(part.has, found)), len(survey.memories)
    if not found:
        return PlanDraft((), (), (), 0.0, total)
    rows = _by_kind(survey)
    chosen, protected = _sorted_out(found, rows, options)
    chosen = part.of(_newest_first(chosen, rows))
    if options.contributed is None and (fallen := _left_without_root(survey, chosen, options)):
        known = {item.key for item in chosen if item.kind == "entity"}
        known |= {item.key for item in protected if item.kind == "entity"}
        others = (item for item in fallen if item.key not in known and part.has(item))
        more, also = _sorted_out(others, rows, options)
        chosen, protected = chosen + more, protected + also
    items = tuple(_item(item, _row(rows, item)) for item in chosen)
    removed = sum(item.kind == "memory" and item.reason not in CHANGES for item in items)
    return PlanDraft(
        items=items,
        protected=tuple(protected),
        warnings=tuple(_warnings(rows, items, options, workspace_id)),
        share=removed / total if total else 0.0,
        workspace_memories=total,
    )


def over_cap(removed: Totals, there: Mapping[Kind, int], kinds: Iterable[Kind], before: Totals | None = None) -> str:
    """Return of what this would take more than half, with what went `before` on the same day; empty if of nothing."""
    counts, gone = _counts(removed), _counts(before or Totals())
    for kind in kinds:
        going, went = counts[kind], gone[kind]
        of = there[kind] + went
        if of >= CAP_FROM and going and going + went > CAP_SHARE * of:
            left = max(0, int(CAP_SHARE * of) - went)
            beside, rest = (
                (f" with {went:,} that went in the last 24 hours", f"; {left:,} more may go") if went else ("", "")
            )
            share = f"{(going + went) / of:.0%} of the workspace{beside}, more than {CAP_SHARE:.0%}{rest}"
            return f"{going:,} of {there[kind]:,} {_PLURALS[kind]} ({share})"
    return ""


def _counts(totals: Totals) -> dict[Kind, int]:
    return {"memory": totals.memories, "entity": totals.entities, "relation": totals.relations}


def refuse_over_cap(
    removed: Totals, there: Mapping[Kind, int], kinds: Iterable[Kind], before: Totals | None = None
) -> None:
    """Refuse to take away more than half of a workspace in a day."""
    if what := over_cap(removed, there, kinds, before):
        raise Conflict(
            f"this would remove {what}; nothing was removed.",
            hint="Look at the plan; if it is right, pass allow_large=true.",
        )


def check_roots(survey: Survey, strategy: str, options: Options) -> None:
    """Refuse a plan where nothing at all is a root: then the mentions are lost rather than all entities dead.

    A handful of entities may well be dead together; beyond that an empty root set is an error.
    """
    if len(survey.entities) < CAP_FROM or _BY_ROOTS.isdisjoint(resolve(strategy)):
        return
    if survey.mentions or survey.stated or any(row.explicit or protection(row, options) for row in survey.entities):
        return
    raise Conflict(
        f"none of the {len(survey.entities):,} entities has a root: no live memory mentions one, none is pinned or was"
        " handed in. That cannot be right; nothing was planned.",
        hint="Index or remember again what they come from; clear_all removes everything.",
    )


def _found(survey: Survey, strategy: str, options: Options) -> dict[tuple[Kind, int], Found]:
    found: dict[tuple[Kind, int], Found] = {}
    for name in resolve(strategy):
        for item in STRATEGIES[name].find(survey, options):
            found.setdefault((item.kind, item.key), item)
    return found


_Row = SurveyedMemory | SurveyedEntity | SurveyedRelation
_Rows = Mapping[Kind, Mapping[int, _Row]]


def _by_kind(survey: Survey) -> _Rows:
    return {
        "memory": {row.key: row for row in survey.memories},
        "entity": {row.key: row for row in survey.entities},
        "relation": {row.key: row for row in survey.relations},
    }


def _row(rows: _Rows, item: Found | PlanItem) -> _Row | None:
    return rows[item.kind].get(item.key) if item.kind in rows else None


def _sorted_out(found: Iterable[Found], rows: _Rows, options: Options) -> tuple[list[Found], list[Protected]]:
    """Return the items that may be taken, and the protected ones."""
    chosen, protected = [], []
    for item in found:
        if reason := _objection(item, rows, options):
            protected.append(Protected(item.kind, item.key, reason))
        else:
            chosen.append(item)
    return chosen, protected


def _objection(item: Found, rows: _Rows, options: Options) -> str:
    """Why an item may not be taken; a relation has the protection of its subject."""
    row = _row(rows, item)
    if item.reason == IN_TRASH:
        return ""
    if isinstance(row, SurveyedRelation) and item.reason in RETRACTED:
        return ""  # about whomever it is, it goes with who said it
    if row is not None and item.reason in CHANGES:
        return ""  # a pin keeps a memory, not what somebody made of it
    if isinstance(row, SurveyedRelation):
        subject = rows["entity"].get(row.subject)
        reason = protection(subject, options) if isinstance(subject, SurveyedEntity) else ""
        return reason and f"its subject: {reason}"
    if row is None:
        return "" if item.kind in ("chunk", "segment") else "gone"
    return protection(row, options)


def _newest_first(chosen: list[Found], rows: _Rows) -> list[Found]:
    """The memories by age, the newest first; what else there is follows as it was found."""

    def age(item: Found) -> tuple[bool, int]:
        row = _row(rows, item)
        return (False, -row.created_at) if isinstance(row, SurveyedMemory) else (True, 0)

    return sorted(chosen, key=age)


def _left_without_root(survey: Survey, chosen: Sequence[Found], options: Options) -> list[Found]:
    """Entities that had a root and lose it with the chosen memories; those among them that are protected, too."""
    removed = {item.key for item in chosen if item.kind == "memory"}
    if not removed:
        return []
    touched = any(memory in removed for memory, _ in survey.mentions)
    if not touched and not any(memory in removed for memory, _, _ in survey.stated):
        return []
    after = liveness(survey, options, removed)
    if not after.dead and not after.protected:
        return []
    before = liveness(survey, options)
    fallen = (after.dead - before.dead) | (after.protected - before.protected)
    return [Found("entity", key, "left_without_root") for key in sorted(fallen)]


def _item(found: Found, row: _Row | None) -> PlanItem:
    return PlanItem(found.kind, found.key, 0 if row is None else row.version, found.reason, found.evidence)


def _warnings(rows: _Rows, items: Sequence[PlanItem], options: Options, workspace_id: str) -> list[str]:
    young = options.micros_ago(YOUNG_DAYS)
    taken = (_row(rows, item) for item in items)
    recent = sum(isinstance(row, SurveyedMemory | SurveyedEntity) and row.created_at > young for row in taken)
    warnings = [f"{recent}{_YOUNG}"] if recent else []
    if items and workspace_id == DEFAULT_WORKSPACE:
        warnings.append(_DEFAULT)
    return warnings


def rewarned(warnings: Sequence[str], recent: int, takes_something: bool) -> tuple[str, ...]:
    """The warnings of a plan as those of a part of it, which takes so many new things."""
    others = [said for said in warnings if not said.endswith(_YOUNG) and (takes_something or said != _DEFAULT)]
    return (f"{recent}{_YOUNG}", *others) if recent else tuple(others)
