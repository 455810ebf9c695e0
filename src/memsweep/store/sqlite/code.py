"""Code files in the store. Every method is one transaction, every function runs inside the caller's."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter

import apsw

from memsweep.model.code import (
    CodeLink,
    FileChunk,
    FileWrite,
    Listing,
    RunEnd,
    other_case,
    says_nothing,
    things_of,
)
from memsweep.model.contribution import Contribution, Unstated, settled
from memsweep.model.memory import CODE_SOURCE, NamedThing
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.text import case_key, name_key, spelled
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.code_files import CodeFiles, RunWrites, StoredChunk, compare_chunks, ensure_root, keep_listed
from memsweep.store.file.connect import Pool, insert, one, row
from memsweep.store.file.meta import add_event
from memsweep.store.journals import Origins, note_if_any
from memsweep.store.refusals import file_removed_meanwhile
from memsweep.store.sqlite import code_sql, sql
from memsweep.store.sqlite.rows import PoolRows, SqliteRows
from memsweep.store.things.graph import RelationRow

NewId = Callable[[str], str]
REFER = attrgetter("key")


class SqliteCodeFiles(CodeFiles):
    """Implements `memsweep.store.code_files.CodeFiles`."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(PoolRows(pool), REFER)
        self._pool = pool

    def write(
        self,
        root: str,
        files: Sequence[FileWrite],
        model: EmbeddingModel,
        now: datetime,
        new_id: NewId,
        origin: Origin = UNKNOWN,
    ) -> None:
        from memsweep.store.adding import claim_model

        at = to_micros(now)
        with self._pool.writing() as db:
            claim_model(SqliteRows(db), model)
            refuse_doubles(db, root, files)
            key, names = ensure_root(SqliteRows(db), root).key, FileNames(db, at, new_id, files, origin)
            _settle(db, set().union(*[_write_file(db, key, file, names, at) for file in files]))

    def end_run(self, run: RunEnd, now: datetime) -> None:
        with self._pool.writing() as db:
            RunWrites(SqliteRows(db), run, now, REFER).write()
            if (event := run.event(now)) is not None:
                add_event(db, event)


def refuse_doubles(db: apsw.Connection, root: str, files: Sequence[FileWrite]) -> None:
    """A file that is new to this root may have become another root's since it was looked for."""
    known = {uid for (uid,) in db.execute(code_sql.KNOWN_IDS, (json.dumps([file.memory_id for file in files]),))}
    places = [f"{root.rstrip('/')}/{file.path}" for file in files if file.memory_id not in known]
    bound = {"places": json.dumps(places), "root": ensure_root(SqliteRows(db), root).key}
    if places and (found := one(db, code_sql.KNOWN_ELSEWHERE, bound)) is not None:
        raise file_removed_meanwhile(found)


def _write_file(db: apsw.Connection, root: int, file: FileWrite, names: FileNames, now: int) -> set[int]:
    """The file in its new form: chunks that did not change keep their rows. The relations that it states no more."""
    memory = _memory(db, file, now, names.origin)
    values = {
        "memory": memory,
        "root": root,
        "path": file.path,
        "language": file.language,
        "stamp": file.mark.stamp,
        "digest": file.mark.digest,
        "read_at_ns": file.mark.read_at_ns,
        "lines": file.lines,
        "functions": file.functions,
        "classes": file.classes,
        "encoding": file.encoding,
        "failure": file.failure,
    }
    db.execute(sql.SET_CODE_FILE, values)
    db.execute(sql.DROP_CODE_SKIP, (root, file.path))
    if file.taken_from is not None:
        keep_listed(SqliteRows(db), [Listing(*file.taken_from, file.language)], REFER)
    chunks = _write_chunks(db, memory, file.chunks)
    _write_mentions(db, memory, {(chunks[symbol.chunk], names.key(symbol.thing)) for symbol in file.symbols})
    return _write_links(db, memory, file.links, names, now)


