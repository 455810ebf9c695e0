"""Apply: what a plan names and is still as it was then gets the label of the trash. Inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from types import MappingProxyType
from typing import Any

from memsweep.model.plan import PlanItem, Receipt, Totals, counts_of
from memsweep.model.reach import unreachable
from memsweep.model.times import to_micros
from memsweep.store.falkor import cypher, gc_cypher
from memsweep.store.falkor.transaction import Change
from memsweep.store.protocol import Check
from memsweep.store.stored import to_json


@dataclass
class Doomed:
    """The keys of what goes, and why the rest of the plan does not."""

    memories: set[int] = field(default_factory=set)
    chunks: set[int] = field(default_factory=set)
    entities: set[int] = field(default_factory=set)
    relations: set[int] = field(default_factory=set)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    segments: int = 0

    @property
    def totals(self) -> Totals:
        return Totals(len(self.memories), len(self.chunks), len(self.entities), len(self.relations), self.segments)


def planned(tx: Change, items: Sequence[PlanItem]) -> Totals:
    """What a plan would take, with all that follows, if nothing changes."""
    memories, chunks, entities, relations = ({item.key for item in items if item.kind == kind} for kind in _KINDS)
    if memories:
        chunks |= {key for (key,) in tx.ask(gc_cypher.CHUNKS_OF, keys=sorted(memories))}
    if memories:
        relations |= _unstated(tx, memories)
    if entities:
        relations |= {key for key, *_ in tx.ask(gc_cypher.EDGES_OF, keys=sorted(entities))}
    return Totals(len(memories), len(chunks), len(entities), len(relations))


_KINDS = ("memory", "chunk", "entity", "relation")


def doom(
    tx: Change,
    items: Sequence[PlanItem],
    check: Check | None,
    strategy: str = "",
    kept: Mapping[int, str] = MappingProxyType({}),
) -> Doomed:
    """Every item is looked at again; `check` may object to how many go. `kept` are memories that stay, and why."""
    doomed = Doomed()
    by_kind = {kind: [item for item in items if item.kind == kind] for kind in _KINDS}
    now = _Now(tx, by_kind)
    unchanged = {item.key for item in by_kind["memory"] if now.is_same(item) and now.is_repeated(item)}
    doomed.memories = unchanged - kept.keys()
    if check is not None:
        check(len(doomed.memories), tx.ask(gc_cypher.COUNT_MEMORIES)[0][0], "memories")
    doomed.chunks = {item.key for item in by_kind["chunk"] if now.lone.get(item.key)}
    if doomed.memories:
        doomed.chunks |= {key for (key,) in tx.ask(gc_cypher.CHUNKS_OF, keys=sorted(doomed.memories))}
        doomed.relations = _unstated(tx, doomed.memories)  # before the entities: a relation that goes holds nothing
    spared = _doom_relations(tx, doomed, by_kind["relation"], now)
    _doom_entities(tx, doomed, [item.key for item in by_kind["entity"] if now.is_same(item)], spared)
    if check is not None and strategy == "decayed":  # which takes no memories, and may still take most of what is known
        entities, relations = tx.ask_all((cypher.COUNT_ENTITIES, {}), (cypher.COUNT_RELATIONS, {}))
        check(len(doomed.entities), entities[0][0], "entities")
        check(len(doomed.relations), relations[0][0], "relations")
    gone = {
        "memory": doomed.memories,
        "chunk": doomed.chunks,
        "entity": doomed.entities,
        "relation": doomed.relations,
    }
    left = [item for item in items if item.key not in gone.get(item.kind, ())]
    doomed.skipped = now.why_skipped(left, kept)
    return doomed


class _Now:
    """How the items of a plan are now."""

    def __init__(self, tx: Change, by_kind: dict[str, list[PlanItem]]) -> None:
        self._tx = tx
        keys = {kind: [item.key for item in items] for kind, items in by_kind.items()}
        kept = {item.evidence["kept"] for item in by_kind["memory"] if "kept" in item.evidence}
        memories, entities, relations, chunks, there = tx.ask_all(
            (gc_cypher.LIVE_MEMORIES, {"keys": keys["memory"]}),
            (gc_cypher.LIVE_ENTITIES, {"keys": keys["entity"]}),
            (gc_cypher.LIVE_RELATIONS, {"keys": keys["relation"]}),
            (gc_cypher.LIVE_CHUNKS, {"keys": keys["chunk"]}),
            (gc_cypher.LIVE_MEMORIES, {"keys": sorted(kept)}),
        )
        self._rows: dict[str, dict[int, list[Any]]] = {
            "memory": {row[0]: row[1:] for row in memories},
            "entity": {row[0]: row[1:] for row in entities},
            "relation": {row[0]: row[1:] for row in relations},
            "chunk": {key: [uid, 0, False] for key, uid, _ in chunks},
        }
        self.ends = {row[0]: row[4:] for row in relations}
        self.lone = {key: memory is None for key, _, memory in chunks}
        self._kept = {row[0] for row in there}

    def is_same(self, item: PlanItem) -> bool:
        found = self._rows[item.kind].get(item.key)
        return found is not None and found[1] == item.version and not found[2]

    def is_repeated(self, item: PlanItem) -> bool:
        """A duplicate goes only while what it repeats is there."""
        return "kept" not in item.evidence or item.evidence["kept"] in self._kept

    def why_skipped(self, items: Sequence[PlanItem], kept: Mapping[int, str]) -> list[tuple[str, str]]:
        missing = [item for item in items if item.key not in self._rows.get(item.kind, {})]
        ids = self._trashed_ids(missing)
        said = []
        for item in items:
            found = self._rows.get(item.kind, {}).get(item.key)
            if found is None:
                uid = ids.get((item.kind, item.key)) or f"{item.kind} {item.key}"
                said.append((uid, "gone since the plan was made"))
            elif found[2]:
                said.append((found[0], "pinned since the plan was made"))
            else:
                same = item.kind != "chunk" and found[1] == item.version
                because = kept.get(item.key) if same and item.kind == "memory" else None
                said.append((found[0], because or f"{'in use again' if same else 'changed'} since the plan was made"))
        return said

    def _trashed_ids(self, items: Iterable[PlanItem]) -> dict[tuple[str, int], str]:
        found: dict[tuple[str, int], str] = {}
        labels = {"memory": "TrashedMemory", "entity": "TrashedEntity", "chunk": "TrashedChunk"}
        for kind, label in labels.items():
            keys = [item.key for item in items if item.kind == kind]
            rows = self._tx.ask(gc_cypher.of_label(gc_cypher.TRASHED_IDS, label), keys=keys) if keys else []
            found |= {(kind, key): uid for key, uid in rows}
        return found


def _unstated(tx: Change, memories: set[int]) -> set[int]:
    """Relations that nothing live states once these memories are gone."""
    stated = {key for key, *_ in tx.ask(gc_cypher.STATED_BY, keys=sorted(memories))}
    if not stated:
        return set()
    sources = tx.ask(gc_cypher.LIVE_SOURCES, keys=sorted(stated))
    return stated - {relation for relation, memory in sources if memory not in memories}


def _doom_relations(tx: Change, doomed: Doomed, items: Sequence[PlanItem], now: _Now) -> set[int]:
    """Planned relations that are as they were and that nothing states again; the ends of those that are not."""
    if not items:
        return set()
    stated = {relation for relation, _ in tx.ask(gc_cypher.LIVE_SOURCES, keys=[item.key for item in items])}
    going = {
        item.key for item in items if now.is_same(item) and (item.reason != "faded_relation" or item.key not in stated)
    }
    doomed.relations = doomed.relations | going
    return {end for key, ends in now.ends.items() if key not in going for end in ends}


def _doom_entities(tx: Change, doomed: Doomed, wanted: list[int], spared: set[int]) -> None:
    """Planned entities that nothing has come to hold meanwhile: no mention, and no way to anything that lives."""
    if not wanted:
        return
    mentioned, rows = tx.ask_all((gc_cypher.MENTIONED_BY, {"keys": wanted}), (gc_cypher.EDGES_OF, {"keys": wanted}))
    held = spared | {entity for entity, memory in mentioned if memory not in doomed.memories}
    edges = [(left, right) for key, left, right in rows if key not in doomed.relations]
    inside = set(wanted)
    for left, right in edges:
        if left not in inside:
            held.add(right)
        elif right not in inside:
            held.add(left)
    doomed.entities = unreachable(wanted, edges, held)
    doomed.relations |= {key for key, *ends in rows if doomed.entities.intersection(ends)}


def move(tx: Change, doomed: Doomed, receipt: int) -> None:
    """Into the trash: counts are those of what is moved, and the query does all of it or nothing."""
    # Relations first: their ends still have the label of the living.
    steps = (
        (gc_cypher.TRASH_RELATION, doomed.relations),
        (gc_cypher.TRASH_CHUNK, doomed.chunks),
        (gc_cypher.TRASH_MEMORY, doomed.memories),
        (gc_cypher.TRASH_ENTITY, doomed.entities),
    )
    for step, keys in steps:
        tx.do(step, [{"key": key, "trash": receipt} for key in sorted(keys)])


def write_receipt(
    tx: Change,
    doomed: Doomed,
    key: int,
    plan: tuple[int, str],
    *,
    uid: str,
    action: str,
    strategy: str,
    actor: str,
    now: datetime,
) -> Receipt:
    add_receipt(tx, key, uid, plan[1], action, strategy, actor, now, counts_of(doomed.totals), doomed.skipped)
    tx.do(gc_cypher.USE_PLAN, [{"plan": plan[0], "receipt": key}])
    return Receipt(uid, plan[1], strategy, doomed.totals, tuple(doomed.skipped), now)


def add_receipt(
    tx: Change,
    key: int,
    uid: str,
    plan_id: str | None,
    action: str,
    strategy: str,
    actor: str,
    now: datetime,
    counts: dict[str, int],
    skipped: Iterable[tuple[str, str]] = (),
    undone_at: int | None = None,
) -> None:
    row = {
        "key": key,
        "id": uid,
        "plan": plan_id,
        "action": action,
        "strategy": strategy,
        "actor": actor,
        "created_at": to_micros(now),
        "counts": to_json(counts),
        "skipped": to_json(list(skipped)),
        "undone_at": undone_at,
    }
    tx.do(gc_cypher.ADD_RECEIPT, [row])
