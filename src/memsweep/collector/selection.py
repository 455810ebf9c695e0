"""Choose the items of a plan that go: each is looked at again, and what depends on it follows; and parts of a plan."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from memsweep.collector.planner import YOUNG_DAYS, rewarned
from memsweep.collector.strategies.rule import keeps_fact
from memsweep.errors import BadInput, Conflict, NotFound
from memsweep.model.plan import (
    CHANGED_SINCE,
    CHANGES,
    GONE_SINCE,
    RETRACTED,
    Kind,
    Plan,
    PlanDraft,
    PlanItem,
    Protected,
    Selection,
    Survey,
    Totals,
)
from memsweep.model.reach import unreachable
from memsweep.model.strategies import SECRETS
from memsweep.model.text import counted
from memsweep.model.times import to_micros
from memsweep.store import plans
from memsweep.store.changes import Changes
from memsweep.store.items import Around, Items, LiveRow
from memsweep.store.plans import Planning, views
from memsweep.store.receipts import SavedPlan

if TYPE_CHECKING:
    from memsweep.collector.collect import CollectorDependencies


FILE_IS_BACK = "its file is there again, or cannot be looked at"
FOLDER_IS_GONE = "the folder that was indexed is missing, empty or unreadable now"
_SECOND_LOOK_SECONDS = 2.0
"""Others wait to write meanwhile, and a network drive may be slow."""

Place = tuple[int, str, str]
"""The key of a memory, the root of its index and the path of its file."""


def missing_files(places: Iterable[Place]) -> set[int]:
    """Keys of files that are certainly gone. A root that is missing, empty or unreadable says nothing about them."""
    return first_look(places).missing


@dataclass(frozen=True, slots=True)
class FirstLook:
    """A look at all files before anybody has to wait; those of a plan are looked for once more."""

    places: Sequence[Place] = ()
    doubts: Mapping[int, str] = field(default_factory=dict)

    @property
    def missing(self) -> set[int]:
        """Return the keys of files that are certainly gone."""
        return {key for key, doubt in self.doubts.items() if not doubt}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Return a sentence about each folder about whose files nothing can be said now."""
        unseen = Counter(root for key, root, _ in self.places if self.doubts[key] == FOLDER_IS_GONE)
        return tuple(
            f"{counted(count, 'file')} of {root} left out: the folder is missing, empty or unreadable."
            for root, count in sorted(unseen.items())
        )

    def kept(self, items: Sequence[PlanItem]) -> dict[int, str]:
        """Return the memories of a plan that may not go, since their files are not certainly gone, with the reason.

        Asked in the transaction of an apply. Where time does not allow a second look, the first decides.
        """
        planned = {item.key for item in items if item.kind == "memory" and item.reason == "missing_file"}
        deadline = time.monotonic() + _SECOND_LOOK_SECONDS
        again = _look(_until(deadline, [each for each in self.places if each[0] in planned]))
        return {key: doubt for key, doubt in {**self.doubts, **dict(again)}.items() if doubt and key in planned}


def first_look(places: Iterable[Place]) -> FirstLook:
    listed = list(places)
    return FirstLook(listed, dict(_look(listed)))


def _until(deadline: float, places: Iterable[Place]) -> Iterator[Place]:
    for place in places:
        if time.monotonic() >= deadline:
            return
        yield place


def _look(places: Iterable[Place]) -> Iterator[tuple[int, str]]:
    """For each file why it is not certainly gone, or nothing if it is."""
    standing: dict[str, bool] = {}
    for key, root, path in places:
        if root not in standing:
            standing[root] = _stands(root)
        yield key, (FILE_IS_BACK if not _is_gone(root, path) else "") if standing[root] else FOLDER_IS_GONE


def _stands(root: str) -> bool:
    try:
        with os.scandir(root) as entries:
            return next(entries, None) is not None
    except OSError:
        return False


