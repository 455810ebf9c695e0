"""The nodes and edges that plans speak of. What writes works inside the caller's transaction."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from memsweep.model.distinctive_words import WordGroups
from memsweep.model.ids import findable
from memsweep.model.memory import last_seen
from memsweep.model.plan import Kind, Survey
from memsweep.model.sources import stands_alone
from memsweep.store.falkor import cypher, gc_cypher, superseding_cypher, surveying
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.falkor.wire import Query, Row
from memsweep.store.falkor.words import any_of, having
from memsweep.store.ports.items import Around, Described, Keys, LiveRow

_FEW = 100
_FOUND: tuple[tuple[Kind, str], ...] = (
    ("memory", "Memory"),
    ("memory", "TrashedMemory"),
    ("entity", "Entity"),
    ("entity", "TrashedEntity"),
)
_LABELS: dict[Kind, str] = {"memory": "Memory", "entity": "Entity"}
_DESCRIBED: dict[Kind, str] = {
    "memory": gc_cypher.DESCRIBE_MEMORY,
    "chunk": gc_cypher.DESCRIBE_CHUNK,
    "entity": gc_cypher.DESCRIBE_ENTITY,
    "relation": gc_cypher.DESCRIBE_RELATION,
}
_LIVE: dict[Kind, str] = {
    "memory": gc_cypher.LIVE_MEMORIES,
    "chunk": gc_cypher.LIVE_CHUNKS,
    "entity": gc_cypher.LIVE_ENTITIES,
    "relation": gc_cypher.LIVE_RELATIONS,
}
_COUNTED: dict[Kind, str] = {
    "memory": gc_cypher.COUNT_MEMORIES,
    "entity": cypher.COUNT_ENTITIES,
    "relation": cypher.COUNT_RELATIONS,
}


class FalkorItems:
    """Implements `memsweep.store.ports.items.ItemRows`."""

    def __init__(self, asked: GraphHandle | Transaction) -> None:
        self._asked = asked

    def survey(self, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
        if isinstance(self._asked, GraphHandle):
            return surveying.at_one_moment(self._asked, lambda asked: surveying.survey(asked, needs, missing_files))
        return surveying.survey(self._asked, needs, missing_files)

    def find(self, item_id: str) -> tuple[Kind, int, str | None] | None:
        wanted = {"id": findable(item_id)}
        asked = ((gc_cypher.of_label(gc_cypher.FIND, label), wanted) for _, label in _FOUND)
        for (kind, _), rows in zip(_FOUND, self._asked.ask_all(*asked), strict=True):
            for key, receipt in rows:
                return kind, key, receipt
        return None

    def describe(self, wanted: Keys) -> dict[tuple[Kind, int], Described]:
        rows = self._live_and_trashed(wanted, _DESCRIBED)
        return {(kind, key): _described(kind, said) for kind, (key, *said) in rows}

    def texts(self, memories: Collection[int]) -> dict[int, str]:
        return dict(map(tuple, self._rows(gc_cypher.TEXTS_OF, memories)))

    def survey_of(self, memories: Collection[int], entities: Collection[int] = ()) -> Survey:
        return surveying.survey_of(self._asked, memories, entities)

    def same_text(self, memories: Collection[int]) -> set[int]:
        return {key for (key,) in self._asked.ask(gc_cypher.SAME_TEXT, keys=list(memories))}

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        asked = {word: said for word in words if (said := any_of([word]))}
        rows = self._asked.ask(cypher.COUNT_EACH, words=list(asked.values())) if asked else []
        counts: dict[str, int] = dict(map(tuple, rows))
        return {word: counts.get(asked.get(word, ""), 0) for word in words}

    def with_any_word(self, words: Collection[str]) -> set[int]:
        said = any_of(list(words))
        return {key for (key,) in self._asked.ask(gc_cypher.WITH_ANY_WORD, words=said)} if said else set()

    def with_words(self, words: WordGroups) -> set[int]:
        said = having(words.needed, words.groups)
        return {key for (key,) in self._asked.ask(gc_cypher.WITH_ANY_WORD, words=said)}

    def in_pieces(self, words: Collection[str]) -> set[int]:
        return {key for (key,) in self._asked.ask(gc_cypher.IN_PIECES, words=any_of(list(words)))}

    def last_seen(self, memories: Collection[int]) -> dict[int, int]:
        return {
            key: last_seen(created, seen, stale=stale, verified_at=verified)
            for key, created, seen, stale, verified in self._rows(gc_cypher.LAST_SEEN, memories)
        }

    def superseded(self, memories: Collection[int]) -> set[int]:
        return {key for (key,) in self._rows(superseding_cypher.STILL_SUPERSEDED, memories)}

    def live(self, wanted: Keys) -> dict[tuple[Kind, int], LiveRow]:
        asked = [(kind, (_LIVE[kind], {"keys": sorted(keys)})) for kind, keys in wanted.items() if keys]
        return {
            (kind, key): LiveRow(version, pinned, tuple(other for other in others if other is not None))
            for kind, (key, version, pinned, *others) in self._ask_each(asked)
        }

    def ids(self, wanted: Keys) -> dict[tuple[Kind, int], str]:
        """Of many, all are usually live, or all are in the trash: where the first is, all are looked for first."""
        if sum(map(len, wanted.values())) <= _FEW:
            return {(kind, key): uid for kind, (key, uid) in self._live_and_trashed(wanted, gc_cypher.IDS)}
        kind, keys = max(wanted.items(), key=lambda item: len(item[1]))
        live, _ = gc_cypher.live_and_trashed(gc_cypher.IDS[kind])
        found: dict[tuple[Kind, int], str] = {}
        for in_trash in (False, True) if self._rows(live, [min(keys)]) else (True, False):
            missing = {kind: [key for key in keys if (kind, key) not in found] for kind, keys in wanted.items()}
            found |= self._ids_at(missing, in_trash=in_trash)
        return found

    def _ids_at(self, wanted: Keys, *, in_trash: bool) -> dict[tuple[Kind, int], str]:
        asked = [(kind, self._asking_ids(kind, keys, in_trash=in_trash)) for kind, keys in wanted.items() if keys]
        return {(kind, key): uid for kind, (key, uid) in self._ask_each(asked)}

    def _asking_ids(self, kind: Kind, keys: Collection[int], *, in_trash: bool) -> Query:
        if kind == "memory" and in_trash and isinstance(self._asked, Transaction):
            nodes = self._asked.nodes_of("TrashedMemory", keys)
            if nodes is not None:
                return gc_cypher.TRASHED_IDS_AT, {"nodes": nodes}
        return gc_cypher.live_and_trashed(gc_cypher.IDS[kind])[in_trash], {"keys": sorted(keys)}

    def count(self, kinds: Sequence[Kind]) -> dict[Kind, int]:
        found = self._asked.ask_all(*((_COUNTED[kind], {}) for kind in kinds)) if kinds else []
        return {kind: rows[0][0] for kind, rows in zip(kinds, found, strict=True)}

    def chunks_of(self, memories: Collection[int]) -> list[int]:
        return [key for (key,) in self._rows(gc_cypher.CHUNKS_OF, memories)]

    def stated_by(self, memories: Collection[int]) -> list[tuple[int, bool]]:
        rows = self._rows(gc_cypher.STATED_BY, memories)
        explicit = [key for key, handed_in, _ in rows if handed_in]
        notes: dict[int, int] = dict(map(tuple, self._rows(gc_cypher.NOTES_STATING, explicit)))
        return [(key, stands_alone(given, evidence, notes.get(key, 0))) for key, given, evidence in rows]

    def sources(self, relations: Collection[int]) -> list[tuple[int, int]]:
        return [(relation, memory) for relation, memory in self._rows(gc_cypher.LIVE_SOURCES, relations)]

    def around(self, entities: Collection[int]) -> Around:
        if not entities:
            return Around()
        keys = {"keys": sorted(entities)}
        mentions, relations = self._asked.ask_all((gc_cypher.MENTIONED_BY, keys), (gc_cypher.EDGES_OF, keys))
        return Around([(entity, memory) for entity, memory in mentions], [(key, s, o) for key, s, o in relations])

    def relations_at(self, entities: Collection[int]) -> set[int]:
        return {key for key, _, _ in self._rows(gc_cypher.EDGES_OF, entities)}

    def pin(self, kind: Kind, key: int, pinned: bool) -> None:
        step = gc_cypher.of_label(gc_cypher.PIN, _LABELS[kind])
        writable(self._asked).do(step, [{"key": key, "pinned": pinned}])

    def _rows(self, query: str, keys: Collection[int]) -> list[Row]:
        return self._asked.ask(query, keys=sorted(keys)) if keys else []

    def _live_and_trashed(self, wanted: Keys, queries: Mapping[Any, str]) -> list[tuple[Kind, Row]]:
        return self._ask_each(
            [
                (kind, (query, {"keys": sorted(keys)}))
                for kind, keys in wanted.items()
                if keys
                for query in gc_cypher.live_and_trashed(queries[kind])
            ]
        )

    def _ask_each(self, asked: Sequence[tuple[Kind, Query]]) -> list[tuple[Kind, Row]]:
        """All in one go; every row with the kind that it is of."""
        answers = self._asked.ask_all(*(query for _, query in asked)) if asked else []
        return [(kind, row) for (kind, _), rows in zip(asked, answers, strict=True) for row in rows]


def _described(kind: Kind, said: Sequence[Any]) -> Described:
    if kind != "relation":
        return Described(*said)
    uid, name, created_at, subject, target, subject_name, target_name = said
    return Described(uid, name, created_at, ends=(subject, target), end_names=(subject_name, target_name))
