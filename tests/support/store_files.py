"""Look into a home without memsweep: which files there are, and whether a workspace file is whole."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from memsweep.services.memory import Memory
from memsweep.store.file import portable
from memsweep.store.words import spread_script
from tests.support.inside import app_of, store_of


def files_of(home: Path) -> list[Path]:
    """The live workspace files, in the order of their names in the registry."""
    with open_file(home / "registry.db") as db:
        rows = list(db.execute("select file from workspace where deleted_at is null order by name"))
    return [home / "workspaces" / name for (name,) in rows]


def file_of(home: Path, workspace: str = "default") -> Path:
    with open_file(home / "registry.db") as db:
        found = db.execute("select file from workspace where name = ? and deleted_at is null", (workspace,)).fetchone()
    assert found, f"workspace {workspace!r} is not in the registry"
    return home / "workspaces" / str(found[0])


DAY = 86_400_000_000  # microseconds


class open_file:
    """A plain connection to one of our files, with the function its views need."""

    def __init__(self, path: Path) -> None:
        self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        self._db.set_busy_timeout(30_000)
        self._db.create_scalar_function("spread_script", spread_script, 1, deterministic=True)

    def __enter__(self) -> apsw.Connection:
        return self._db

    def __exit__(self, *_: object) -> None:
        self._db.close()


@contextmanager
def into(memory: Memory) -> Iterator[apsw.Connection]:
    """What a workspace holds, as a file: its own, or the one that a backup of its graph would be."""
    keeper: Any = store_of(memory).keeper
    if hasattr(keeper, "_as_file"):
        with keeper._as_file() as db:
            yield db
    else:
        with open_file(file_of(app_of(memory).settings.home, memory.workspace_id)) as db:
            yield db


def in_order(memory: Memory) -> list[str]:
    """The texts of live memories in threads, each where its first piece stands."""
    with into(memory) as db:
        rows = db.execute("""
            select memory.text from live_chunk as chunk join live_memory as memory on memory.id = chunk.memory
            where stream is not null group by memory.id order by min(stream_position)""")
        return [text for (text,) in rows]


@contextmanager
def held(home: Path, workspace: str = "default") -> Iterator[None]:
    """Somebody else is writing, and does not end until the block does; nothing is kept of it."""
    with open_file(file_of(home, workspace)) as db:
        db.execute("begin immediate")
        yield
        db.execute("rollback")


@contextmanager
def read(home: Path) -> Iterator[None]:
    """Somebody else has begun to read, and does not end until the block does."""
    with open_file(file_of(home)) as db:
        db.execute("begin")
        db.execute("select count(*) from memory").fetchall()
        yield
        db.execute("rollback")


def checkpoint(home: Path) -> None:
    """The log is written into the file, and is empty."""
    query(file_of(home), "pragma wal_checkpoint(truncate)")


def age(home: Path, days: float) -> None:
    """Every memory was made and last seen so much earlier."""
    query(file_of(home), "update memory set created_at = created_at - ?1, last_seen_at = last_seen_at - ?1", days * DAY)


def make_stale(home: Path, memory_id: str) -> None:
    """A note, as no operation does."""
    query(file_of(home), "update memory set stale = 1 where uid = ?", memory_id)


def tag(memory: Memory, memory_id: str, name: str) -> None:
    """Also an indexed file, which no operation tags."""
    store: Any = store_of(memory)
    if hasattr(store, "path"):
        query(store.path, "update memory set tags = json_array(?) where uid = ?", name, memory_id)
        query(store.path, "insert into memory_tag select ?, id from memory where uid = ?", name, memory_id)
    else:
        graph = store._graph
        graph.link.change(graph.name, "MATCH (m:Memory {id: $id}) SET m.tags = [$tag]", id=memory_id, tag=name)


def forget_what_merges_took_in(memory: Memory) -> None:
    """The first version did not write down which entity or fact it was."""
    with into(memory) as db:
        db.execute("update merge_move set b = null where kind in ('strength', 'target')")


def leave_acts_of(home: Path, receipt_id: str) -> None:
    """An earlier version left the acts alone when all that they were about went."""
    of_it = "where trash = (select id from receipt where uid = ?)"
    for table in ("memory_act", "contribution"):
        query(file_of(home), f"update {table} set trash = null {of_it}", receipt_id)


DAMAGES = {
    "no vectors": "delete from vector",
    "no dates": "update memory set created_at = 'oops'",
    "no text": "update memory set text = cast(x'ff' as text); update segment set tags = 'no json'",
    "chunks of no memory": "pragma foreign_keys = off; update chunk set memory = 4711",
}


def damage(home: Path, how: str, workspace: str = "default") -> None:
    """For doors that meet a damaged file; what the doctor finds in which has its tests in tests/care."""
    query(file_of(home, workspace), DAMAGES[how])


def damage_token(home: Path, name: str) -> None:
    query(home / "registry.db", "update token set workspaces = '{}' where name = ?", name)


def damage_tags(home: Path, memory_id: str) -> None:
    query(file_of(home), "update memory set tags = '{' where uid = ?", memory_id)


def rows_of(memory: Memory) -> dict[str, list[dict[str, Any]]]:
    """Every row of a workspace by its table, as a backup has them: to say that nothing at all has changed."""
    with into(memory) as db:
        return portable.rows_of(db)


def rows_in(file: Path) -> dict[str, list[dict[str, Any]]]:
    """The same of a file: a backup, for one."""
    with open_file(file) as db:
        return portable.rows_of(db)


def query(path: Path, statement: str, *values: Any) -> list[Any]:
    with open_file(path) as db:
        return [row[0] if len(row) == 1 else row for row in db.execute(statement, values)]


def count(path: Path, table: str = "live_memory") -> int:
    return int(query(path, f"select count(*) from {table}")[0])


def problems(path: Path) -> list[str]:
    """Everything in a workspace file that is not as it must be; empty for a whole one."""
    with open_file(path) as db:
        found = [str(row[0]) for row in db.execute("pragma integrity_check") if row[0] != "ok"]
        found += [f"{name}: {row}" for name, statement in _EMPTY.items() for row in db.execute(statement)]
        found += _text_problems(db)
        found += _vector_problems(db)
        try:
            db.execute("insert into chunk_fts (chunk_fts, rank) values ('integrity-check', 1)")
        except apsw.Error as error:
            found.append(f"full text does not match the live chunks: {error}")
    return found


# Each of these finds nothing in a whole file.
_EMPTY = {
    "memory without chunks": "select uid from memory where id not in (select memory from chunk)",
    "chunk without memory": "select uid from chunk where memory not in (select id from memory)",
    "chunk without vector": "select uid from chunk where id not in (select chunk from vector)",
    "vector without chunk": "select chunk from vector where chunk not in (select id from chunk)",
    "chunk without words": """
        select uid from chunk where trash is null and id not in (select id from chunk_fts_docsize)""",
    "words without chunk": """
        select id from chunk_fts_docsize where id not in (select id from chunk where trash is null)""",
    "mention without ends": """
        select chunk, entity from mention
        where chunk not in (select id from chunk) or entity not in (select id from entity)""",
    "relation without ends": """
        select uid from relation
        where subject not in (select id from entity) or object not in (select id from entity)""",
    "name seen in no chunk": """
        select name_key, value from name_seen, json_each(chunks) where value not in (select id from chunk)""",
    "memory without thread": """
        select uid from memory where thread is not null and thread not in (select id from thread)""",
    "two chunks in one place": """
        select stream, stream_position from chunk where stream is not null
        group by stream, stream_position having count(*) > 1""",
    "tags of no memory": "select tag, memory from memory_tag where memory not in (select id from memory)",
    "tags that disagree": """
        select uid from memory where (select count(*) from json_each(tags)) <>
        (select count(*) from memory_tag where memory_tag.memory = memory.id)""",
    "the same text twice": """
        select count(*), content_hash from memory where trash is null and stale = 0
        group by content_hash, thread having count(*) > 1""",
}


_TEXTS = "select id, uid, text, content_hash from memory where source <> 'code_indexer'"
_PARTS = "select position, start, text, hash from chunk where memory = ? order by position"


def _text_problems(db: apsw.Connection) -> list[str]:
    found = []
    for key, uid, text, content_hash in db.execute(_TEXTS):
        if content_hash != _hash(text):
            found.append(f"{uid}: the hash is not of this text")
        reached = 0
        for index, (position, start, part, part_hash) in enumerate(db.execute(_PARTS, (key,))):
            whole = text[start : start + len(part)] == part and part_hash == _hash(part)
            if position != index or start > reached or not whole:
                found.append(f"{uid}: chunk {index} is not a part of its memory")
            reached = start + len(part)
        if reached != len(text):
            found.append(f"{uid}: the chunks end at {reached} of {len(text)}")
    return found


def _vector_problems(db: apsw.Connection) -> list[str]:
    stored = db.execute("select value from meta where key = 'model'").fetchone()
    lengths = [row[0] for row in db.execute("select distinct length(data) from vector")]
    wanted = [json.loads(stored[0])["dimension"]] if stored and lengths else lengths and ["a model"]
    return [] if lengths == wanted else [f"vectors of {lengths} dimensions instead of {wanted}"]


def _hash(text: str) -> bytes:
    return hashlib.blake2b(text.encode(), digest_size=16).digest()
