"""Statements that keep what stands beside the rows of a file: words, vectors, tags, links. Pure text."""

from __future__ import annotations

from typing import Any, NamedTuple

_KEYS = "(select value from json_each(?))"


class Beside(NamedTuple):
    """Statements for what a file keeps beside the rows of a thing, each with their keys as a list."""

    columns: frozenset[str] = frozenset()
    """Those that it is made of."""
    leave: str = ""
    """Before these change, or the row goes."""
    enter: str = ""
    of_live: bool = False
    """In the trash there is nothing of it."""
    moved: str = ""
    """After the row went into the trash or came back."""
    freed: tuple[str, ...] = ()
    afterwards: tuple[str, ...] = ()
    """Once rows were freed, without keys."""


def _words(index: str, view: str, **more: Any) -> Beside:
    """The words of live rows, which leave an index as the view still has them, in ascending order."""
    of_these = f"from {view} where id in {_KEYS} order by id"
    return Beside(
        leave=f"insert into {index} ({index}, rowid, text) select 'delete', id, text {of_these}",
        enter=f"insert into {index} (rowid, text) select id, text {of_these}",
        of_live=True,
        afterwards=(f"insert into {index} ({index}) values ('optimize')", *more.pop("afterwards", ())),
        **more,
    )


# A mention is in the trash with one of its ends, and only then.
_FOLLOW = """
    update mention set trash = coalesce((select trash from chunk where chunk.id = mention.chunk),
                                        (select trash from entity where entity.id = mention.entity))
    where {} in (select value from json_each(?))"""
BESIDE = {
    "chunk": _words(
        "chunk_fts",
        "live_chunk",
        columns=frozenset({"text", "words"}),
        moved=_FOLLOW.format("chunk"),
        freed=(f"delete from vector where chunk in {_KEYS}", f"delete from mention where chunk in {_KEYS}"),
        afterwards=(
            "insert into meta (key, value) values ('vector_generation', 1)"
            " on conflict (key) do update set value = value + 1",
        ),
    ),
    "segment": _words("segment_fts", "segment_text", columns=frozenset({"text"})),
    "entity": Beside(moved=_FOLLOW.format("entity"), freed=(f"delete from mention where entity in {_KEYS}",)),
    "relation": Beside(freed=(f"delete from relation_source where relation in {_KEYS}",)),
    "memory": Beside(
        frozenset({"tags"}),
        leave=f"delete from memory_tag where memory in {_KEYS}",
        enter=f"insert or ignore into memory_tag (tag, memory) select tag.value, memory.id from memory,"
        f" json_each(memory.tags) as tag where memory.id in {_KEYS}",
        freed=(
            f"delete from code_file where memory in {_KEYS}",
            f"delete from relation_source where memory in {_KEYS}",
            f"delete from supersession where old in {_KEYS}",
            f"delete from supersession where new in {_KEYS}",
        ),
        afterwards=(  # folders of code that no file is left in
            "delete from code_root where id not in (select root from code_file)"
            " and id not in (select root from code_skip)",
            "delete from code_scope where root not in (select id from code_root)",
        ),
    ),
}
