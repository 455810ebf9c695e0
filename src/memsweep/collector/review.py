"""Looking at what a collection would take: groups of a saved plan, previews without one, two plans side by side."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from memsweep.collector.collect import look_over, wanted_by
from memsweep.collector.planner import decide, needs_of
from memsweep.errors import Conflict
from memsweep.model.plan import (
    Folder,
    Kind,
    PlanDifference,
    PlanDraft,
    PlanGroup,
    PlanGroups,
    PlanItem,
    Preview,
    Survey,
    Totals,
)
from memsweep.store import plans
from memsweep.store.paused import gc_paused

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies
    from memsweep.collector.selection import FirstLook
    from memsweep.store.items import Described, Items


Place = tuple[str, str, str]
"""Of an indexed file: its root, its folder below that, and its name."""
_NO_FILE = ("", "", "")


def groups(tools: CollectorDependencies, plan_id: str, offset: int, limit: int, names: int) -> PlanGroups:
    """A saved plan by what goes together; up to so many `names` of what follows each item."""
    with tools.store.reading() as rows:
        saved, _ = plans.load(rows, plan_id)
        items = rows.plans.items(saved.key)
        found = grouped(items, _ties(rows.items, items))
        described = rows.items.describe({"memory": _memories(items)}) if _memories(items) else {}
        places = {group.root.key: _place(described, group.root) for group in found if group.root.kind == "memory"}
        ordered = sorted(found, key=lambda group: _order(places, group))
        folders = tuple(_folders(ordered, places, described))
        page = ordered[offset : offset + limit]
        return PlanGroups(tuple(_shown(rows.items, page, names, places)), len(ordered), folders)


def previews(tools: CollectorDependencies, strategies: Sequence[str], limit: int) -> list[Preview]:
    """Return what each of these strategies would take now, from one survey; nothing is saved."""
    needs = frozenset(need for strategy in strategies for need in needs_of(strategy))
    for strategy in strategies:
        wanted_by(strategy, None)  # which refuses what only a question can decide
    with gc_paused():
        survey, seen = look_over(tools, needs)
        return [_preview(tools, survey, seen, strategy, limit) for strategy in strategies]


def compare(tools: CollectorDependencies, earlier: str, later: str, limit: int) -> PlanDifference:
    """Return the items that one plan names and the other does not, both ways: up to `limit` of each."""
    with tools.store.reading() as rows:
        sides = [rows.plans.items(plans.load(rows, plan_id)[0].key) for plan_id in (earlier, later)]
        known = [{(item.kind, item.key) for item in side} for side in sides]
        gone = [item for item in sides[0] if (item.kind, item.key) not in known[1]]
        added = [item for item in sides[1] if (item.kind, item.key) not in known[0]]
        shown = [tuple(plans.views(rows.items, side[:limit])) for side in (added, gone)]
        return PlanDifference(shown[0], shown[1], len(added), len(gone), len(sides[1]) - len(added))


def _preview(tools: CollectorDependencies, survey: Survey, seen: FirstLook, strategy: str, limit: int) -> Preview:
    try:
        draft = decide(survey, strategy, tools.options(), tools.workspace_id)
    except Conflict as problem:
        return Preview(strategy, Totals(), workspace_memories=len(survey.memories), problem=str(problem))
    counts = {
        kind: sum(item.kind == kind for item in draft.items) for kind in ("memory", "chunk", "entity", "relation")
    }
    return Preview(
        strategy=strategy,
        totals=Totals(*counts.values()),
        item_count=len(draft.items),
        protected=len(draft.protected),
        groups=_first_groups(tools, survey, draft, limit),
        warnings=draft.warnings + (seen.left_out if "files" in needs_of(strategy) else ()),
        share=draft.share,
        workspace_memories=draft.workspace_memories,
    )


def _first_groups(tools: CollectorDependencies, survey: Survey, draft: PlanDraft, limit: int) -> tuple[PlanGroup, ...]:
    if not limit or not draft.items:
        return ()
    ties = Ties(survey.mentions, survey.stated, survey.links())
    page = grouped(draft.items, ties)[:limit]
    with tools.store.reading() as rows:
        described = rows.items.describe({"memory": _memories(group.root for group in page)})
        places = {group.root.key: _place(described, group.root) for group in page if group.root.kind == "memory"}
        return tuple(_shown(rows.items, page, limit, places))


def _ties(rows: Items, items: Sequence[PlanItem]) -> Ties:
    """Return the live connections between these items."""
    around = rows.around({item.key for item in items if item.kind == "entity"})
    facts = {item.key for item in items if item.kind == "relation"}
    ends = {relation: (left, right) for relation, left, right in around.relations}
    sources = rows.sources(facts | ends.keys())
    return Ties(
        mentions=[(memory, entity) for entity, memory in around.mentions],
        stated=[(memory, *ends[relation]) for relation, memory in sources if relation in ends],
        links=ends.values(),
        sources=sources,
    )


def _memories(items: Iterable[PlanItem]) -> set[int]:
    return {item.key for item in items if item.kind == "memory"}


def _place(described: Mapping[tuple[Kind, int], Described], item: PlanItem) -> Place:
    row = described.get((item.kind, item.key))
    if row is None or row.path is None:
        return _NO_FILE
    folder, _, name = row.path.rpartition("/")
    return str(row.root), folder, name


def _order(places: Mapping[int, Place], group: Group) -> tuple[bool, Place]:
    """Files by their places, all else after them in the order of the plan, for a sort is stable."""
    place = places.get(group.root.key, _NO_FILE) if group.root.kind == "memory" else _NO_FILE
    return place == _NO_FILE, place


def _folders(
    ordered: Sequence[Group], places: Mapping[int, Place], described: Mapping[tuple[Kind, int], Described]
) -> Iterable[Folder]:
    for (other, place), found in groupby(ordered, lambda group: _folder(places, group)):
        if not other:
            files = list(found)
            chunks = sum(described["memory", group.root.key].chunks for group in files)
            yield Folder(*place, len(files), chunks, sum(len(group.followers) for group in files))


def _folder(places: Mapping[int, Place], group: Group) -> tuple[bool, tuple[str, str]]:
    other, place = _order(places, group)
    return other, place[:2]


def _shown(rows: Items, page: Sequence[Group], names: int, places: Mapping[int, Place]) -> Iterable[PlanGroup]:
    roots = plans.views(rows, [group.root for group in page], beside=plans.BESIDE)
    some = [group.followers[:names] for group in page]
    others = iter(plans.views(rows, [item for each in some for item in each]))
    for group, root, first in zip(page, roots, some, strict=True):
        place = places.get(group.root.key, _NO_FILE) if group.root.kind == "memory" else _NO_FILE
        followers = tuple(next(others) for _ in first)
        yield PlanGroup(root, len(group.followers), followers, place[1] if place != _NO_FILE else None)


_FOLLOWING = {"left_without_root", "brought", "cleared"}
"""Reasons of entities and facts that may go because a memory does."""
Key = tuple[Kind, int]


class Ties(NamedTuple):
    """The connections between the items of a plan."""

    mentions: Iterable[tuple[int, int]] = ()
    """Memory and entity."""
    stated: Iterable[tuple[int, int, int]] = ()
    """A memory, and the ends of a fact that it states."""
    links: Iterable[tuple[int, int]] = ()
    """The ends of facts, whoever states them."""
    sources: Iterable[tuple[int, int]] = ()
    """A fact, and a memory that states it."""


class Group(NamedTuple):
    root: PlanItem
    followers: tuple[PlanItem, ...] = ()


def grouped(items: Sequence[PlanItem], ties: Ties) -> list[Group]:
    """Every item once, as a root or with the one that it follows from; the roots in the order of the plan."""
    causes = causes_of(items, ties)
    followers: dict[Key, list[PlanItem]] = defaultdict(list)
    for item in items:
        if (cause := causes.get((item.kind, item.key))) is not None:
            followers[cause].append(item)
    roots = [item for item in items if (item.kind, item.key) not in causes]
    return [Group(item, tuple(followers[item.kind, item.key])) for item in roots]


def causes_of(items: Sequence[PlanItem], ties: Ties) -> dict[Key, Key]:
    """The memory because of which an item goes: of several, the first in the plan, and the nearest."""
    place = {item.key: n for n, item in enumerate(items) if item.kind == "memory"}
    entities = [item.key for item in items if item.kind == "entity" and item.reason in _FOLLOWING]
    facts = {item.key for item in items if item.kind == "relation" and item.reason in _FOLLOWING}
    found: dict[Key, Key] = {}
    for entity, memory in _spread(entities, place, ties).items():
        found["entity", entity] = ("memory", memory)
    stated = [(place[memory], fact, memory) for fact, memory in ties.sources if fact in facts and memory in place]
    for _, fact, memory in sorted(stated):
        found.setdefault(("relation", fact), ("memory", memory))
    return found


def _spread(entities: Sequence[int], place: Mapping[int, int], ties: Ties) -> dict[int, int]:
    """From the entities that a memory speaks of to those that hang on them."""
    wanted = set(entities)
    spoken = [(place[memory], entity, memory) for memory, entity in ties.mentions if memory in place]
    spoken += [(place[memory], end, memory) for memory, *ends in ties.stated if memory in place for end in ends]
    found: dict[int, int] = {}
    for _, entity, memory in sorted(each for each in spoken if each[1] in wanted):
        found.setdefault(entity, memory)
    beside: dict[int, list[int]] = defaultdict(list)
    for left, right in ties.links:
        if left in wanted and right in wanted:
            beside[left].append(right)
            beside[right].append(left)
    waiting = deque(found)
    while waiting:
        here = waiting.popleft()
        for there in sorted(beside[here]):
            if there not in found:
                found[there] = found[here]
                waiting.append(there)
    return found
