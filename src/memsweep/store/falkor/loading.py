"""A graph taken in beside what is there: looked up page by page, decided in memory, written at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

from memsweep.model.contribution import Contribution, FactState
from memsweep.model.graph_exchange import differs, entity_with, import_event, imported, later_confirmed, relation_with
from memsweep.model.ids import is_own_id
from memsweep.model.text import name_key
from memsweep.model.times import micros_or_none, to_micros
from memsweep.model.whole_graph import ExportedEntity, ExportedRelation, GraphDump, Imported
from memsweep.store.falkor import cypher, whole_graph_cypher
from memsweep.store.falkor.auditing import add_event
from memsweep.store.falkor.naming import Known, fact_state
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.surveying import pages
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.wire import as_returned
from memsweep.store.falkor.words import told
from memsweep.store.journals import note

NewId = Callable[[str], str]
NameKeys = tuple[str, str]
Place = tuple[int, str, int, int | None]
"""The ends and the kind of a relation, and when it ended."""


class Loader:
    """One import: which node each id of the file stands for."""

    def __init__(self, tx: Transaction, dump: GraphDump, new_id: NewId, origin: int | None) -> None:
        self._tx, self._dump, self._new_id, self._origin = tx, dump, new_id, origin
        self._acts: list[Contribution] = []
        self._now = 0
        self._entities: dict[NameKeys, Known] = {}
        self._relations: dict[Place, Known] = {}
        self._of_file: dict[str, Known] = {}
        self._taken: set[str] = set()
        self._entities_created = self._relations_created = 0

    def load(self, actor: str, now: datetime) -> Imported:
        self._now = to_micros(now)
        self._look_up_entities()
        for thing in self._dump.entities:
            self._entity(thing)
        self._look_up_relations()
        for fact in self._dump.relations:
            self._relation(fact)
        done = imported(self._dump, self._entities_created, self._relations_created)
        add_event(self._tx, import_event(done, self._write(), actor, now))
        return done

    def _look_up_entities(self) -> None:
        names = ("name_key", "type_key", "confidence", "handed_in", "pinned", "created_at", "last_seen", "id")
        wanted = {name_key(thing.name) for thing in self._dump.entities}
        for key, *rest in pages(self._tx, whole_graph_cypher.LOAD_ENTITIES, names=sorted(wanted)):
            props = dict(zip(names, rest, strict=True))
            self._entities[props["name_key"], props["type_key"]] = Known(key, props)
        unknown = (thing for thing in self._dump.entities if _names(thing) not in self._entities)
        ids = sorted({thing.id for thing in unknown if is_own_id(thing.id, "ent")})
        for query in (whole_graph_cypher.ENTITY_IDS, whole_graph_cypher.GONE_ENTITY_IDS):
            self._taken |= {uid for (uid,) in pages(self._tx, query, ids=ids)}

    def _look_up_relations(self) -> None:
        names = ("weight", "evidence", "handed_in", "created_at", "last_seen", "valid_at")
        subjects = (self._of_file[fact.source] for fact in self._dump.relations)
        keys = sorted({entity.key for entity in subjects if not entity.is_new})
        for key, subject, kind, target, invalid, *rest in pages(self._tx, whole_graph_cypher.LOAD_RELATIONS, keys=keys):
            known = Known(key, {**dict(zip(names, rest, strict=True)), "invalid_at": invalid})
            self._relations.setdefault((subject, kind, target, invalid), known)
        unknown = (fact for fact in self._dump.relations if self._place(fact) not in self._relations)
        ids = sorted({fact.id for fact in unknown if is_own_id(fact.id, "rel")})
        self._taken |= {uid for (uid,) in pages(self._tx, whole_graph_cypher.RELATION_IDS, ids=ids)}
        self._taken |= {uid for (uid,) in self._tx.ask(whole_graph_cypher.TRASHED_RELATION_IDS)} if ids else set()

    def _entity(self, thing: ExportedEntity) -> None:
        place = _names(thing)
        known = self._entities.get(place)
        if known is None:
            known = self._entities[place] = self._made(
                id=self._free_id("ent", thing.id),
                name=thing.name,
                name_key=place[0],
                type=thing.type,
                type_key=place[1],
                confidence=thing.confidence,
                handed_in=thing.handed_in,
                pinned=thing.pinned,
                created_at=to_micros(thing.created_at),
                last_seen=to_micros(thing.last_seen),
            )
            self._entities_created += 1
        else:
            _change(known, entity_with(known.props, thing, _later))
        self._of_file[thing.id] = known

    def _relation(self, fact: ExportedRelation) -> None:
        place = self._place(fact)
        known = self._relations.get(place)
        if known is None:
            made = self._made(
                id=self._free_id("rel", fact.id),
                relation=fact.relation,
                relation_key=place[1],
                told=told(place[1]),
                weight=fact.weight,
                evidence=fact.evidence,
                handed_in=fact.handed_in,
                created_at=to_micros(fact.created_at),
                last_seen=to_micros(fact.last_seen),
                valid_at=micros_or_none(fact.valid_at),
                invalid_at=place[3],
            )
            self._relations[place] = made
            self._relations_created += 1
            self._note(made, None)
            return
        before = fact_state(known.props)
        _change(known, relation_with(known.props, fact, _later))
        if fact_state(known.props) != before:
            self._note(known, before)

    def _note(self, relation: Known, before: FactState | None) -> None:
        after, by = fact_state(relation.props), self._origin
        self._acts.append(Contribution(relation.key, "set", self._now, origin=by, before=before, after=after))

    def _aliases(self) -> list[dict[str, Any]]:
        """Other names of what was taken in: a name that an entity has is no other name of another."""
        aliases = [
            (thing, name, kind) for thing in self._dump.entities for name, kind in json.loads(thing.aliases or "[]")
        ]
        if not aliases:
            return []
        places = {(name_key(name), name_key(kind)) for _, name, kind in aliases}
        named = pages(self._tx, whole_graph_cypher.LOAD_ENTITIES, names=sorted({name for name, _ in places}))
        taken = {*self._entities, *((row[1], row[2]) for row in named)}
        taken |= {(name, kind) for _, name, kind, _ in self._tx.ask(whole_graph_cypher.ALIASES)}
        rows = []
        for thing, name, kind in aliases:
            place = name_key(name), name_key(kind)
            if place not in taken:
                taken.add(place)
                key = self._of_file[thing.id].key
                rows.append({"name_key": place[0], "type_key": place[1], "name": name, "entity": key})
        return rows

    def _write(self) -> tuple[str, ...]:
        """The ids of entities that are new, or not as they were."""
        entities, relations = self._entities.values(), self._relations.values()
        aliases = self._aliases()
        self._tx.do(cypher.ADD_ENTITY, [entity.props for entity in entities if entity.is_new])
        self._tx.do(cypher.SEE_ENTITY, _changes(entities))
        added = [(place, each) for place, each in self._relations.items() if each.is_new]
        self._tx.do(
            cypher.ADD_RELATION,
            [{"subject": subject, "object": target, "set": each.props} for (subject, _, target, _), each in added],
        )
        self._tx.do(cypher.CHANGE_RELATION, _changes(relations))
        self._tx.do(whole_graph_cypher.ADD_ALIAS, aliases)
        note(FalkorRows(self._tx), self._acts)
        renamed = {alias["entity"] for alias in aliases}
        return tuple(each.props["id"] for each in entities if each.is_new or each.set or each.key in renamed)

    def _place(self, fact: ExportedRelation) -> Place:
        ends = self._of_file[fact.source].key, self._of_file[fact.target].key
        return ends[0], name_key(fact.relation), ends[1], micros_or_none(fact.invalid_at)

    def _made(self, **props: Any) -> Known:
        key = self._tx.new_key()
        return Known(key, {"key": key, "version": 1, "origin": self._origin, **props}, is_new=True)

    def _free_id(self, prefix: str, wanted: str) -> str:
        """The id of the file where it is one of ours and free, trash included; else a new one."""
        free = is_own_id(wanted, prefix) and wanted not in self._taken
        chosen = wanted if free else self._new_id(prefix)
        self._taken.add(chosen)
        return chosen


def _names(thing: ExportedEntity) -> NameKeys:
    return name_key(thing.name), name_key(thing.type)


def _change(known: Known, after: Mapping[str, Any]) -> None:
    """Only what becomes different is a change."""
    if differs(known.props, after):
        known.change(**after)


def _changes(known: Iterable[Known]) -> list[dict[str, Any]]:
    changed = [each for each in known if each.set and not each.is_new]
    return [{"key": each.key, "set": each.set, "times": each.times} for each in changed]


def _later(ours: float | None, our_time: int, theirs: float | None, their_time: int) -> float | None:
    """The server tells fifteen digits: a weight that agrees in them is the same."""
    same = ours is not None and theirs is not None and as_returned(ours) == as_returned(theirs)
    return later_confirmed(ours, our_time, ours if same else theirs, their_time)