def _memory(db: apsw.Connection, file: FileWrite, now: int, origin: int | None) -> int:
    known: int | None = one(db, sql.LIVE_MEMORY_KEY, (file.memory_id,))
    values = {"text": file.text, "hash": file.content_hash, "now": now, "origin": origin}
    if known is not None:
        db.execute(sql.CHANGE_CODE_MEMORY, {**values, "id": known})
        return known
    if one(db, sql.MEMORY_KEY, (file.memory_id,)) is not None:
        raise file_removed_meanwhile(file.path)
    return insert(db, sql.ADD_CODE_MEMORY, {**values, "uid": file.memory_id, "source": CODE_SOURCE})


def _write_chunks(db: apsw.Connection, memory: int, chunks: Sequence[FileChunk]) -> list[int]:
    """Keys of the file's chunks in their order."""
    changes = compare_chunks(list(map(StoredChunk._make, db.execute(sql.CHUNKS_OF_MEMORY, (memory,)))), chunks)
    for position, known in changes.kept.items():
        if not known.is_still(chunks[position], position):
            _move_chunk(db, memory, known, chunks[position], position)
    keys = {position: known.key for position, known in changes.kept.items()}
    keys |= zip(changes.new, _add_chunks(db, memory, chunks, changes.new), strict=True)
    for known in changes.dropped:
        _drop_chunk(db, known)
    return [keys[position] for position in range(len(chunks))]


def _move_chunk(db: apsw.Connection, memory: int, known: StoredChunk, chunk: FileChunk, position: int) -> None:
    if chunk.words != known.words:
        db.execute(sql.DROP_WORDS, (known.key, known.text, known.words))
        db.execute(sql.ADD_WORDS, (known.key, chunk.text, chunk.words))
    after = (position, chunk.text, chunk.first_line, chunk.last_line, chunk.symbol, chunk.kind, chunk.words)
    db.execute(sql.MOVE_CHUNK, (*after, -memory, position, known.key))


def _add_chunks(
    db: apsw.Connection, memory: int, chunks: Sequence[FileChunk], new: Mapping[int, int | None]
) -> list[int]:
    """Pieces that the file did not have, or has once more: those take the vector of the same one."""
    added = [(at, chunks[at]) for at in new]
    rows = [
        (c.id, memory, at, c.text, c.first_line, c.last_line, c.hash, -memory, at, c.symbol, c.kind, c.words)
        for at, c in added
    ]
    keys = [key for (key,) in db.executemany(sql.ADD_CODE_CHUNK, rows)]
    made = list(zip(keys, added, strict=True))
    db.executemany(sql.ADD_VECTOR, [(key, chunk.vector) for key, (at, chunk) in made if new[at] is None])
    db.executemany(sql.COPY_VECTOR, [(key, new[at]) for key, (at, _) in made if new[at] is not None])
    db.executemany(sql.ADD_WORDS, [(key, chunk.text, chunk.words) for key, (_, chunk) in made])
    return keys


def _drop_chunk(db: apsw.Connection, known: StoredChunk) -> None:
    db.execute(sql.DROP_WORDS, (known.key, known.text, known.words))
    for statement in (sql.DROP_VECTOR, sql.DROP_MENTIONS, sql.DROP_CHUNK):
        db.execute(statement, (known.key,))


