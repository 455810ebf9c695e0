"""The knowledge graph of a workspace, read the same on every engine. Every method is one transaction."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.model.columns import Bin, part
from memsweep.model.contribution import Contribution, stands_alone
from memsweep.model.decay import Rates
from memsweep.model.graph import (
    Edge,
    Entity,
    FactCount,
    GraphSurvey,
    NamedEntities,
    edge_now,
    edges_now,
    entity_now,
    unknown_entity,
)
from memsweep.model.graph_rows import Alias
from memsweep.model.origin import Origin
from memsweep.model.quarantine import EntityProvenance, FactProvenance, Provenance, with_mentions
from memsweep.model.text import name_key
from memsweep.store.facts import at_either_end
from memsweep.store.journals import Origins, origins_of
from memsweep.store.paused import gc_paused
from memsweep.store.records import Entities
from memsweep.store.rows import Find, Rows, SumsBy, Values, Where, is_in
from memsweep.store.things.graph import (
    ENTITY,
    RELATION,
    EntityRow,
    MentionLink,
    RelationRow,
    RelationSource,
)
from memsweep.store.things.memories import MemoryRow, OriginRow

if TYPE_CHECKING:
    from memsweep.store.protocol import Store

_STATING = ("state", "mention", "confirm", "see")


class EntityBase(NamedTuple):
    """An entity as it is shown."""

    key: int
    id: str
    name: str
    type: str
    confidence: float
    last_seen: int
    pinned: bool


class NamedEntity(NamedTuple):
    """The same, with the name and the type as they are compared."""

    name_key: str
    type_key: str
    key: int
    id: str
    name: str
    type: str
    confidence: float
    last_seen: int
    pinned: bool


class EdgeBase(NamedTuple):
    """A relation as it is shown."""

    key: int
    id: str
    subject: int
    object: int
    relation: str
    weight: float | None
    last_seen: int
    valid_at: int | None
    invalid_at: int | None


class FactKind(NamedTuple):
    key: int
    subject: int
    relation_key: str
    relation: str
    invalid_at: int | None


class FactEnds(NamedTuple):
    key: int
    id: str
    subject: int
    object: int


part(EntityBase, ENTITY)
part(NamedEntity, ENTITY)
part(EdgeBase, RELATION)
part(FactKind, RELATION)
part(FactEnds, RELATION)


class Graph:
    """Reads of the graph, each at one moment."""

    def __init__(self, store: Store) -> None:
        self.reading, self.changing, self.at_one_moment = store.reading, store.changing, store.at_one_moment

    def survey(self, rates: Rates, now: datetime) -> GraphSurvey:
        """Return every live entity and relation, with what they count now, in the order of their making."""
        every = (
            Values(EntityRow, EntityBase._fields),
            SumsBy(MentionLink, "entity", None),
            Values(RelationRow, EdgeBase._fields),
        )
        with gc_paused():
            entities, sums, edges = self.at_one_moment(lambda reads: reads.rows.ask(*every))
            mentions = {key: number for key, number, _ in sums}
            edges.sort()
            return GraphSurvey(
                tuple(entity_now((*row, mentions.get(row[0], 0), 0), rates, now) for row in sorted(entities)),
                tuple(edges_now((row[1:] for row in edges), rates, now)),
            )

    def named(
        self, asked: NamedEntities, after: tuple[str, str] | None, limit: int, rates: Rates, now: datetime
    ) -> list[tuple[tuple[str, str], Entity]]:
        """Return entities after one, in the order of names and types, each with the two as they are compared.

        What had such a name before it was merged is among them. Without a limit they are all of them. What they have
        is not counted yet.
        """
        wanted = (*_called(asked), *_of_type(asked))
        order = ("name_key", "type_key")
        pages = [Find(NamedEntity, (*wanted, *part), order=order, limit=limit) for part in _after(after)]
        with self._rows() as rows:
            *listed, merged = rows.ask(*pages, _once_named(asked))
            others = [each for each in _merged_into(rows, merged, asked) if after is None or each[:2] > after]
            found = sorted({each.key: each for page in (*listed, others) for each in page}.values())[: limit or None]
        return [(each[:2], entity_now((*each[2:], 0, 0), rates, now)) for each in found]

    def counted(self, entities: Collection[Entity]) -> list[Entity]:
        """Return entities with how often live pieces mention them, and how many relations they have."""
        keys = [each.key for each in entities]
        with self._rows() as rows:
            wanted = (SumsBy(MentionLink, "entity", keys), *(SumsBy(RelationRow, end, keys) for end in _ENDS))
            mentions, begin, end = (Counter({key: number for key, number, _ in found}) for found in rows.ask(*wanted))
            both = begin.keys() & end.keys()
            (between,) = rows.ask(Values(RelationRow, _ENDS, tuple((end, "in", both) for end in _ENDS), near="live"))
        once = Counter(subject for subject, other in between if subject == other)  # one with itself
        relations = begin + end - once
        return [replace(each, mentions=mentions[each.key], relations=relations[each.key]) for each in entities]

    def count_named(self, asked: NamedEntities) -> int:
        with self._rows() as rows:
            number, merged = rows.ask(SumsBy(EntityRow, where=(*_called(asked), *_of_type(asked))), _once_named(asked))
            others = _merged_into(rows, merged, asked)
        return int(number[0][1]) + sum(not _is_called(each, asked) for each in others)

    @contextmanager
    def _rows(self) -> Iterator[Rows]:
        with self.reading() as reads:
            yield reads.rows

    def find(self, name_or_id: str) -> int:
        """Return the key of an entity by its id or its name, or raise `NotFound`."""
        with self._rows() as rows:
            found = Entities(rows).find(name_or_id)
        if found is None:
            raise unknown_entity(name_or_id)
        return found

    def known_names(self, names: Collection[str]) -> dict[str, str]:
        """Return those names that entities have, by the form under which they are compared, as they are written."""
        with self._rows() as rows:
            columns = ("last_seen", "key", "name_key", "name")
            (found,) = rows.ask(Values(EntityRow, columns, (("name_key", "in", names),)))
        return {key: name for _, _, key, name in sorted(found)}

    def fact_counts(self, key: int) -> tuple[int, list[FactCount]]:
        """Count the chunks that mention an entity, and its facts of each kind."""
        with self._rows() as rows:
            ends = [Find(FactKind, ((end, "=", key),), order=(), near="live") for end in _ENDS]
            mentions, *found = rows.ask(SumsBy(MentionLink, "entity", [key]), *ends)
        facts = sorted({fact.key: fact for listed in found for fact in listed}.values())
        names: dict[tuple[str, bool], str] = {}
        current, ended = Counter[tuple[str, bool]](), Counter[tuple[str, bool]]()
        for fact in facts:
            kind = fact.relation_key, fact.subject == key
            names[kind] = min(names.get(kind, fact.relation), fact.relation)
            (current if fact.invalid_at is None else ended)[kind] += 1
        ordered = sorted(names, key=lambda kind: (-current[kind] - ended[kind], kind))
        counts = [FactCount(names[kind], kind[1], current[kind], ended[kind]) for kind in ordered]
        return sum(number for _, number, _ in mentions), counts

    def entities_at(self, keys: Collection[int], rates: Rates, now: datetime) -> list[Entity]:
        with self._rows() as rows:
            return [entity_now((*row, 0, 0), rates, now) for row in rows.find(EntityBase, ("key", "in", keys))]

    def edges_at(self, keys: Collection[int], kinds: Collection[str] | None, rates: Rates, now: datetime) -> list[Edge]:
        """Return relations that begin or end at these entities, with what they weigh now."""
        wanted = is_in("relation_key", None if kinds is None else {name_key(kind) for kind in kinds})
        with self._rows() as rows:
            found = at_either_end(rows, EdgeBase, keys, *wanted)
            of: tuple[Where, ...] = (("relation", "in", [each.key for each in found]), ("memory.trash", "null", None))
            stated = Values(RelationSource, _SOURCE, of, "any")
            sources = defaultdict(list)
            for relation, _, uid in sorted(map(tuple, rows.ask(stated)[0])):
                sources[relation].append(uid)
        return [edge_now(each[1:], sources.get(each.key, ()), rates, now) for each in found]

    def origins(self) -> dict[int, Origin]:
        """Return every origin that is known, by key."""
        with self._rows() as rows:
            return Origins(rows).known()

    def fact_provenance(self, ids: Collection[str]) -> tuple[list[FactProvenance], dict[int, Origin]]:
        """Return who has stated live relations, and every origin that is known."""
        columns = ("key", "id", "origin", "created_at", "released_at")
        with self._rows() as rows:
            facts, known = rows.ask(Values(RelationRow, columns, (("id", "in", ids),)), Find(OriginRow))
            act: tuple[Where, ...] = (("act", "in", _STATING), ("trash", "null", None))
            (acts,) = rows.ask(_of(("relation", "origin"), Contribution, "relation", facts, where=act))
        by = _grouped(acts)
        found = [FactProvenance(uid, Provenance(*made), by[key]) for key, uid, *made in facts]
        return found, origins_of(known)

    def expired_facts(self, by: int) -> set[str]:
        """Return the ids of live relations that only memories state which have expired by a moment."""
        with self._rows() as rows:
            (gone,) = rows.ask(Values(MemoryRow, ("key",), (("expires_at", "<=", by),)))
            (stated,) = rows.ask(_of("relation", RelationSource, "memory", gone))
            (facts,) = rows.ask(_of(("key", "id", "explicit", "evidence"), RelationRow, "key", stated))
            columns = ("relation", "memory", "memory.trash", "memory.expires_at", "memory.source")
            (sources,) = rows.ask(_of(columns, RelationSource, "relation", facts, "any"))
        said: dict[int, list[Any]] = _grouped(sources)
        return {uid for key, uid, explicit, evidence in facts if _is_over(explicit, evidence, said[key], by)}

    def entity_provenance(self, keys: Collection[int]) -> list[EntityProvenance]:
        """Return who has made live entities, and what speaks of them."""
        with self._rows() as rows:
            made: tuple[Where, ...] = (("key", "in", keys), ("origin", ">", 0))
            (found,) = rows.ask(Values(EntityRow, ("key", "origin", "created_at"), made))
            known = {key for key, *_ in found}
            facts = at_either_end(rows, FactEnds, known)
            (mentions,) = rows.ask(_of(("chunk.memory", "entity", "origin"), MentionLink, "entity", found))
            columns = ("key", "origin", "created_at", "released_at")
            (memories,) = rows.ask(_of(columns, MemoryRow, "key", mentions))
        ids = defaultdict(list)
        for each in facts:
            for end in {each.subject, each.object} & known:
                ids[end].append(each.id)
        of = {key: said for key, *said in memories}
        spoken = {(entity, *of[memory], origin) for memory, entity, origin in mentions if memory in of}
        return with_mentions(((key, Provenance(*said), ids[key]) for key, *said in found), spoken)


_ENDS = ("subject", "object")
_SOURCE = ("relation", "memory", "memory.id")


def _of_type(asked: NamedEntities) -> tuple[Where, ...]:
    return (("type_key", "=", asked.type_key),) if asked.type_key else ()


def _called(asked: NamedEntities) -> tuple[Where, ...]:
    if not asked.search:
        return ()
    return (("name_key", "begins" if asked.is_prefix else "has", asked.search),)


def _is_called(each: NamedEntity, asked: NamedEntities) -> bool:
    return each.name_key.startswith(asked.search) if asked.is_prefix else asked.search in each.name_key


def _after(after: tuple[str, str] | None) -> list[tuple[Where, ...]]:
    """Return the conditions of which one is met by what comes after a name and a type."""
    if after is None:
        return [()]
    name, kind = after
    return [(("name_key", "=", name), ("type_key", ">", kind)), (("name_key", ">", name),)]


def _once_named(asked: NamedEntities) -> Values:
    """Return the read of the entities that had such a name before they were merged."""
    where = _called(asked) or (("name_key", "in", ()),)
    return Values(Alias, ("entity",), where, distinct=True)


def _merged_into(rows: Rows, merged: Iterable[Any], asked: NamedEntities) -> list[NamedEntity]:
    return rows.find(NamedEntity, ("key", "in", {key for (key,) in merged}), *_of_type(asked))


def _of(
    columns: str | tuple[str, ...],
    row: type[Any],
    by: str,
    found: Iterable[Any],
    bin: Bin = "live",
    where: tuple[Where, ...] = (),
) -> Values:
    """Return the read of what belongs to rows that were found, whose keys come first in them."""
    listed = (columns,) if isinstance(columns, str) else columns
    return Values(row, listed, ((by, "in", {key for key, *_ in found}), *where), bin, distinct=True)


def _grouped(rows: Iterable[Any]) -> dict[int, list[Any]]:
    """Return rows by what comes first in them: the rest, alone if it is one value."""
    found: dict[int, list[Any]] = defaultdict(list)
    for key, *rest in rows:
        found[key].append(rest[0] if len(rest) == 1 else rest)
    return found


def _is_over(explicit: Any, evidence: int, sources: Iterable[Any], by: int) -> bool:
    """Return whether live memories state a fact, all of which have expired, and nobody does by itself."""
    said = list(sources)
    ends = [expires for _, trash, expires, _ in said if trash is None]
    statements = sum(source != "code_indexer" for *_, source in said)
    return (
        bool(ends)
        and all(end is not None and end <= by for end in ends)
        and not stands_alone(bool(explicit), evidence, statements)
    )
