"""Stores made to order: rows written straight into a workspace file, and read back whole."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from memsweep.app import App, Memory, make_app
from memsweep.collector.collect import CollectorDependencies
from memsweep.model.ids import make_id
from memsweep.model.memory import EmbeddingModel
from memsweep.model.text import content_hash
from memsweep.model.times import to_micros
from memsweep.settings import load_settings
from tests.support import contents, store_files
from tests.support.memory_disk import MEMORY_DISK

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = 86_400_000_000
DIMENSION = 4
MODEL = EmbeddingModel("test", DIMENSION)
KINDS = ("memory", "chunk", "entity", "relation")
# What a collection writes about itself; everything else must come back as it was.
RECORDS = {"plan", "plan_item", "receipt", "audit", "sqlite_sequence", "tombstone"}


@dataclass(frozen=True)
class Note:
    """A memory to be written. `path` makes it a code file; `chunks` = 0 makes it an empty one."""

    text: str
    path: str | None = None
    root: int = 0
    stale: bool = False
    pinned: bool = False
    age_days: float = 10.0
    seen_days: float | None = None
    never_seen: bool = False
    expires_days: float | None = None
    thread: str | None = None
    chunks: int = 1
    tags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Thing:
    name: str
    type: str = "Concept"
    pinned: bool = False
    explicit: bool = False
    age_days: float = 10.0


@dataclass(frozen=True)
class Link:
    """A relation between things by their index; `sources` are the memories that state it."""

    subject: int
    object: int
    relation: str = "knows"
    explicit: bool = False
    sources: tuple[int, ...] = ()
    weight: float | None = 1.0
    closed: bool = False
    """Whether another fact has replaced it, a day ago."""


@dataclass(frozen=True)
class StoreSpec:
    """A whole store: `mentions` are (memory, chunk, thing), `strays` chunks without a memory and what they mention.

    `folder` holds the roots of the code files.
    """

    notes: tuple[Note, ...] = ()
    things: tuple[Thing, ...] = ()
    links: tuple[Link, ...] = ()
    mentions: tuple[tuple[int, int, int], ...] = ()
    strays: tuple[tuple[int, ...], ...] = ()
    folder: str = "/repository"


def vector_of(text: str) -> bytes:
    """Some vector that is always the same for a text."""
    return blake2b(text.encode(), digest_size=DIMENSION).digest()


def embed(texts: Sequence[str]) -> tuple[EmbeddingModel, list[bytes]]:
    """As the collector is handed it, by the model of what is stored."""
    return MODEL, [vector_of(text) for text in texts]


@dataclass
class Place:
    """An open workspace and its file."""

    home: Path
    app: App
    workspace: str = "default"
    ticks: Iterator[int] = field(default_factory=count)

    @property
    def memory(self) -> Memory:
        return self.app.memory(self.workspace)

    @property
    def file(self) -> Path:
        return store_files.file_of(self.home, self.workspace)

    def tools(self, now: datetime = NOW, **settings: Any) -> CollectorDependencies:
        """The collector with a clock that stands still."""
        return CollectorDependencies(
            store=self.app.engine.open(self.workspace).collector,
            workspace_id=self.workspace,
            actor="tester",
            clock=lambda: now,
            new_id=self.new_id,
            **{"embed": embed, **settings},
        )

    def new_id(self, prefix: str) -> str:
        return make_id(prefix, next(self.ticks).to_bytes(8, "big"))

    def query(self, statement: str, *values: Any) -> list[Any]:
        return store_files.query(self.file, statement, *values)

    def names(self) -> list[str]:
        """Of the live entities."""
        return contents.names(self.memory)

    def live_ids(self) -> list[str]:
        """Of the live memories, as they were made."""
        return contents.ids(self.memory)

    def ids(self, table: str, *names: str) -> list[str]:
        """Ids of entities by name, or of memories by text."""
        column = "text" if table == "memory" else "name"
        return [self.query(f"select uid from {table} where {column} = ? order by id desc", name)[0] for name in names]


@cache
def _empty_home() -> tempfile.TemporaryDirectory[str]:
    """A home with an empty default workspace, made once and copied."""
    folder = tempfile.TemporaryDirectory(prefix="memsweep-gc-")
    app = make_app(load_settings({"MEMSWEEP_HOME": folder.name}))
    app.create_workspace("default")
    app.close()
    return folder


@contextmanager
def store_with(spec: StoreSpec, now: datetime = NOW) -> Iterator[Place]:
    """A store of its own with these rows."""
    with tempfile.TemporaryDirectory(prefix="memsweep-gc-", dir=MEMORY_DISK) as folder:
        home = Path(folder) / "home"
        shutil.copytree(_empty_home().name, home)
        write_rows(store_files.file_of(home), spec, now)
        app = make_app(load_settings({"MEMSWEEP_HOME": str(home)}))
        try:
            yield Place(home, app)
        finally:
            app.close()


def write_rows(file: Path, spec: StoreSpec, now: datetime = NOW) -> None:
    """Write the rows of a plot, with all that belongs to them."""
    at = to_micros(now)
    with store_files.open_file(file) as db, db:
        model = json.dumps({"name": "test", "dimension": DIMENSION})
        db.execute("insert into meta values ('model', ?) on conflict do nothing", (model,))
        notes = [_write_note(db, note, at, spec.folder) for note in spec.notes]
        things = [_write_thing(db, thing, at) for thing in spec.things]
        for note, chunk, thing in spec.mentions:
            if chunk < len(notes[note][1]):
                db.execute(
                    "insert or ignore into mention (chunk, entity) values (?, ?)",
                    (notes[note][1][chunk], things[thing]),
                )
        for link in spec.links:
            _write_link(db, link, things, [key for key, _ in notes], at)
        for position, mentioned in enumerate(spec.strays):
            chunk = _write_chunk(db, 10_000_000 + position, 0, f"stray piece {position} of nothing")
            db.executemany("insert into mention (chunk, entity) values (?, ?)", [(chunk, things[n]) for n in mentioned])


def set_stale(file: Path, key: int, stale: bool = True) -> None:
    """As an index run finds it."""
    store_files.query(file, "update memory set stale = ?, version = version + 1 where id = ?", stale, key)


def verify(file: Path, path: str, at: datetime) -> None:
    """An index run saw a file, which had not changed."""
    store_files.query(
        file, "insert into code_scope (id, root, filters, verified_at) values (1, 1, '{}', ?)", to_micros(at)
    )
    store_files.query(file, "update code_file set scope = 1 where path = ?", path)


def untrash_entity(file: Path, key: int) -> None:
    """It came back by itself."""
    store_files.query(file, "update entity set trash = null where id = ?", key)


def tamper_with_plan(file: Path) -> None:
    store_files.query(file, "update plan_item set key = 4 where position = 0")


def _write_note(db: apsw.Connection, note: Note, at: int, folder: str) -> tuple[int, list[int]]:
    thread = None
    if note.thread is not None:
        db.execute("insert into thread (uid) values (?) on conflict do nothing", (note.thread,))
        (thread,) = db.execute("select id from thread where uid = ?", (note.thread,)).fetchone()
    (number,) = db.execute("select coalesce(max(id), 0) + 1 from memory").fetchone()
    created = at - round(note.age_days * DAY)
    seen = created if note.seen_days is None else at - round(note.seen_days * DAY)
    row = {
        "id": number,
        "uid": f"mem_{number:012}",
        "text": note.text,
        "tags": json.dumps(note.tags),
        "source": "code_indexer" if note.path else "",
        "metadata": '{"planted":true}',
        "thread": thread,
        "created_at": created,
        "updated_at": created,
        "last_seen_at": None if note.never_seen else seen,
        "expires_at": None if note.expires_days is None else at + round(note.expires_days * DAY),
        "stale": note.stale,
        "pinned": note.pinned,
        "content_hash": content_hash(note.text),
    }
    db.execute(f"insert into memory ({', '.join(row)}) values ({', '.join(':' + name for name in row)})", row)
    db.executemany("insert into memory_tag values (?, ?)", [(tag, number) for tag in note.tags])
    if note.path is not None:
        root = f"{folder}/{note.root}"
        db.execute("insert into code_root (id, path) values (?, ?) on conflict do nothing", (note.root + 1, root))
        db.execute(
            "insert into code_file (memory, root, path, language, stamp, digest, read_at_ns, lines, functions, classes,"
            " encoding) values (?, ?, ?, 'python', '1:1', 'd', 1, 1, 0, 0, 'utf-8')",
            (number, note.root + 1, note.path),
        )
    width = -(-len(note.text) // max(1, note.chunks))
    parts = [note.text[n * width : (n + 1) * width] or "rest" for n in range(note.chunks)]
    return number, [_write_chunk(db, number, position, part) for position, part in enumerate(parts)]


def _write_chunk(db: apsw.Connection, memory: int, position: int, text: str) -> int:
    (number,) = db.execute("select coalesce(max(id), 0) + 1 from chunk").fetchone()
    db.execute(
        "insert into chunk (id, uid, memory, position, text, start, first_line, last_line, hash, words)"
        " values (?, ?, ?, ?, ?, 0, 1, 1, ?, '')",
        (number, f"chk_{number:012}", memory, position, text, content_hash(text)),
    )
    data = bytes((number * step) % 251 for step in range(1, DIMENSION + 1))
    db.execute("insert into vector values (?, ?)", (number, data))
    db.execute("insert into chunk_fts (rowid, text) values (?, spread_script(? || ' '))", (number, text))
    return number


def _write_thing(db: apsw.Connection, thing: Thing, at: int) -> int:
    (number,) = db.execute("select coalesce(max(id), 0) + 1 from entity").fetchone()
    db.execute(
        "insert into entity (id, uid, name, name_key, type, type_key, handed_in, pinned, created_at, last_seen)"
        " values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, f"ent_{number:012}", thing.name, thing.name.lower(), thing.type, thing.type.lower(),
            thing.explicit, thing.pinned, at - round(thing.age_days * DAY), at,
        ),
    )  # fmt: skip
    return number


def _write_link(db: apsw.Connection, link: Link, things: Sequence[int], notes: Sequence[int], at: int) -> None:
    (number,) = db.execute("select coalesce(max(id), 0) + 1 from relation").fetchone()
    db.execute(
        "insert or ignore into relation (id, uid, subject, object, relation, relation_key, weight, handed_in,"
        " created_at, last_seen, valid_at, invalid_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            number, f"rel_{number:012}", things[link.subject], things[link.object], link.relation, link.relation,
            link.weight, link.explicit, at, at, at, at - DAY if link.closed else None,
        ),
    )  # fmt: skip
    if db.changes():
        db.executemany("insert into relation_source values (?, ?)", [(number, notes[n]) for n in set(link.sources)])


# Reading everything back


def dump(file: Path) -> dict[str, list[Any]]:
    """Every row of every table but the collection's own records, in order; and the full text agrees with them."""
    with store_files.open_file(file) as db:
        tables = [
            name
            for name, kind in db.execute("select name, type from pragma_table_list where schema = 'main'")
            if kind == "table" and not name.startswith("sqlite_") and name not in RECORDS
        ]
        rows = {name: sorted(map(repr, db.execute(f'select * from "{name}"'))) for name in tables}
        db.execute("insert into chunk_fts (chunk_fts, rank) values ('integrity-check', 1)")
    return rows


