"""The row of a memory, each column declared once: how it is kept, who sets it, what shows it, what changes it. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import declare


class MemoryRow(NamedTuple):
    """A memory without its pieces."""

    id: Annotated[str, c.uid("mem_lost{}")]
    text: Annotated[str, c.TEXT.but(settable=True, kept=True)]
    tags: Annotated[
        tuple[str, ...],
        c.WORDS.but(default="[]", shown=True, settable=True, again="union", by_acts=True, kept=True),
    ]
    source: Annotated[str, c.TEXT.but(default="", shown=True, settable=True, by_acts=True, kept=True)]
    metadata: Annotated[Mapping[str, Any], c.OBJECT.but(settable=True, again="union", by_acts=True, kept=True)]
    thread: Annotated[int | None, c.MAYBE_LINK]
    created_at: Annotated[int, c.MOMENT.but(remedy=f.like("updated_at", "last_seen_at"), shown=True)]
    updated_at: Annotated[int, c.MOMENT.but(remedy=f.like("created_at", "last_seen_at"), shown=True)]
    last_seen_at: Annotated[int | None, c.MAYBE_MOMENT.but(remedy=f.like("updated_at", "created_at"), shown=True)]
    expires_at: Annotated[int | None, c.MAYBE_MOMENT.but(shown=True, settable=True, again="until", by_acts=True)]
    stale: Annotated[bool, c.FLAG.but(shown=True)]
    pinned: Annotated[bool, c.KEPT.but(shown=True, settable=True, again="larger")]
    content_hash: Annotated[bytes, c.HASH.but(remedy=f.hash_of("text"), found_by="content_hash")]
    version: Annotated[int, c.VERSION]
    trash: Annotated[int | None, c.TRASH]
    origin: Annotated[int | None, c.MAYBE_LINK]
    released_at: Annotated[int | None, c.MAYBE_MOMENT.but(shown=True)]
    key: Annotated[int, c.KEY]


MEMORY = declare(MemoryRow, "memory", "Memory", bins=True)
