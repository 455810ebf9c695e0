"""Writing a memory with all that belongs to it. Every function works inside the caller's transaction."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from memsweep.model.contribution import Speaker
from memsweep.model.memory import (
    CODE_SOURCE,
    ENOUGH_EVIDENCE,
    RULE_CONFIDENCE,
    EmbeddingModel,
    MemoryDraft,
    NamedThing,
    NewFact,
    NewMemory,
    NewMention,
    NewPiece,
    Remembered,
    StatedIn,
)
from memsweep.model.revision import Place
from memsweep.model.stating import stated
from memsweep.model.text import content_hash, name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import model_from, model_text
from memsweep.store.audit_rows import log
from memsweep.store.falkor import cypher, graph_cypher, superseding
from memsweep.store.falkor.naming import Ends, KnownEntity, KnownRelations, Names, fact_state, keys_of, sole
from memsweep.store.falkor.rows import FalkorRows, nodes_of, queries_of
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.falkor.wire import Query
from memsweep.store.falkor.words import sought_by, terms_of
from memsweep.store.journals import Origins
from memsweep.store.refusals import is_first_model, tombstoned_text
from memsweep.store.repeats import row_of
from memsweep.store.texts import about as about_forgotten
from memsweep.store.texts import tombstoned


def fact_places(entities: Mapping[NamedThing, KnownEntity], facts: Sequence[NewFact]) -> list[Ends]:
    """Return the place of each fact: its ends, which are among the mentions, and its kind."""
    return [
        (entities[new.fact.subject].key, name_key(new.fact.relation), entities[new.fact.object].key) for new in facts
    ]


def state_facts(relations: KnownRelations, places: Sequence[Ends], new: NewMemory, by: Speaker) -> dict[int, Ends]:
    """Create each relation, or strengthen it if it is known; their keys, and where they belong."""
    explicit = {}
    for fact, place in zip(new.facts, places, strict=True):
        known = relations.find(place)
        before = None if known is None else fact_state(known.props)
        if known is None:
            values = {"weight": 1.0 if fact.fact.weight is None else fact.fact.weight, "origin": by.origin}
            known = relations.add(place, fact.fact.relation, fact.id, by.at, **values)
        relations.contribute(known, by.act("state", known.key, before)._replace(value=fact.fact.weight))
        explicit[known.key] = place
    return explicit


def mention_again(
    relations: KnownRelations,
    explicit: Container[int],
    spoken_of: Mapping[int, KnownEntity],
    mentions: Iterable[tuple[int, int]],
    texts: Mapping[int, str],
    by: Speaker,
) -> None:
    """Known relations that these chunks state grow by a mention, each once; those given beside the text have grown."""
    names: dict[int, dict[int, str]] = defaultdict(dict)
    for chunk, entity in mentions:
        names[chunk][entity] = spoken_of[entity].props["name"]
    for (subject, kind, target), known in relations.known():
        if known.key in explicit:
            continue
        pieces = ((text, names[chunk]) for chunk, text in texts.items())
        said = (
            any(True for _ in stated(text, [(named[subject], kind, named[target])]))
            for text, named in pieces
            if subject in named and target in named
        )
        if any(said):
            relations.contribute(known, by.act("mention", known.key, fact_state(known.props)))


def claim_model(tx: Transaction, model: EmbeddingModel) -> None:
    if is_first_model(model_from(tx.meta.get("model")), model):
        set_model(tx, model)


def set_model(tx: Transaction, model: EmbeddingModel) -> None:
    tx.set_meta(model=model_text(model))


def encoded(vector: bytes) -> str:
    return base64.b64encode(vector).decode()


def about(new: NewMemory) -> list[Query]:
    """Return the queries that adding it will need."""
    named, by_rule = _names_of(new.mentions, new.facts)
    names = {"names": keys_of(named)}
    return [
        *about_same_text(new.draft, new.content_hash),
        *queries_of(about_forgotten(new.draft.said)),
        *superseding.about(new),
        *([(cypher.ENTITIES_NAMED, names), (cypher.ENTITIES_ONCE_NAMED, names)] if named else ()),
        *([(cypher.NAMES_SEEN, {"names": keys_of(by_rule)})] if by_rule else ()),
    ]


def about_same_text(draft: MemoryDraft, digest: bytes) -> list[Query]:
    same: Query = (cypher.MEMORIES_BY_HASH, {"hash": digest.hex(), "code_source": CODE_SOURCE})
    return [same] if draft.thread_id is None else [same, (cypher.THREAD, {"id": draft.thread_id})]


def _names_of(mentions: Sequence[NewMention], facts: Sequence[NewFact]) -> tuple[list[str], list[str]]:
    """Every name that is spoken of, and those of them that were found by rule."""
    ends = [thing.name for new in facts for thing in (new.fact.subject, new.fact.object)]
    by_rule = [mention.thing.name for mention in mentions if not mention.explicit]
    return [*(mention.thing.name for mention in mentions), *ends], by_rule


def add(tx: Transaction, new: NewMemory, model: EmbeddingModel) -> Remembered:
    """A memory that nobody has said yet."""
    if tombstoned(FalkorRows(tx), new.draft.said):
        raise tombstoned_text()
    claim_model(tx, model)
    origin = Origins(FalkorRows(tx)).key_of(new.origin)
    memory, chunks = _add_memory(tx, new, origin)
    texts = dict(zip(chunks, (chunk.text for chunk in new.chunks), strict=True))
    created, _ = add_names(tx, new, new.mentions, StatedIn(memory, chunks, origin, texts=texts))
    superseding.supersede(tx, memory, new, origin)
    return logged(tx, new, Remembered(new.id, len(chunks), len(created)), created)


def logged(tx: Transaction, new: NewMemory, done: Remembered, created: Sequence[str]) -> Remembered:
    log(FalkorRows(tx), *new.events(done, created))
    return replace(done, supersedes=new.draft.supersedes)


def _add_memory(tx: Transaction, new: NewMemory, origin: int | None) -> tuple[int, list[int]]:
    key = tx.new_key()
    thread, first = _thread(tx, new.draft.thread_id, len(new.chunks))
    (memory,) = nodes_of([row_of(new, thread, origin, key)])
    # The order the chunks stand in: their thread's, or (negative, so that the two never meet) their memory's own.
    stream = thread if thread is not None else (-key if len(new.chunks) > 1 else None)
    rows = _chunk_rows(tx, key, new.chunks, stream, first)
    step = cypher.add_whole_memory(memory, rows[0] if rows else ())
    chunks = [row | {"data": encoded(chunk.vector)} for row, chunk in zip(rows, new.chunks, strict=True)]
    tx.do(step, [{"memory": memory, "chunks": chunks}])
    tx.new_vectors = [[chunk["key"], chunk["data"]] for chunk in chunks]
    return key, [row["key"] for row in rows]


def _chunk_rows(
    tx: Transaction, memory: int, chunks: Sequence[NewPiece], stream: int | None, first: int = 0
) -> list[dict[str, Any]]:
    return [
        {
            "key": tx.new_key(),
            "id": chunk.id,
            "memory": memory,
            "position": index,
            "text": chunk.text,
            "start": chunk.start,
            "first_line": chunk.first_line,
            "last_line": chunk.last_line,
            "hash": content_hash(chunk.text).hex(),
            "stream": stream,
            "stream_position": None if stream is None else first + index,
            "symbol": "",
            "symbol_kind": "",
            "words": "",
            **sought_by(terms_of(chunk.text)),
        }
        for index, chunk in enumerate(chunks)
    ]


def _thread(tx: Transaction, thread_id: str | None, places: int) -> tuple[int | None, int]:
    """The key of a thread, made if it is new, and the place that comes next in it."""
    if thread_id is None:
        return None, 0
    if found := tx.ask(cypher.THREAD, id=thread_id):
        key, last = found[0]
        tx.do(cypher.SET_LAST_PLACE, [{"key": key, "last": last + places}])
        return key, last + 1
    key = tx.new_key()
    tx.do(cypher.ADD_THREAD, [{"key": key, "id": thread_id, "last": places - 1}])
    return key, 0


def add_names(
    tx: Transaction, new: NewMemory, mentions: Sequence[NewMention], by: StatedIn
) -> tuple[list[str], set[Place]]:
    """Mentions and facts, whose source the memory is.

    The ids of new entities, and where the explicit ones are mentioned.
    """
    if not mentions and not new.facts:
        return [], set()
    now = to_micros(new.now)
    named, by_rule = _names_of(mentions, new.facts)
    names, seen = Names(tx, named), _Seen(tx, by_rule)
    pairs: dict[tuple[int, int], None] = {}
    spoken_of: dict[int, KnownEntity] = {}
    explicit: dict[NamedThing, KnownEntity] = {}
    created: list[str] = []
    places: set[Place] = set()
    for mention in mentions:
        entity, earlier = _mentioned(names, seen, mention, by, now)
        if entity is not None:
            spoken_of[entity.key] = entity
            if mention.explicit:
                explicit[mention.thing] = entity
                places |= {(by.chunks.index(by.chunks[at]), entity.key) for at in mention.chunks}
            if entity.is_new and entity.props["id"] == mention.id:
                created.append(mention.id)
            pairs |= {(chunk, entity.key): None for chunk in (*earlier, *(by.chunks[at] for at in mention.chunks))}
    known = [entity.key for entity in spoken_of.values() if by.texts and not entity.is_new]
    facts = fact_places(explicit, new.facts)
    relations = KnownRelations(tx, facts, among=known)
    speaker = Speaker(by.memory, by.origin, now, new.edge_rate)
    stated = state_facts(relations, facts, new, speaker)
    mention_again(relations, stated, spoken_of, pairs, by.texts, speaker)
    names.write()
    relations.write()
    sources = [{"memory": by.memory, "subject": place[0], "relation": key} for key, place in stated.items()]
    tx.do(graph_cypher.ADD_SOURCE, sources)
    seen.write()
    rows = [{"chunk": chunk, "entity": entity, "origin": by.other} for chunk, entity in pairs]
    tx.do(cypher.ADD_MENTION if by.other is None else cypher.ADD_OTHERS_MENTION, rows)
    # A chunk that spoke of it earlier may be in the trash by now, and so is its mention.
    tx.do(cypher.ADD_TRASHED_MENTION, [row for row in rows if row["chunk"] not in set(by.chunks)])
    return created, places


def _mentioned(
    names: Names, seen: _Seen, mention: NewMention, by: StatedIn, now: int
) -> tuple[KnownEntity | None, Iterable[int]]:
    """The entity, and the chunks that spoke of it before it was one."""
    if mention.explicit:
        entity = names.find(mention.thing)
        if entity is None:
            made = names.add(mention.thing, mention.id, now, confidence=1.0, explicit=True, origin=by.origin)
            return made, ()
        seen_at = max(entity.props["last_seen"], now)
        entity.change(last_seen=seen_at, handed_in=True, origin=sole(entity, by.origin))
        return entity, ()
    known = sorted(names.of_name(mention.thing.name), key=lambda each: (not each.props["handed_in"], each.key))
    if known:
        known[0].change(last_seen=max(known[0].props["last_seen"], now))
        return known[0], ()
    earlier = seen.count(mention, [by.chunks[at] for at in mention.chunks])
    if earlier is None:
        return None, ()
    made = names.add(mention.thing, mention.id, now, confidence=RULE_CONFIDENCE, explicit=False, origin=by.origin)
    return made, earlier


class _Seen:
    """Names found by rule: counted until the workspace has seen enough of them."""

    def __init__(self, tx: Transaction, names: Iterable[str]) -> None:
        self._tx = tx
        self._rows: dict[str, dict[str, Any]] = {}
        self._dropped: list[str] = []
        if wanted := keys_of(names):
            for key, name, evidence, chunks in tx.ask(cypher.NAMES_SEEN, names=wanted):
                self._rows[key] = {"name_key": key, "name": name, "evidence": evidence, "chunks": chunks}
        self._before = {key: row["evidence"] for key, row in self._rows.items()}

    def count(self, mention: NewMention, chunks: list[int]) -> list[int] | None:
        """The chunks that spoke of it earlier once there is enough evidence; None while there is not."""
        key = name_key(mention.thing.name)
        row = self._rows.get(key) or {"name_key": key, "name": mention.thing.name, "evidence": 0, "chunks": []}
        evidence = row["evidence"] + mention.evidence
        if evidence >= ENOUGH_EVIDENCE:
            if key in self._before:
                self._dropped.append(key)
            self._rows.pop(key, None)
            return list(row["chunks"])
        if mention.evidence:
            self._rows[key] = {**row, "evidence": evidence, "chunks": [*row["chunks"], *chunks]}
        return None

    def write(self) -> None:
        changed = [row for key, row in self._rows.items() if row["evidence"] != self._before.get(key)]
        self._tx.do(cypher.SET_NAME_SEEN, changed)
        self._tx.do(cypher.DROP_NAME_SEEN, self._dropped)