def live(file: Path) -> dict[str, list[Any]]:
    """The same without the trash: what every read sees."""
    statements = {
        "memory": "select * from live_memory",
        "chunk": "select chunk.*, vector.data from chunk join vector on vector.chunk = chunk.id where trash is null",
        "entity": "select * from live_entity",
        "relation": "select * from live_relation",
        "mention": "select * from mention where trash is null",
        "tag": "select * from memory_tag where memory in (select id from live_memory)",
        "thread": "select * from thread",
        "code_file": "select * from code_file where memory in (select id from live_memory)",
        "source": """
            select * from relation_source
            where relation in (select id from live_relation) and memory in (select id from live_memory)""",
        "words": "select id from chunk_fts_docsize",
    }
    with store_files.open_file(file) as db:
        rows = {name: sorted(map(repr, db.execute(statement))) for name, statement in statements.items()}
        db.execute("insert into chunk_fts (chunk_fts, rank) values ('integrity-check', 1)")
    return rows


def trash_of(file: Path, receipt_id: str) -> dict[str, set[int]]:
    """The keys of what a receipt holds, by kind."""
    statement = "select {0}.id from {0} join receipt on receipt.id = {0}.trash where receipt.uid = ?"
    return {kind: set(store_files.query(file, statement.format(kind), receipt_id)) for kind in KINDS}


