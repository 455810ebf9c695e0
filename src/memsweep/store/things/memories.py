"""Memories with their pieces, where they came from, and what they were: declared for every engine. Pure."""

from typing import Annotated, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import declare
from memsweep.model.memory_row import MEMORY as MEMORY
from memsweep.model.memory_row import MemoryRow as MemoryRow
from memsweep.model.origin import TIERS
from memsweep.model.revision import MemoryAct, Revision
from memsweep.model.superseding import Bases, Pair, bases_from, bases_text


class OriginRow(NamedTuple):
    door: Annotated[str, c.TEXT]
    client: Annotated[str, c.TEXT.but(in_words=True)]
    client_version: Annotated[str, c.TEXT.but(in_words=True)]
    session: Annotated[str, c.TEXT.but(in_words=True)]
    tool: Annotated[str, c.TEXT.but(in_words=True)]
    tier: Annotated[str, c.choice(*TIERS).but(remedy=f.to("import"))]
    key: Annotated[int, c.KEY] = 0


class ThreadRow(NamedTuple):
    id: Annotated[str, c.uid("lost thread {}").but(in_words=True)]
    key: Annotated[int, c.KEY.but(sql="integer primary key")] = 0


class MemoryTag(NamedTuple):
    tag: Annotated[str, c.TEXT.but(remedy=f.drop)]
    memory: Annotated[int, c.LINK.but(refers="memory")]


class ChunkRow(NamedTuple):
    """A piece of a memory."""

    id: Annotated[str, c.uid("chk_lost{}").but(unique=False)]
    memory: Annotated[int, c.LINK]
    position: Annotated[int, c.NUMBER]
    text: Annotated[str, c.TEXT]
    start: Annotated[int, c.NUMBER]
    first_line: Annotated[int, c.NUMBER.but(remedy=f.to(1))]
    last_line: Annotated[int, c.NUMBER.but(remedy=f.to(1))]
    hash: Annotated[bytes, c.HASH.but(remedy=f.hash_of("text"))]
    stream: Annotated[int | None, c.MAYBE_LINK.but(fits=f.or_null(f.whole()))]
    stream_position: Annotated[int | None, c.MAYBE_NUMBER]
    symbol: Annotated[str, c.TEXT.but(default="")]
    symbol_kind: Annotated[str, c.TEXT.but(default="")]
    words: Annotated[str, c.TEXT.but(default="")]
    trash: Annotated[int | None, c.TRASH]
    key: Annotated[int, c.KEY]


class VectorRow(NamedTuple):
    key: Annotated[int, c.KEY.but(sql="integer primary key", in_file="chunk", refers="chunk")]
    data: Annotated[bytes, c.BYTES]


_BASES = c.TEXT.but(
    fits=f.bases,
    remedy=f.to("[]"),
    default="[]",
    stored="origins",
    to_file=bases_text,
    from_file=bases_from,
    to_node=bases_text,
    from_node=bases_from,
)


class Supersession(NamedTuple):
    """One memory has taken the place of another."""

    old: Annotated[int, c.LINK]
    new: Annotated[int, c.LINK]
    at: Annotated[int, c.MOMENT]
    bases: Annotated[Bases, _BASES]
    """Who says so."""

    @property
    def pair(self) -> Pair:
        return self.old, self.new


ORIGIN = declare(OriginRow, "origin", "Origin")
THREAD = declare(ThreadRow, "thread", "Thread")
MEMORY_TAG = declare(MemoryTag, "memory_tag", "")
CHUNK = declare(
    ChunkRow,
    "chunk",
    "Chunk",
    bins=True,
    owner=("memory", MEMORY),
    together=(
        f.Together(
            ("stream", "stream_position"), lambda row: (row["stream"] is None) == (row["stream_position"] is None)
        ),
    ),
)
VECTOR = declare(VectorRow, "vector", "Embedding")
SUPERSESSION = declare(Supersession, "supersession", "", edge=("SUPERSEDES",), ends={"new": MEMORY, "old": MEMORY})
REVISION = declare(Revision, "revision", "Revision", known_by=("key",))
MEMORY_ACT = declare(MemoryAct, "memory_act", "MemoryAct")
