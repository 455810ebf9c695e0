"""The graph of a workspace as it is carried away, and one that is taken in beside what is there: steps and rules."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from memsweep.graph.relating import Handled, state_of
from memsweep.model.audit import AuditEvent
from memsweep.model.contribution import Contribution, FactState
from memsweep.model.graph import ExportedEntity, ExportedRelation, GraphDump, Imported
from memsweep.model.graph_rows import Alias, Name
from memsweep.model.ids import is_own_id
from memsweep.model.text import name_key, to_json
from memsweep.model.times import from_micros, micros_or_none, to_micros
from memsweep.store.journals import note
from memsweep.store.paused import gc_paused
from memsweep.store.rows import Find, Values, Where
from memsweep.store.things.graph import EntityRow, RelationRow

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from memsweep.model.plan import Operation
    from memsweep.store.changes import Changes
    from memsweep.store.graph import Graph
    from memsweep.store.rows import Rows


_PAGE, _AT_ONCE = 10_000, 4
_MERGED = ("confidence", "explicit", "pinned", "created_at", "last_seen", "version")
_CARRIED = ("explicit", "created_at", "last_seen")
_CARRIED_ENTITY = (
    "name_key",
    "type_key",
    "key",
    "id",
    "name",
    "type",
    "confidence",
    "explicit",
    "pinned",
    *_CARRIED[1:],
)
_CARRIED_RELATION = (
    "subject", "relation_key", "object", "id", "relation", "weight", "evidence", *_CARRIED, "valid_at", "invalid_at"
)  # fmt: skip
_JOINED = ("weight", "evidence", "explicit", "created_at", "last_seen", "version")


def dump(store: Graph) -> GraphDump:
    """Return all that is stored of the live graph, in the order of names, which does not depend on the store."""
    with gc_paused():
        return store.at_one_moment(lambda reads: _dump(reads.rows))


def load(tx: Changes, given: GraphDump, doing: Operation, new_id: Callable[[str], str], origin: int | None) -> Imported:
    """Take a graph in beside what is there, all of it or nothing. Of two the later confirmed counts."""
    with gc_paused():
        return _Import(tx, given, to_micros(doing.now), new_id, origin).run(doing)


def _dump(rows: Rows) -> GraphDump:
    """A fact whose end is in the trash, or gone, is not part of a graph that can be carried away."""
    keys = sorted(key for (key,) in rows.ask(Values(EntityRow, ("key",)))[0])
    entities = sorted(map(tuple, _paged(rows, EntityRow, "key", keys, columns=_CARRIED_ENTITY)))
    places = {key: (place, uid) for place, (*_, key, uid, _, _, _, _, _, _, _) in enumerate(entities)}
    others: dict[int, list[Alias]] = defaultdict(list)
    for alias in rows.ask(Find(Alias, order=("name_key", "type_key")))[0]:
        others[alias.entity].append(alias)
    facts = [
        (places[begin], kind, places[end], *first, uid, said)
        for begin, kind, end, uid, *said in _paged(rows, RelationRow, "subject", keys, columns=_CARRIED_RELATION)
        if end in places
        for first in [_first(*said[-2:])]
    ]
    facts.sort()
    return GraphDump(
        tuple(entity_row(each[3:], _as_text(others.get(each[2], ()))) for each in entities),
        tuple(relation_row((uid, begin, end, *said)) for (_, begin), _, (_, end), _, _, uid, said in facts),
    )


def _first(valid: int | None, invalid: int | None) -> tuple[tuple[bool, int], tuple[bool, int]]:
    """Let what has no moment come first."""
    return (invalid is not None, invalid or 0), (valid is not None, valid or 0)


def _as_text(aliases: Iterable[Alias]) -> str | None:
    pairs = [[alias.name, alias.type_key] for alias in aliases]
    return to_json(pairs) if pairs else None


def _paged(
    rows: Rows, row: type[Any], column: str, values: Iterable[Any], *where: Where, columns: tuple[str, ...] = ()
) -> Iterator[Any]:
    """Return live rows for a long list, some of it at a time; a graph is at the next ones while some are read."""
    every = sorted(values)
    wanted = [((column, "in", every[start : start + _PAGE]), *where) for start in range(0, len(every), _PAGE)]
    reads = [
        Values(row, columns, each, near="live") if columns else Find(row, each, order=(), near="live")
        for each in wanted
    ]
    for start in range(0, len(reads), _AT_ONCE):
        for found in rows.ask(*reads[start : start + _AT_ONCE]):
            yield from found


Place = tuple[Handled, str, Handled, int | None]
"""The ends and the kind of a relation, and when it ended."""


class _Import:
    """One import: what each id of the file stands for."""

    def __init__(
        self, tx: Changes, given: GraphDump, now: int, new_id: Callable[[str], str], origin: int | None
    ) -> None:
        self._tx, self._given, self._now, self._new_id, self._origin = tx, given, now, new_id, origin
        self._entities: dict[Name, Handled] = {}
        self._relations: dict[Place, Handled] = {}
        self._of_file: dict[str, Handled] = {}
        self._taken: set[str] = set()
        self._acts: list[tuple[Handled, FactState | None]] = []

    def run(self, doing: Operation) -> Imported:
        self._look_up_entities()
        for thing in self._given.entities:
            self._entity(thing)
        self._look_up_relations()
        for fact in self._given.relations:
            self._relation(fact)
        aliases = self._aliases()
        new = [sum(each.is_new for each in known.values()) for known in (self._entities, self._relations)]
        done = imported(self._given, *new)
        renamed = {id(entity) for entity, _ in aliases}
        touched = [each for each in self._entities.values() if each.is_new or each.is_changed or id(each) in renamed]
        self._write(aliases)
        self._tx.audit(import_event(done, tuple(each.row.id for each in touched), doing.actor, doing.now))
        return done

    def _look_up_entities(self) -> None:
        for row in _paged(self._tx.rows, EntityRow, "name_key", {name_key(each.name) for each in self._given.entities}):
            self._entities[row.name_key, row.type_key] = Handled(row)
        unknown = (thing.id for thing in self._given.entities if _names(thing) not in self._entities)
        self._take(EntityRow, (("id", "in", {uid for uid in unknown if is_own_id(uid, "ent")}),))

    def _look_up_relations(self) -> None:
        of = {each.row.key: each for each in self._entities.values() if not each.is_new}
        subjects = (self._of_file[fact.source] for fact in self._given.relations)
        keys = {each.row.key for each in subjects if not each.is_new}
        kinds: Where = ("relation_key", "in", {name_key(fact.relation) for fact in self._given.relations})
        for row in sorted(_paged(self._tx.rows, RelationRow, "subject", keys, kinds), key=lambda each: each.key):
            if row.object in of:
                place = of[row.subject], row.relation_key, of[row.object], row.invalid_at
                self._relations.setdefault(place, Handled(row))
        unknown = (fact.id for fact in self._given.relations if self._place(fact) not in self._relations)
        self._take(RelationRow, (("id", "in", {uid for uid in unknown if is_own_id(uid, "rel")}),))

    def _take(self, row: type[Any], wanted: tuple[Where, ...]) -> None:
        """Ids that are taken; no index of a graph has those of facts in its trash."""
        reads = (Values(row, ("id",), wanted), Values(row, ("id",), (), "trash"))
        self._taken |= {uid for found in self._tx.rows.ask(*reads) for (uid,) in found} if wanted[0][2] else set()

    def _entity(self, thing: ExportedEntity) -> None:
        place = _names(thing)
        known = self._entities.get(place)
        if known is None:
            said = (thing.name, place[0], thing.type, place[1], to_micros(thing.created_at), to_micros(thing.last_seen))
            row = EntityRow(self._free_id("ent", thing.id), *said, thing.confidence, None, thing.handed_in)
            known = self._entities[place] = Handled(row._replace(pinned=thing.pinned, origin=self._origin), is_new=True)
        else:
            _merge(known, entity_with(known.row, thing))
        self._of_file[thing.id] = known

    def _relation(self, fact: ExportedRelation) -> None:
        place = self._place(fact)
        known = self._relations.get(place)
        if known is None:
            said = (fact.weight, None, fact.evidence, fact.handed_in, to_micros(fact.created_at))
            times = (to_micros(fact.last_seen), micros_or_none(fact.valid_at), place[3])
            named = (self._free_id("rel", fact.id), 0, 0, fact.relation, place[1])
            row = RelationRow(*named, *said, *times, 1, None, self._origin, None, 0)
            known = self._relations[place] = Handled(row, is_new=True)
            self._acts.append((known, None))
            return
        before = known.row
        _merge(known, relation_with(before, fact))
        if known.row is not before:
            self._acts.append((known, state_of(before)))

    def _aliases(self) -> list[tuple[Handled, Alias]]:
        """Other names of what was taken in: a name that an entity has is no other name of another."""
        given = [(each, *said) for each in self._given.entities for said in json.loads(each.aliases or "[]")]
        names = {name_key(name) for _, name, _ in given}
        taken = {*self._entities}
        if given:
            of = ("name_key", "type_key")
            named, once = (Values(row, of, (("name_key", "in", names),)) for row in (EntityRow, Alias))
            taken |= {(name, kind) for found in self._tx.rows.ask(named, once) for name, kind in found}
        made = []
        for thing, name, kind in given:
            place = name_key(name), name_key(kind)
            if place not in taken:
                taken.add(place)
                made.append((self._of_file[thing.id], Alias(*place, name, 0, None)))
        return made

    def _write(self, aliases: Iterable[tuple[Handled, Alias]]) -> None:
        rows = self._tx.rows
        self._keep(EntityRow, self._entities.values(), _MERGED)
        for (subject, _, target, _), each in self._relations.items():
            if each.is_new:
                each.row = each.row._replace(subject=subject.row.key, object=target.row.key)
        self._keep(RelationRow, self._relations.values(), _JOINED)
        rows.put([alias._replace(entity=known.row.key) for known, alias in aliases], replace=False)
        acts = [
            Contribution(known.row.key, "set", self._now, origin=self._origin, before=before, after=state_of(known.row))
            for known, before in self._acts
        ]
        note(rows, acts)

    def _keep(self, row: type[Any], every: Collection[Handled], columns: tuple[str, ...]) -> None:
        new = [each for each in every if each.is_new]
        for each, key in zip(new, self._tx.rows.add([each.row for each in new]), strict=True):
            each.row = each.row._replace(key=key)
        changed = [each.row for each in every if each.is_changed and not each.is_new]
        self._tx.rows.change(
            row, columns, {each.key: [getattr(each, name) for name in columns] for each in changed}, bin="live"
        )

    def _place(self, fact: ExportedRelation) -> Place:
        ends = self._of_file[fact.source], self._of_file[fact.target]
        return ends[0], name_key(fact.relation), ends[1], micros_or_none(fact.invalid_at)

    def _free_id(self, prefix: str, wanted: str) -> str:
        """The id of the file where it is one of ours and free, trash included; else a new one."""
        free = is_own_id(wanted, prefix) and wanted not in self._taken
        chosen = wanted if free else self._new_id(prefix)
        self._taken.add(chosen)
        return chosen


def _names(thing: ExportedEntity) -> Name:
    return name_key(thing.name), name_key(thing.type)


def _merge(known: Handled, after: dict[str, Any]) -> None:
    """Only what becomes different is a change."""
    if any(getattr(known.row, name) != value for name, value in after.items()):
        known.change(**after)


# A graph on its way between workspaces: rows as they are carried, and what an import makes of what is known. Pure.


_moment = lru_cache(maxsize=100_000)(from_micros)  # a batch has one moment for all of its facts


def entity_row(row: Sequence[Any], aliases: str | None) -> ExportedEntity:
    """From the columns that every engine gives."""
    uid, name, kind, confidence, explicit, pinned, created, seen = row
    flags, times = (bool(explicit), bool(pinned)), (_moment(created), _moment(seen))
    return ExportedEntity(uid, name, kind, confidence, *flags, *times, aliases)


def relation_row(row: Sequence[Any]) -> ExportedRelation:
    uid, source, target, relation, weight, evidence, explicit, *times = row
    moments: Any = [None if each is None else _moment(each) for each in times]
    return ExportedRelation(uid, source, target, relation, weight, evidence, bool(explicit), *moments)


def later_confirmed(ours: float | None, our_time: int, theirs: float | None, their_time: int) -> float | None:
    """The weight that was confirmed later; the larger of two that were at the same moment."""
    if ours is not None and theirs is not None and f"{ours:.15g}" == f"{theirs:.15g}":
        return ours  # a server of graphs tells fifteen digits
    if our_time != their_time:
        return ours if our_time > their_time else theirs
    return max((each for each in (ours, theirs) if each is not None), default=None)


def entity_with(known: Any, thing: ExportedEntity) -> dict[str, Any]:
    """Return an entity after the same one was imported; `known` is its row."""
    seen = to_micros(thing.last_seen)
    return {
        "confidence": later_confirmed(known.confidence, known.last_seen, thing.confidence, seen),
        "explicit": bool(known.explicit or thing.handed_in),
        "pinned": bool(known.pinned or thing.pinned),
        "created_at": min(known.created_at, to_micros(thing.created_at)),
        "last_seen": max(known.last_seen, seen),
    }


def relation_with(known: Any, fact: ExportedRelation) -> dict[str, Any]:
    """Return a relation after the same one was imported."""
    seen = to_micros(fact.last_seen)
    return {
        "weight": later_confirmed(known.weight, known.last_seen, fact.weight, seen),
        "evidence": max(known.evidence, fact.evidence),
        "explicit": bool(known.explicit or fact.handed_in),
        "created_at": min(known.created_at, to_micros(fact.created_at)),
        "last_seen": max(known.last_seen, seen),
    }


def imported(dump: GraphDump, entities: int, relations: int) -> Imported:
    """So many of both are new."""
    return Imported(entities, len(dump.entities) - entities, relations, len(dump.relations) - relations)


def import_event(done: Imported, touched: Sequence[str], actor: str, now: datetime) -> AuditEvent:
    counts = {"entities": done.entities_created, "relations": done.relations_created}
    return AuditEvent(now, actor, "import_graph", "", counts, ids=tuple(touched))