def broken(file: Path) -> list[str]:
    """Invariants that hold in every store, whatever was collected, undone or purged; empty for a whole one."""
    found = []
    with store_files.open_file(file) as db:
        found += [str(row[0]) for row in db.execute("pragma integrity_check") if row[0] != "ok"]
        found += [f"{name}: {row}" for name, statement in _BROKEN.items() for row in db.execute(statement)]
        db.execute("insert into chunk_fts (chunk_fts, rank) values ('integrity-check', 1)")
    return found


_BROKEN = {
    "chunk out of step with its memory": """
        select chunk.uid from chunk join memory on memory.id = chunk.memory where chunk.trash is not memory.trash""",
    "chunk without vector": "select uid from chunk where id not in (select chunk from vector)",
    "vector without chunk": "select chunk from vector where chunk not in (select id from chunk)",
    "words of what is not live": """
        select id from chunk_fts_docsize where id not in (select id from chunk where trash is null)""",
    "live chunk without words": """
        select uid from chunk where trash is null and id not in (select id from chunk_fts_docsize)""",
    "mention without ends": """
        select chunk, entity from mention
        where chunk not in (select id from chunk) or entity not in (select id from entity)""",
    "mention out of step with its ends": """
        select chunk.uid, entity.uid, mention.trash, chunk.trash, entity.trash from mention
        join chunk on chunk.id = mention.chunk join entity on entity.id = mention.entity
        where case when chunk.trash is null and entity.trash is null then mention.trash is not null
              else mention.trash is null or not (mention.trash is chunk.trash or mention.trash is entity.trash) end""",
    "live memory that mentions what is in the trash": """
        select chunk.uid, entity.uid from mention join chunk on chunk.id = mention.chunk and chunk.trash is null
        join memory on memory.id = chunk.memory
        join entity on entity.id = mention.entity and entity.trash is not null""",
    "relation without ends": """
        select uid from relation
        where subject not in (select id from entity) or object not in (select id from entity)""",
    "live relation of what is in the trash": """
        select relation.uid from relation join entity on entity.id in (subject, object)
        where relation.trash is null and entity.trash is not null""",
    "statement without ends": """
        select relation, memory from relation_source
        where relation not in (select id from relation) or memory not in (select id from memory)""",
    "tag of no memory": "select tag from memory_tag where memory not in (select id from memory)",
    "file of no memory": "select path from code_file where memory not in (select id from memory)",
    "two live files in one place": """
        select root, path from code_file join live_memory on live_memory.id = code_file.memory
        group by root, path having count(*) > 1""",
    "trash of no receipt": """
        select trash from (select trash from memory union select trash from chunk union select trash from entity
                           union select trash from relation union select trash from mention)
        where trash is not null and trash not in (select id from receipt)""",
    "trash of a purged receipt": """
        select uid from receipt where purged_at is not null and id in
            (select trash from memory union select trash from chunk union select trash from entity
             union select trash from relation)""",
    "name seen in no chunk": """
        select name_key from name_seen, json_each(chunks) where value not in (select id from chunk)""",
    "item of no plan": "select plan from plan_item where plan not in (select id from plan)",
    "memory of no thread": """
        select uid from memory where thread is not null and thread not in (select id from thread)""",
}
