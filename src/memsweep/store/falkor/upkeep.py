"""What keeps the knowledge graph in order: fading, merging, splitting. Every method is one transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from memsweep.errors import BadInput, Conflict
from memsweep.model.decay import Rates, age_days, faded
from memsweep.model.graph import Faded, Merged, Split
from memsweep.model.memory import NamedThing
from memsweep.model.plan import PlanItem
from memsweep.model.text import name_key
from memsweep.model.times import from_micros, to_micros
from memsweep.store import merge_plans
from memsweep.store.falkor import applying, gc_cypher, merging, merging_cypher, trash_cypher
from memsweep.store.falkor.auditing import audit
from memsweep.store.falkor.changes import FalkorChanges
from memsweep.store.falkor.naming import Names, find_key
from memsweep.store.falkor.surveying import at_one_moment
from memsweep.store.falkor.transaction import Change, Graph
from memsweep.store.falkor.wire import as_told
from memsweep.store.plans import MERGE, Planning

NewId = Callable[[str], str]


class FalkorUpkeep:
    """The part of `memsweep.store.protocol.Graph` that keeps it in order."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def decay(self, rates: Rates, now: datetime, *, store: bool) -> tuple[list[Faded], list[Faded]]:
        if not store:
            entities, relations = at_one_moment(self._graph, lambda asked: _fading(asked, rates, now))
        else:
            with self._graph.writing() as tx:
                entities, relations = _fading(tx, rates, now)
                tx.do(merging_cypher.STORE_CONFIDENCE, _to_store(entities))
                tx.do(merging_cypher.STORE_WEIGHT, _to_store(relations))
        return [fact for _, fact, _ in entities], [fact for _, fact, _ in relations]

    def plan_merge(
        self, names: Sequence[str], into: str, *, plan_id: str, actor: str, now: datetime, lifetime: timedelta
    ) -> Merged:
        with self._graph.writing() as tx:
            target = find_key(tx, into)
            sources = _sources(tx, names, target)
            versions = _versions(tx, sources)
            items = [PlanItem("entity", key, versions[key], "merged", {"into": target}) for key in sources]
            merge_plans.save(FalkorChanges(tx), items, Planning(plan_id, MERGE, now, lifetime))
            audit(tx, now, actor, "plan", plan_id, {}, MERGE)
            return merging.preview(tx, sources, target, plan_id)

    def merge(
        self,
        names: Sequence[str],
        into: str,
        rates: Rates,
        *,
        plan_id: str | None,
        receipt_id: str,
        actor: str,
        now: datetime,
    ) -> Merged:
        with self._graph.writing() as tx:
            plan = None
            if plan_id is None:
                target = find_key(tx, into)
                sources = _sources(tx, names, target)
            else:
                plan, target, sources = _planned_merge(tx, plan_id, now)
            receipt = tx.new_key()
            merge = merging.Merge(tx, receipt, target, sources, rates, now)
            merged = merge.run()
            counts = {"entities": len(merged), "relations": merge.relations}
            applying.add_receipt(tx, receipt, receipt_id, plan_id, "merge", MERGE, actor, now, counts)
            if plan is not None:
                tx.do(gc_cypher.USE_PLAN, [{"plan": plan, "receipt": receipt}])
            kept = merge.target
            audit(tx, now, actor, "merge", kept.id, counts, receipt_id)
            moved = (merge.mentions, merge.relations, merge.joined)
            return Merged(kept.id, kept.name, merged, *moved, plan_id or "", receipt_id)

    def split(
        self,
        entity: str,
        thing: NamedThing,
        relations: Sequence[str],
        memories: Sequence[str],
        *,
        new_id: NewId,
        actor: str,
        now: datetime,
    ) -> Split:
        with self._graph.writing() as tx:
            old = find_key(tx, entity)
            made = NamedThing(thing.name, thing.type or tx.ask(merging_cypher.TYPE_OF, key=old)[0][0])
            place = [name_key(made.name), name_key(made.type)]
            for _, taken, *_ in tx.ask(trash_cypher.LIVE_TWINS, names=[place]):
                raise Conflict(f"{thing.name!r:.60} exists already as {taken}.", hint="Choose another name or type.")
            tx.do(merging_cypher.DROP_ALIAS, [dict(zip(("name_key", "type_key"), place, strict=True))])
            uid, at = new_id("ent"), to_micros(now)
            added = Names(tx, ())
            new = added.add(made, uid, at, confidence=1.0, handed_in=True)
            seen = added.load_ids([_id_of(tx, old)])
            for known in seen.values():
                known.change(handed_in=True, confidence=1.0, last_seen=max(known.props["last_seen"], at))
            added.write()
            moved, mentions = merging.split(tx, old, new.key, relations, memories)
            if not moved and not mentions:
                raise BadInput("nothing of the entity was chosen; nothing was changed.", hint="Name some relations.")
            audit(tx, now, actor, "unmerge", uid, {}, entity)
            return Split(uid, thing.name, moved, mentions)


def _sources(tx: Change, names: Sequence[str], target: int) -> list[int]:
    keys = list(dict.fromkeys(find_key(tx, name) for name in names))
    if not keys or target in keys:
        raise BadInput("name the entities that go, and another one that they go into.")
    return keys


def _versions(tx: Change, keys: Sequence[int]) -> dict[int, int]:
    return {key: version for key, version, _ in tx.ask(gc_cypher.LIVE_ENTITIES, keys=list(keys))}


def _id_of(tx: Change, key: int) -> str:
    return FalkorChanges(tx).items.ids({"entity": [key]})["entity", key]


def _planned_merge(tx: Change, plan_id: str, now: datetime) -> tuple[int, int, list[int]]:
    """A saved merge, if all of it is as it was then: half a merge would be worse than none."""
    key, items = merge_plans.load(FalkorChanges(tx), plan_id, now)
    target = items[0].evidence["into"]
    versions = _versions(tx, [*(item.key for item in items), target])
    if any(versions.get(item.key) != item.version for item in items):
        raise Conflict(f"an entity of plan {plan_id} changed since it was made; nothing was merged.", hint="Plan anew.")
    if target not in versions:
        raise Conflict(f"what plan {plan_id} merges into is gone; nothing was merged.", hint="Plan anew.")
    return key, target, [item.key for item in items]


_Fading = list[tuple[int, Faded, float | None]]


def _fading(asked: Graph | Change, rates: Rates, now: datetime) -> tuple[_Fading, _Fading]:
    """Every entity, and every relation of known weight, with what it counts now and what is stored of that."""
    entities, relations = asked.ask_all((merging_cypher.ENTITY_BASES, {}), (merging_cypher.RELATION_BASES, {}))
    return _faded(entities, rates.of, now), _faded(relations, lambda _: rates.edge, now)


def _faded(rows: Sequence[Any], rate_of: Callable[[str], float], now: datetime) -> _Fading:
    return [
        (key, Faded(uid, name, kind, base, faded(base, rate_of(kind), age_days(from_micros(seen), now))), stored)
        for key, uid, name, kind, base, seen, stored in rows
    ]


def _to_store(fading: _Fading) -> list[dict[str, Any]]:
    return [{"key": key, "current": fact.current} for key, fact, stored in fading if stored != as_told(fact.current)]