def _is_gone(root: str, path: str) -> bool:
    try:
        return not stat.S_ISREG(os.lstat(os.path.join(root, path)).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False


_KINDS: tuple[Kind, ...] = ("memory", "chunk", "entity", "relation")
Names = tuple[tuple[str, str], ...]
Live = Mapping[tuple[Kind, int], LiveRow]


class Selected(NamedTuple):
    going: Selection
    skipped: tuple[tuple[str, str], ...]
    """The ids of what does not go, and why."""
    ids: tuple[str, ...] = ()
    """Of the memories and entities that go."""
    changes: tuple[PlanItem, ...] = ()
    """What stays as something else."""
    segments: tuple[tuple[int, int], ...] = ()
    """Each with its window."""
    retracted: tuple[PlanItem, ...] = ()
    """Of what goes: memories and facts whose acts are taken back with them."""


def planned_totals(rows: Items, items: Sequence[PlanItem], excluded: AbstractSet[int] = frozenset()) -> Totals:
    """Return the totals of a plan, with all that follows but for excluded relations, if nothing changes."""
    keys = _keys(items)
    chunks = keys["chunk"].union(rows.chunks_of(keys["memory"]))
    relations = keys["relation"] | _left_unstated(rows, keys["memory"])
    relations |= rows.relations_at(keys["entity"])
    relations -= excluded
    segments = sum(item.kind == "segment" for item in items)
    return Totals(len(keys["memory"]), len(chunks), len(keys["entity"]), len(relations), segments)


def select(
    rows: Items, items: Sequence[PlanItem], kept: Mapping[int, str], excluded: AbstractSet[int] = frozenset()
) -> Selected:
    """The items that are as they were when they were planned, and what goes with them.

    `kept` are memories that stay all the same, and why; `excluded` relations stay, and so do their ends.
    """
    changes = tuple(item for item in items if item.reason in CHANGES)
    segments = tuple((item.key, item.evidence["window"]) for item in items if item.kind == "segment")
    items = [item for item in items if item.reason not in CHANGES and item.kind != "segment"]
    keys = _keys(items)
    kept = {**_seen_since(rows, items), **_current_again(rows, items), **kept}
    originals = {item.evidence["kept"] for item in items if "kept" in item.evidence}
    live = rows.live({**keys, "memory": keys["memory"] | originals, "relation": keys["relation"] | excluded})
    memories = {item.key for item in items if item.kind == "memory" and _may_go(item, live)} - kept.keys()
    chunks = {key for key in keys["chunk"] if ("chunk", key) in live and not live["chunk", key].belongs_to}
    chunks.update(rows.chunks_of(memories))
    relations = (_relations(rows, items, live) | _left_unstated(rows, memories)) - excluded
    # After the relations: one that goes holds nothing, and one that was planned and stays holds its ends.
    staying = (live.get(("relation", key)) for key in (keys["relation"] | excluded) - relations)
    held = {end for row in staying if row is not None for end in row.belongs_to}
    wanted = [item.key for item in items if item.kind == "entity" and _is_same(item, live)]
    around = rows.around(wanted)
    around = around._replace(mentions=[pair for pair in around.mentions if pair not in _unmentioned(changes)])
    held |= _ends_of_stated(rows, around, memories, relations)
    entities = _without_hold(wanted, around, memories, relations, held)
    relations.update(key for key, left, right in around.relations if left in entities or right in entities)
    going = Selection(memories, chunks, entities, relations)
    ids = ids_of(rows, going.memories, going.entities)
    retracted = tuple(item for item in items if "acts" in item.evidence and going.has(item))
    return Selected(going, _skipped(rows, items, going, live, kept), ids, changes, segments, retracted)


def ids_of(rows: Items, memories: Collection[int], entities: Collection[int]) -> tuple[str, ...]:
    """Return the ids by which an act is found in the log afterwards."""
    return tuple(rows.ids({"memory": memories, "entity": entities}).values())


def ids_in(rows: Items, items: Iterable[PlanItem]) -> tuple[str, ...]:
    """The same, of what a plan names."""
    keys = _keys(items)
    return ids_of(rows, keys["memory"], keys["entity"])


def what_goes_with(rows: Items, memory: int, survey: Survey, going: Selection) -> tuple[Names, Names]:
    """Of what a memory mentions or states, the names and ids of what goes along, and of what stays."""
    entities = {entity for source, entity in survey.mentions if source == memory}
    relations = {relation for relation, _ in rows.stated_by([memory])}
    around = [PlanItem("entity", key, 0, "") for key in sorted(entities | going.entities)]
    around += [PlanItem("relation", key, 0, "") for key in sorted(relations | going.relations)]
    lost = {("entity", key) for key in going.entities} | {("relation", key) for key in going.relations}
    named = [(item, (view.name or "", view.id)) for item, view in zip(around, views(rows, around), strict=True)]
    gone = tuple(name for item, name in named if (item.kind, item.key) in lost)
    return gone, tuple(name for item, name in named if (item.kind, item.key) not in lost)


def _seen_since(rows: Items, items: Sequence[PlanItem]) -> dict[int, str]:
    """Memories that were planned because nobody had seen them, and somebody has: being read raises no version."""
    planned = {item.key: item.evidence["last_seen_at"] for item in items if item.reason == "not_seen"}
    seen = rows.last_seen(planned)
    return {key: "seen since the plan was made" for key in planned if seen.get(key, 0) > planned[key]}


def _current_again(rows: Items, items: Sequence[PlanItem]) -> dict[int, str]:
    """Memories that were planned because another one supersedes them, and none does any more."""
    planned = {item.key for item in items if item.reason == "superseded_memory"}
    return dict.fromkeys(planned - rows.superseded(planned), "no longer superseded")


def _unmentioned(changes: Sequence[PlanItem]) -> set[tuple[int, int]]:
    """Entities, each with a memory that will mention it no more."""
    return {(entity, item.key) for item in changes for entity in item.evidence.get("unmentioned", ())}


def _keys(items: Iterable[PlanItem]) -> dict[Kind, set[int]]:
    keys: dict[Kind, set[int]] = {kind: set() for kind in _KINDS}
    for item in items:
        if item.kind in keys and item.reason not in CHANGES:
            keys[item.kind].add(item.key)
    return keys


def _is_same(item: PlanItem, live: Live) -> bool:
    found = live.get((item.kind, item.key))
    return found is not None and found.version == item.version and not found.pinned


def _may_go(memory: PlanItem, live: Live) -> bool:
    """A duplicate goes only while what it repeats is there."""
    return _is_same(memory, live) and ("kept" not in memory.evidence or ("memory", memory.evidence["kept"]) in live)


def _relations(rows: Items, items: Sequence[PlanItem], live: Live) -> set[int]:
    """Planned relations that are as they were, but for those that a live memory keeps."""
    wanted = [item for item in items if item.kind == "relation" and _is_same(item, live)]
    stated = {relation for relation, _ in rows.sources([item.key for item in wanted])}
    return {item.key for item in wanted if not keeps_fact(item.reason, stated=item.key in stated)}


def _left_unstated(rows: Items, memories: AbstractSet[int]) -> set[int]:
    """Relations that nothing states once these memories are gone; what was given explicitly stands by itself."""
    stated = {relation for relation, explicit in rows.stated_by(memories) if not explicit}
    return stated - {relation for relation, memory in rows.sources(stated) if memory not in memories}


def _ends_of_stated(rows: Items, around: Around, memories: Collection[int], relations: Collection[int]) -> set[int]:
    """The ends of what stands because a live memory states it: it speaks of them."""
    ends = {relation: (left, right) for relation, left, right in around.relations if relation not in relations}
    stated = [(relation, memory) for relation, memory in rows.sources(ends.keys()) if memory not in memories]
    alone = {relation for relation, by_itself in rows.stated_by({memory for _, memory in stated}) if by_itself}
    return {end for relation, _ in stated if relation not in alone for end in ends[relation]}


def _without_hold(
    wanted: Sequence[int],
    around: Around,
    memories: Collection[int],
    relations: Collection[int],
    held: Collection[int],
) -> set[int]:
    """Planned entities that nothing has come to hold meanwhile: no mention, and no way to anything that lives."""
    roots = {*held} | {entity for entity, memory in around.mentions if memory not in memories}
    edges = [(left, right) for relation, left, right in around.relations if relation not in relations]
    inside = set(wanted)
    for left, right in edges:
        if left not in inside:
            roots.add(right)
        elif right not in inside:
            roots.add(left)
    return unreachable(wanted, edges, roots)


def _skipped(
    rows: Items, items: Sequence[PlanItem], going: Selection, live: Live, kept: Mapping[int, str]
) -> tuple[tuple[str, str], ...]:
    left = [item for item in items if not going.has(item)]
    ids = rows.ids({kind: keys for kind, keys in _keys(left).items() if keys}) if left else {}
    return tuple(
        (
            ids.get((item.kind, item.key)) or f"{item.kind} {item.key}",
            _why_skipped(
                item, live.get((item.kind, item.key)), kept.get(item.key, "") if item.kind == "memory" else ""
            ),
        )
        for item in left
    )


def _why_skipped(item: PlanItem, found: LiveRow | None, kept: str) -> str:
    if found is None:
        return GONE_SINCE
    if found.pinned:
        return "pinned since the plan was made"
    if item.kind == "chunk" or found.version != item.version:
        return CHANGED_SINCE
    return kept or "in use again since the plan was made"


# Memories that are asked for and are not there.


def no_memory(memory_id: object, workspace_id: str) -> NotFound:
    return NotFound(
        f"memory {memory_id!r:.80} does not exist in workspace {workspace_id!r}.",
        hint="Take an id from search_memory, and check the workspace.",
    )


def live_memory(rows: Items, memory_id: str, workspace_id: str) -> int:
    """The key of a memory that is not in the trash."""
    found = rows.find(memory_id)
    if found is None or found[0] != "memory":
        raise no_memory(memory_id, workspace_id)
    if found[2] is not None:
        raise NotFound(f"memory {memory_id} is in the trash.", hint=f"Bring it back with recover_memory {memory_id}.")
    return found[1]


def open_plan(tx: Changes, plan_id: str, now: datetime) -> tuple[SavedPlan, Plan, list[PlanItem]]:
    """A plan of the collector that can be applied now, with its items as they were saved."""
    saved, plan = plans.load_usable(tx, plan_id, now)
    if plan.strategy == plans.MERGE:
        raise Conflict(f"plan {plan_id} merges entities; merge_entities applies it.")
    items = tx.plans.items(saved.key)
    plans.refuse_altered(plan, items)
    return saved, plan, items


def excluded_relations(excluded: Iterable[tuple[Kind, int]]) -> frozenset[int]:
    """The others among them are in no plan, which is enough; a relation goes with its ends, too."""
    return frozenset(key for kind, key in excluded if kind == "relation")


# A part of a saved plan: exactly its items, but for those that somebody excludes and what these keep alive.
#
# Nothing is found anew, so a part never holds what nobody was shown. It lives no longer than the whole, and of a plan
# and its parts one is applied.


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