class FileNames:
    """Keys of the named things of some files, each looked up once a transaction."""

    def __init__(
        self, db: apsw.Connection, now: int, new_id: NewId, files: Sequence[FileWrite], origin: Origin = UNKNOWN
    ) -> None:
        self._db, self._now = db, now
        self.origin = Origins(SqliteRows(db)).key_of(origin)
        self.new_id = new_id
        self._keys: dict[NamedThing, int] = {}
        self._aliases = bool(one(db, sql.ANY_ALIAS))
        self._cases = bool(one(db, code_sql.ANY_CASE))
        self._written = json.dumps([file.memory_id for file in files])
        self._wanted = {(spelled(thing.name), name_key(thing.type)) for thing in things_of(files)}

    def key(self, thing: NamedThing) -> int:
        found = self._keys.get(thing)
        if found is None:
            found = self._keys[thing] = self._find(thing)
        return found

    def _find(self, thing: NamedThing) -> int:
        name, kind = name_key(thing.name), name_key(thing.type)
        if self._cases and (exact := one(self._db, sql.FIND_ENTITY, (case_key(thing.name), kind))) is not None:
            self._db.execute(sql.SEE_ENTITY_AT, (self._now, exact))
            return int(exact)
        if self._aliases and (old := one(self._db, sql.FIND_ENTITY, (name, kind))) is not None:
            self._db.execute(sql.SEE_ENTITY_AT, (self._now, old))
            key, known = int(old), one(self._db, code_sql.NAME_OF, (old,))
        else:
            key, known = self._see(thing, name)
        if name_key(known) != name or spelled(known) == spelled(thing.name):
            return key
        return self._other_case(thing, key, known)

    def _see(self, thing: NamedThing, key: str) -> tuple[int, str]:
        """The entity of that key, made if it is new: its key and its name."""
        names = {"name": thing.name, "key": key, "type": thing.type, "type_key": name_key(thing.type)}
        made = {"uid": self.new_id("ent"), "now": self._now, "origin": self.origin}
        found: tuple[int, str] = row(self._db, sql.SEE_ENTITY, {**made, **names})
        return found

    def _other_case(self, thing: NamedThing, key: int, known: str) -> int:
        wanted = (spelled(known), name_key(thing.type)) in self._wanted
        asked = {"id": key, "code": CODE_SOURCE, "written": self._written}
        used, given = (0, 0) if wanted else row(self._db, code_sql.CASE_IN_USE, asked)
        match other_case(wanted=wanted, used=bool(used), given=bool(given)):
            case "renamed":
                self._db.execute(code_sql.RENAME_ENTITY, (thing.name, key))
            case "another":
                self._cases = True
                return self._see(thing, case_key(thing.name))[0]
        return key


def _write_mentions(db: apsw.Connection, memory: int, wanted: set[tuple[int, int]]) -> None:
    have = set(db.execute(sql.MENTIONS_OF_MEMORY, (memory,)))
    db.executemany(sql.DROP_MENTION, sorted(have - wanted))
    db.executemany(sql.ADD_MENTION, [(*pair, None) for pair in sorted(wanted - have)])


def _write_links(db: apsw.Connection, memory: int, links: Sequence[CodeLink], names: FileNames, now: int) -> set[int]:
    """Write what the file states now; return the keys of what it states no more."""
    ends = [(link, names.key(link.subject), names.key(link.object)) for link in links]
    rows = [
        (names.new_id("rel"), *keys, link.relation, name_key(link.relation), now, now, now, names.origin)
        for link, *keys in ends
        if not says_nothing(link, are_one=keys[0] == keys[1])
    ]
    wanted = {key for (key,) in db.executemany(sql.SEE_RELATION, rows)}
    note_if_any(
        SqliteRows(db), [Contribution(key, "see", now, value=1.0, origin=names.origin, memory=memory) for key in wanted]
    )
    have = {key for (key,) in db.execute(sql.RELATIONS_OF_MEMORY, (memory,))}
    db.executemany(sql.ADD_SOURCE, [(key, memory) for key in sorted(wanted - have)])
    db.executemany(sql.DROP_SOURCE, [(key, memory) for key in sorted(have - wanted)])
    return have - wanted


def _settle(db: apsw.Connection, unstated: set[int]) -> None:
    """Move what no live file states any more to the trash with those that do, or free it."""
    found: dict[int, Unstated] = {}
    for key, explicit, trash, memory, holder in db.execute(sql.WHO_STATES, (json.dumps(sorted(unstated)),)):
        known = found.setdefault(key, Unstated(key, bool(explicit), trash))
        if memory is not None:
            found[key] = known._replace(holders=(*known.holders, holder))
    freed, moved = settled(found.values())
    rows = SqliteRows(db)
    rows.free(RelationRow, ("key", "in", freed))
    rows.move(RelationRow, moved)
