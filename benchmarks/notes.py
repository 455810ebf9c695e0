"""Stores of many notes, written in bulk: with tags, sources, origins, names, facts, repetitions and indexed files."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import apsw

from common import blend, make_up
from memsweep import open_memory
from memsweep.clock import now
from memsweep.model.text import content_hash
from memsweep.model.times import to_micros
from memsweep.store.file import connect
from memsweep.store.file.schema import WORKSPACE_MIGRATIONS

WORKSPACE = "large"
DIMENSION = 256
DAY = 86_400_000_000
CODE_EVERY = 10  # of the memories one in so many is an indexed file
REPEATED_EVERY = 50  # one in so many says what the one before it says, in nearly the same words
SOURCES = ("chat", "meeting-notes", "slack", "cli", "")
TAGS = ("deploy", "incident", "decision", "howto", "preference", "customer")
ORIGINS = (("mcp", "claude-code", "agent"), ("cli", "", "person"), ("hook", "codex", "tool"))


def build(home: Path, count: int) -> Path:
    """A home with one workspace of so many memories; its file."""
    with open_memory(WORKSPACE, home=home) as memory:
        memory.remember("a first memory, which makes the workspace and names its model")
    (file,) = (home / "workspaces").glob("*.db")
    with connect.plain_errors(home):
        db = connect.connect(file, WORKSPACE_MIGRATIONS)
        db.execute("pragma synchronous=off; pragma cache_size=-400000")
        with db:
            fill(db, count)
        db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        db.close()
    return file


def fill(db: apsw.Connection, count: int) -> None:
    chance, ends = random.Random(3), to_micros(now())
    db.execute("insert into code_root (id, path, total_files) values (1, '/repository', ?)", (count // CODE_EVERY,))
    db.executemany(
        "insert into origin (id, door, client, client_version, session, tool, tier) values (?, ?, ?, '1', ?, '', ?)",
        ((10 + n, door, client, f"s{n}", tier) for n, (door, client, tier) in enumerate(ORIGINS)),
    )
    _fill_graph(db, count, ends - 90 * DAY)
    texts = _texts(count, chance)
    for memory in range(2, count + 2):
        text, at = next(texts), ends - 90 * DAY + (memory - 2) * 90 * DAY // count
        is_code = memory % CODE_EVERY == 0
        tags = chance.sample(TAGS, 2)
        db.execute(
            "insert into memory (id, uid, text, source, created_at, updated_at, last_seen_at, content_hash, stale,"
            " tags, origin) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *(memory, f"mem_{memory:012}", text, "code_indexer" if is_code else SOURCES[memory % len(SOURCES)]),
                *(at, at, at, content_hash(text), is_code and memory % 70 == 0, f'["{tags[0]}", "{tags[1]}"]'),
                10 + memory % len(ORIGINS),
            ),
        )
        db.executemany("insert into memory_tag values (?, ?)", ((tag, memory) for tag in tags))
        if is_code:
            db.execute(
                "insert into code_file (memory, root, path, language, stamp, digest, read_at_ns, lines, functions,"
                " classes, encoding) values (?, 1, ?, ?, '1:1', 'd', 1, 3, 1, 0, 'utf-8')",
                (memory, f"src/file{memory}.py", ("python", "go", "rust")[memory // CODE_EVERY % 3]),
            )
        db.execute(
            "insert into chunk (id, uid, memory, position, text, start, first_line, last_line, hash)"
            " values (?, ?, ?, 0, ?, 0, 1, 1, ?)",
            (memory, f"chk_{memory:012}", memory, text, content_hash(text)),
        )
        db.execute(
            "insert into audit (at, actor, action, subject, counts) values (?, 'mcp', 'add', ?, ?)",
            (at, f"mem_{memory:012}", f'{{"memories":1,"chunks":1,"entities":0,"ids":["mem_{memory:012}"]}}'),
        )
        db.execute("insert into vector values (?, ?)", (memory, chance.randbytes(DIMENSION)))
        db.execute("insert into chunk_fts (rowid, text) values (?, spread_script(? || ' '))", (memory, text))
        for entity in (chance.randrange(1, count // 5 + 2), count // 5 + memory):
            db.execute("insert into mention (chunk, entity) values (?, ?) on conflict do nothing", (memory, entity))
        db.execute("insert into relation_source values (?, ?)", (memory - 1, memory))


def _texts(count: int, chance: random.Random) -> Iterator[str]:
    """Some turns of conversations each; now and then one that another has said before, but for a word."""
    turns = blend(make_up(), 3 * count + 9)
    last = ""
    for number in range(count):
        if last and number % REPEATED_EVERY == 0:
            words = last.split()
            yield " ".join([*words[:-1], "really", words[-1]])
            continue
        last = " ".join(next(turns).text for _ in range(3)) + f" That is remark {chance.randrange(1_000_000)}."
        yield last


def _fill_graph(db: apsw.Connection, count: int, at: int) -> None:
    """Names that many memories share, one that each has to itself, and a fact between the two."""
    shared = count // 5 + 1
    db.executemany(
        "insert into entity (id, uid, name, name_key, type, type_key, created_at, last_seen)"
        " values (?, ?, ?, ?, 'Concept', 'concept', ?, ?)",
        ((n, f"ent_{n:012}", f"Name {n}", f"name {n}", at, at) for n in range(1, shared + count + 2)),
    )
    db.executemany(
        "insert into relation (id, uid, subject, object, relation, relation_key, weight, created_at, last_seen)"
        " values (?, ?, ?, ?, 'USES', 'uses', 1.0, ?, ?)",
        ((n, f"rel_{n:012}", shared + n, n % shared + 1, at, at) for n in range(1, count + 2)),
    )
