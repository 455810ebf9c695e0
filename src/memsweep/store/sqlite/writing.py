"""Writing a memory with all that belongs to it. Every function runs inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import apsw

from memsweep.model import superseding
from memsweep.model.columns import decoder
from memsweep.model.contribution import Speaker
from memsweep.model.ids import findable
from memsweep.model.memory import (
    CODE_SOURCE,
    DEFAULT_TYPE,
    ENOUGH_EVIDENCE,
    RULE_CONFIDENCE,
    EmbeddingModel,
    MemoryDraft,
    NamedThing,
    NewFact,
    NewMemory,
    NewMention,
    Remembered,
    StatedIn,
)
from memsweep.model.origin import Origin
from memsweep.model.revision import MemoryText, Mentioned, Piece, Place, mentioned_in, stated_in
from memsweep.model.stating import stated
from memsweep.model.superseding import Older
from memsweep.model.text import case_key, content_hash, name_key, to_json
from memsweep.model.times import to_micros
from memsweep.store.audit_rows import log
from memsweep.store.file.connect import insert, one, row
from memsweep.store.file.meta import read_model, write_model
from memsweep.store.journals import Origins, contribute, fact_state
from memsweep.store.memory_acts import MemoryActRows, MentionAt, PlacedMention
from memsweep.store.refusals import is_first_model
from memsweep.store.repeats import Repeat, row_of, say_again
from memsweep.store.sqlite import graph_sql, sql, superseding_sql
from memsweep.store.sqlite import memory_act_sql as own
from memsweep.store.sqlite.rows import SqliteRows, as_list
from memsweep.store.things.memories import MemoryRow


def state_fact(db: apsw.Connection, new: NewFact, entities: Mapping[NamedThing, int], by: Speaker) -> int:
    """Create the relation, or strengthen it if it is known; its key."""
    fact = new.fact
    subject, target = entities[fact.subject], entities[fact.object]
    kind = name_key(fact.relation)
    known = row(db, sql.GET_RELATION, (subject, kind, target))
    if known is None:
        values = {
            "uid": new.id,
            "subject": subject,
            "object": target,
            "relation": fact.relation,
            "key": kind,
            "weight": 1.0 if fact.weight is None else fact.weight,
            "now": by.at,
            "origin": by.origin,
        }
        key, before = insert(db, sql.ADD_RELATION, values), None
    else:
        key, before = known[0], fact_state(*known[1:])
    contribute(SqliteRows(db), by.act("state", key, before)._replace(value=fact.weight))
    return int(key)


def mention_again(db: apsw.Connection, chunks: Sequence[int], explicit: Collection[int], by: Speaker) -> None:
    """Known relations that these chunks state grow by a mention, each once; those given beside the text have grown."""
    rows = [item for item in db.execute(sql.MENTIONED_RELATIONS, (json.dumps(chunks),)) if item[0] not in explicit]
    done: set[int] = set()
    for key, text, subject, relation, target, *state in rows:
        if key not in done and any(True for _ in stated(text, [(subject, relation, target)])):
            done.add(key)
            contribute(SqliteRows(db), by.act("mention", key, fact_state(*state)))


class SqliteMemoryActs(MemoryActRows):
    """Implements `memsweep.store.memory_acts.MemoryActRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        super().__init__(SqliteRows(db))
        self._db = db

    def mentions(self, memories: Collection[int]) -> list[MentionAt]:
        return [MentionAt(*row) for row in self._db.execute(own.MENTIONS, (as_list(memories),))]

    def own_mentions(self, memory: int) -> Mentioned:
        rows: list[Any] = self._db.execute(own.OWN_MENTIONS, (memory,)).fetchall()
        return mentioned_in(rows)

    def add_mentions_at(self, mentions: Iterable[PlacedMention]) -> None:
        self._db.executemany(own.ADD_MENTION_AT, [each._asdict() for each in mentions])


def claim_model(db: apsw.Connection, model: EmbeddingModel) -> None:
    if is_first_model(read_model(db), model):
        write_model(db, model)


def add_memory(db: apsw.Connection, new: NewMemory) -> Remembered:
    thread, origin = _thread(db, new.draft.thread_id), Origins(SqliteRows(db)).key_of(new.origin)
    memory = _add_row(db, new, thread, origin)
    chunks = _add_chunks(db, memory, new, thread)
    created, stated, _ = add_names(db, new, new.mentions, StatedIn(memory, chunks, origin))
    mention_again(db, chunks, stated, Speaker(memory, origin, to_micros(new.now), new.edge_rate))
    supersede(db, memory, new, origin)
    return logged(db, new, Remembered(new.id, len(chunks), len(created)), created)


def logged(db: apsw.Connection, new: NewMemory, done: Remembered, created: Sequence[str]) -> Remembered:
    log(SqliteRows(db), *new.events(done, created))
    return replace(done, supersedes=new.draft.supersedes)


def supersede(db: apsw.Connection, memory: int, new: NewMemory, origin: int | None) -> None:
    """Link the memory to those whose place it takes."""
    if not (wanted := new.draft.supersedes):
        return
    found = db.execute(superseding_sql.TO_SUPERSEDE, (to_json([findable(each) for each in wanted]),))
    older = superseding.keys_of(wanted, {uid: Older(key, source) for uid, key, source in found})
    rows: list[Any] = db.execute(
        superseding_sql.LINKS_AROUND, {"older": to_json(list(older)), "memory": memory}
    ).fetchall()
    known = {(old, newer): superseding.bases_from(origins) for old, newer, origins in rows}
    links = superseding.new_links(memory, older, known, origin)
    at = to_micros(new.now)
    db.executemany(
        superseding_sql.ADD_LINK, [(*pair, at, superseding.bases_text(bases)) for pair, bases in links.items()]
    )


def add_names(
    db: apsw.Connection, new: NewMemory, mentions: Iterable[NewMention], by: StatedIn
) -> tuple[list[str], set[int], set[Place]]:
    """Mentions and facts, whose source the memory is.

    The ids of new entities, the relations that were stated, and where the explicit ones are mentioned.
    """
    created, keys, places = list[str](), dict[NamedThing, int](), set[Place]()
    for mention in mentions:
        entity, is_new = _add_mention(db, mention, by, to_micros(new.now))
        created += [mention.id] * is_new
        if entity is not None and mention.explicit:
            keys[mention.thing] = entity
            places |= {(by.chunks.index(by.chunks[at]), entity) for at in mention.chunks}
    speaker = Speaker(by.memory, by.origin, to_micros(new.now), new.edge_rate)
    stated = {state_fact(db, fact, keys, speaker) for fact in new.facts}
    if stated:
        db.executemany(sql.ADD_SOURCE, [(relation, by.memory) for relation in stated])
    return created, stated, places


def _add_row(db: apsw.Connection, new: NewMemory, thread: int | None, origin: int | None) -> int:
    (memory,) = SqliteRows(db).add([row_of(new, thread, origin)])
    if new.draft.tags:
        db.executemany(sql.ADD_TAG, [(tag, memory) for tag in new.draft.tags])
    return memory


def _thread(db: apsw.Connection, thread_id: str | None) -> int | None:
    if thread_id is None:
        return None
    found: int | None = one(db, sql.THREAD_ID, (thread_id,))
    return found if found is not None else insert(db, sql.ADD_THREAD, (thread_id,))


def _add_chunks(db: apsw.Connection, memory: int, new: NewMemory, thread: int | None) -> list[int]:
    stream, position = _stream(db, memory, thread, len(new.chunks))
    keys = []
    for index, chunk in enumerate(new.chunks):
        place = (stream, position + index) if stream is not None else (None, None)
        lines = (chunk.start, chunk.first_line, chunk.last_line)
        values = (chunk.id, memory, index, chunk.text, *lines, content_hash(chunk.text), *place)
        key = insert(db, sql.ADD_CHUNK, values)
        db.execute(sql.ADD_WORDS, (key, chunk.text, ""))
        keys.append(key)
    db.executemany(sql.ADD_VECTOR, [(key, chunk.vector) for key, chunk in zip(keys, new.chunks, strict=True)])
    return keys


def _stream(db: apsw.Connection, memory: int, thread: int | None, chunks: int) -> tuple[int | None, int]:
    """The order the chunks stand in: their thread's, or (negative, so that the two never meet) their memory's own."""
    if thread is not None:
        last = one(db, sql.LAST_POSITION, (thread,))
        return thread, 0 if last is None else last + 1
    return (-memory, 0) if chunks > 1 else (None, 0)


def placed(
    db: apsw.Connection, memory: int, thread: int | None, pieces: Sequence[Piece]
) -> list[tuple[int | None, int | None]]:
    """Return the places of new chunks of a memory: the wanted ones if all are free, else the next ones."""
    said = [(piece.stream, piece.stream_position) for piece in pieces]
    if all(place is not None and not one(db, sql.IS_TAKEN, (stream, place, memory)) for stream, place in said):
        return said
    stream, position = _stream(db, memory, thread, len(pieces))
    return [(stream, None if stream is None else position + index) for index in range(len(pieces))]


def _add_mention(db: apsw.Connection, mention: NewMention, by: StatedIn, now: int) -> tuple[int | None, bool]:
    """Link an entity to the chunks that speak of it; its key, and whether it is new."""
    mentioned = [by.chunks[index] for index in mention.chunks]
    entity: int | None
    if mention.explicit:
        entity, created = _entity(db, mention.thing, mention.id, now, by.origin)
    else:
        entity, created = _entity_by_rule(db, mention, mentioned, now, by.origin)
    if entity is not None:
        db.executemany(sql.ADD_MENTION, [(chunk, entity, by.other) for chunk in mentioned])
    return entity, created


def _entity(db: apsw.Connection, thing: NamedThing, uid: str, now: int, origin: int | None) -> tuple[int, bool]:
    found = find_thing(db, thing)
    if found is not None:
        db.execute(sql.TOUCH_ENTITY, {"id": found, "now": now, "handed_in": 1, "origin": origin})
        return found, False
    return _new_entity(db, thing, uid, now, origin, explicit=True), True


def _new_entity(
    db: apsw.Connection, thing: NamedThing, uid: str, now: int, origin: int | None, *, explicit: bool
) -> int:
    values = {
        "uid": uid,
        "name": thing.name,
        "key": name_key(thing.name),
        "type": thing.type or DEFAULT_TYPE,
        "type_key": name_key(thing.type or DEFAULT_TYPE),
        "confidence": 1.0 if explicit else RULE_CONFIDENCE,
        "handed_in": explicit,
        "now": now,
        "origin": origin,
    }
    return insert(db, sql.ADD_ENTITY, values)


def _entity_by_rule(
    db: apsw.Connection, mention: NewMention, mentioned: list[int], now: int, origin: int | None
) -> tuple[int | None, bool]:
    """A name found by rule is an entity once the workspace has seen enough of it; until then it is only counted."""
    key = name_key(mention.thing.name)
    known = _entity_named(db, key)
    if known is not None:
        db.execute(sql.TOUCH_ENTITY, {"id": known, "now": now, "handed_in": 0, "origin": origin})
        return known, False
    evidence, chunks = db.execute(sql.GET_NAME_SEEN, (key,)).fetchone() or (0, "[]")
    evidence += mention.evidence
    earlier = json.loads(chunks)
    if evidence < ENOUGH_EVIDENCE:
        if mention.evidence:
            seen = {"key": key, "name": mention.thing.name, "evidence": evidence}
            db.execute(sql.SET_NAME_SEEN, {**seen, "chunks": to_json([*earlier, *mentioned])})
        return None, False
    db.execute(sql.DROP_NAME_SEEN, (key,))
    entity = _new_entity(db, mention.thing, mention.id, now, origin, explicit=False)
    db.executemany(sql.ADD_EARLIER_MENTION, [(entity, chunk) for chunk in earlier])
    return entity, True


def _entity_named(db: apsw.Connection, key: str) -> int | None:
    """An entity of that name, whatever its type: the one that somebody named before others, then the eldest."""
    # Two plain lookups are three times as fast as one statement with a union that is sorted.
    for statement in (sql.ENTITIES_NAMED, sql.ENTITIES_ALSO_NAMED):
        found: list[Any] = db.execute(statement, (key,)).fetchall()
        if found:
            return -int(max(found)[1])
    return None


def find_thing(db: apsw.Connection, thing: NamedThing) -> int | None:
    """The live entity of a name and a type; without a type, the one of that name that is surest."""
    if thing.type:
        found = one(db, graph_sql.FIND_TYPED, (name_key(thing.name), name_key(thing.type), case_key(thing.name)))
    else:
        found = one(db, graph_sql.FIND_NAMED, (name_key(thing.name), case_key(thing.name)))
    return None if found is None else int(found)


def knows_hash(db: apsw.Connection, content_hash: bytes) -> bool:
    return db.execute(sql.KNOWS_HASH, (content_hash,)).fetchone() is not None


def touch_existing(
    db: apsw.Connection, draft: MemoryDraft, content_hash: bytes, now: datetime, origin: Origin
) -> str | None:
    """Mark a live memory with the same text in the same thread as seen, with what the new one adds to it."""
    if (existing := _touched(db, draft, content_hash, now)) is None:
        return None
    Repeat(SqliteMemoryActs(db), existing, draft, content_hash, now).note(Origins(SqliteRows(db)).key_of(origin))
    return existing.id


def add_to_existing(db: apsw.Connection, new: NewMemory) -> Remembered | None:
    """The same, with what the caller named and stated beside it."""
    if (existing := _touched(db, new.draft, new.content_hash, new.now)) is None:
        return None
    repeat = Repeat(SqliteMemoryActs(db), existing, new.draft, new.content_hash, new.now)
    rows: list[Any] = db.execute(sql.CHUNK_KEYS, (existing.id,)).fetchall()
    origin = Origins(SqliteRows(db)).key_of(new.origin)
    carrier = stated_in(existing, [key for (key,) in rows], len(new.chunks), origin)
    created, _, places = add_names(db, new, new.explicit_mentions, carrier)
    supersede(db, existing.key, new, origin)
    repeat.note(origin, places)
    return logged(db, new, Remembered(existing.id, 0, len(created), duplicate_of=existing.id), created)


def _touched(db: apsw.Connection, draft: MemoryDraft, content_hash: bytes, now: datetime) -> MemoryText | None:
    """As it was before."""
    if not knows_hash(db, content_hash):
        return None
    wanted = {"hash": content_hash, "thread": draft.thread_id, "text": draft.text, "code_source": CODE_SOURCE}
    found: Any = db.execute(sql.FIND_SAME_TEXT, wanted).fetchone()
    if found is None:
        return None
    row: MemoryRow = decoder(MemoryRow, "file")(found)
    existing = say_again(SqliteRows(db), row, draft, now)
    db.executemany(sql.ADD_TAG, [(tag, row.key) for tag in draft.tags])
    db.execute(sql.TOUCH_MENTIONED, (to_micros(now), row.key))
    return existing
