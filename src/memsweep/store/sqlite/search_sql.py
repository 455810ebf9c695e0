"""Statements of a search. Pure text; values are always bound."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from memsweep.model.conditions import Condition, kind_of
from memsweep.model.frozen import replace
from memsweep.model.search import Filters, HeldBack
from memsweep.model.text import to_json
from memsweep.model.times import to_micros
from memsweep.store.file.metadata_sql import value_at
from memsweep.store.sqlite.superseding_sql import superseded_chunks

WORD_COUNT = "select doc from chunk_word where term = ?"
ANY_STALE = "select exists (select 1 from memory where stale)"
_BY_EXPIRY = "memory indexed by memory_by_expiry"
ANY_EXPIRED = f"select exists (select 1 from {_BY_EXPIRY} where trash is null and expires_at <= ?)"
HIDDEN_CHUNKS = f"""
    select chunk.id, chunk_fts_docsize.sz
    from (select chunk.id as key from memory cross join chunk on chunk.memory = memory.id
          where memory.stale and memory.trash is null union {superseded_chunks(False)}) as hidden
    cross join chunk on chunk.id = hidden.key join chunk_fts_docsize on chunk_fts_docsize.id = chunk.id
    where chunk.trash is null"""
_NOT_LIVE = "select id from memory where stale union all select id from memory where trash is not null"
COUNT_CODE = "select count(*) from code_file where memory not in (select id from memory where trash is not null)"
COUNT_FILES = f"select count(*) from code_file where memory not in ({_NOT_LIVE})"
FILES_HAVING = """
    select chunk.memory, count(*) from chunk_fts cross join chunk on chunk.id = chunk_fts.rowid
    where chunk_fts match ? and chunk.memory in (select memory from code_file)
      and chunk.memory not in (select id from memory where stale)
    group by chunk.memory"""
# The plus keeps the full text from being asked once for each of them.
COUNT_LIVE = """
    select (select count(*) from chunk_fts
            where chunk_fts match asked.value and +rowid not in (select value from json_each(?1)))
    from json_each(?2) as asked order by asked.key"""
WORD_COUNTS = """
    select rowid, word_counts(chunk_fts) from chunk_fts
    where chunk_fts match ? and +rowid in (select value from json_each(?))"""
FULL_TEXT_TOTALS = "select block from chunk_fts_data where id = 1"
# A file, all that is in a folder, or what a pattern matches; below any root, or with the path of its root.
CODE_AT_PATH = """
    select memory from (select memory, {path} as place from code_file join code_root on code_root.id = root)
    join (select ? as wanted) where place = wanted or substr(place, 1, length(wanted) + 1) = wanted || '/'
      or place glob wanted"""
_EVER = -(2**62)
_RELATIVE = "code_file.path"
_WHOLE = "rtrim(code_root.path, '/') || '/' || code_file.path"
_OF_KIND = {
    "memory": "memory.id not in (select memory from code_file)",
    "code": "memory.id in (select memory from code_file)",
    "fact": "false",
    "segment": "false",
}
_CODE = "(select chunk.id from code_file cross join chunk on chunk.memory = code_file.memory)"
# Of files there may be few or many, and of notes as well: the list is always that of the files.
_CHUNKS_OF_KIND = {"memory": f"not in {_CODE}", "code": f"in {_CODE}", "fact": "in ()", "segment": "in ()"}


_COMPARED = {
    "memory": "memory.{}",
    "chunk": "chunk.{}",
    "code_file": "memory.id in (select memory from code_file where {})",
    "origin": "memory.origin in (select id from origin where {})",
}


def condition(filters: Filters) -> tuple[str, list[Any]]:
    """Return the filters as a condition on `memory` and `chunk`, with its values, but for staleness."""
    parts: list[str] = []
    values: list[Any] = []
    if filters.tags:
        parts.append(
            "memory.id in (select memory from memory_tag where tag in (select value from json_each(?))"
            " group by memory having count(*) = ?)"
        )
        values += [json.dumps(filters.tags), len(set(filters.tags))]
    for each in filters.comparisons:
        parts.append(_COMPARED[each.table].format(f"{each.column} {each.op} ?"))
        values.append(each.value)
    if filters.path is not None:
        place = _WHOLE if filters.path.startswith("/") else _RELATIVE
        parts.append(f"memory.id in ({CODE_AT_PATH.format(path=place)})")
        values.append(filters.path.rstrip("/"))
    if filters.kind is not None:
        parts.append(_OF_KIND[filters.kind])
    if filters.tier is not None:
        parts.append("coalesce((select tier from origin where id = memory.origin), 'unknown') = ?")
        values.append(filters.tier)
    for asked in filters.metadata:
        said, compared = _on_metadata(asked)
        parts.append(said)
        values += compared
    return " and ".join(parts), values


_TYPES = {"text": "('text')", "number": "('integer', 'real')", "flag": "('true', 'false')"}
_TYPE, _VALUE = "json_type(memory.metadata, ?)", "json_extract(memory.metadata, ?)"


def _on_metadata(asked: Condition) -> tuple[str, list[Any]]:
    """A condition on the value at a path, which is bound like all values; metadata that is damaged meets none."""
    path = "$" + "".join(f".{to_json(part)}" for part in asked.path)
    known, among = _in_index(asked) if asked.is_indexed else ("", [])
    parts: list[str] = []
    values: list[Any] = []
    if asked.op == "exists":
        parts.append(f"coalesce({_TYPE}, 'null') {'<>' if asked.values[0] else '='} 'null'")
        values.append(path)
    for kind, types in _TYPES.items() if asked.op != "exists" else ():
        if alike := [value for value in asked.values if kind_of(value) == kind]:
            compared = "in (select value from json_each(?))" if asked.op == "in" else f"{asked.op} ?"
            parts.append(f"({_TYPE} in {types} and {_VALUE} {compared})")
            values += [path, path, to_json(alike) if asked.op == "in" else alike[0]]
    return f"{known}case when json_valid(memory.metadata) then {' or '.join(parts)} else false end", among + values


def _in_index(asked: Condition) -> tuple[str, list[Any]]:
    """Narrow down by an index; texts, numbers and flags of one value are told apart afterwards."""
    known, values = f"select id from memory where trash is null and {value_at(asked.path)}", list[Any](asked.values)
    if asked.op == "exists":
        return (f"memory.id in ({known} is not null) and ", []) if values[0] else ("", [])
    if asked.op == "in":
        return f"memory.id in ({known} in (select value from json_each(?))) and ", [to_json(values)]
    return f"memory.id in ({known} {asked.op} ?) and ", values


HELD_BACK = """
    memory.released_at is null and memory.created_at > ? and (? or memory.source <> 'code_indexer')
    and memory.origin in (select id from origin where tier in (select value from json_each(?)))"""


EXPIRED = "coalesce(memory.expires_at <= ?, false)"
_EXPIRED_CHUNKS = f"""
    select chunk.id from {_BY_EXPIRY} cross join chunk on chunk.memory = memory.id
    where memory.trash is null and memory.expires_at <= ?"""


def held_values(back: HeldBack) -> list[Any]:
    return [_EVER if back.since is None else back.since, back.files, json.dumps(back.tiers)]


def expired_by(filters: Filters) -> int | None:
    """The moment by which what has expired is left out."""
    return None if filters.held_back is None else filters.held_back.expired_by


class Hidden(NamedTuple):
    """Flags that say whether there is anything stale, superseded or expired."""

    stale: bool
    superseded: bool
    expired: bool


_MEMBERS = "select chunk.id from memory join chunk on chunk.memory = memory.id where memory.trash is null"
# Where it is not said which memories, all are looked at, in an index that leaves the texts alone.
_LOOKED_OVER = _MEMBERS.replace("memory join", "memory indexed by memory_by_number cross join", 1)


def eligible(filters: Filters, hidden: Hidden, key: str) -> tuple[str, list[Any]]:
    """` and …` for a statement about chunks whose key column is `key`; empty where everything is eligible.

    A filter lists what passes; what is stale or superseded is listed to be left out: all lists are short in practice.
    """
    clause, values = condition(replace(filters, kind=None))
    listed = _MEMBERS if "memory.id in" in clause else _LOOKED_OVER
    parts = [f"{key} in ({listed} and {clause})"] if clause else []
    if filters.kind is not None:
        parts.append(f"{key} {_CHUNKS_OF_KIND[filters.kind]}")
    for _, chunks, more in _left_out(filters, hidden):
        parts.append(f"{key} not in ({chunks})")
        values += more
    return "".join(f" and {part}" for part in parts), values


def passes(filters: Filters, hidden: Hidden) -> tuple[str, list[Any]]:
    """The same as a condition on single chunks and their memories, where those are few: no list is made."""
    clause, values = condition(filters)
    parts = [clause] if clause else []
    for is_so, chunks, more in _left_out(filters, hidden):
        parts.append(f"not coalesce({is_so}, false)" if is_so else f"chunk.id not in ({chunks})")
        values += more
    return "".join(f" and {part}" for part in parts), values


def _left_out(filters: Filters, hidden: Hidden) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield what is no hit although the filters accept it: of a single memory, as a list of chunks, and the values."""
    if hidden.stale and not filters.include_stale:
        yield "memory.stale", f"{_MEMBERS} and memory.stale", []
    if (back := filters.held_back) is not None and back.tiers:
        yield HELD_BACK, f"{_MEMBERS} and {HELD_BACK}", held_values(back)
    if hidden.expired:
        yield EXPIRED, _EXPIRED_CHUNKS, [expired_by(filters)]
    if hidden.superseded:
        then = filters.as_of
        yield "", superseded_chunks(then is not None), [] if then is None else [to_micros(then)]


def match_words(where: str) -> str:
    matching = f"select rowid, bm25(chunk_fts) as score from chunk_fts where chunk_fts match ?{where}"
    return f"{matching} order by score, rowid limit ?"


_PLACE = "stream << 32 | stream_position"  # as model.search.place_at makes it


def live_of(where: str) -> str:
    """Return a query for those of some chunks that are live and pass, with their place and whether they are code.

    A chunk is in the trash with its memory, which is not looked at where nothing is asked of it.
    """
    of_memory = " cross join memory on memory.id = chunk.memory and memory.trash is null" if where else ""
    return (
        f"select chunk.id, {_PLACE}, chunk.memory in (select memory from code_file)"
        f" from json_each(?) as wanted cross join chunk on chunk.id = wanted.value{of_memory}"
        f" where chunk.trash is null{where}"
    )


def passing(where: str) -> str:
    return f"select chunk.id from chunk where chunk.trash is null{where}"


def newest(where: str) -> str:
    return f"select chunk.id, {_PLACE} from chunk where trash is null{where} order by chunk.id desc limit ?"


def at_places(where: str) -> str:
    return (
        f"select chunk.id, {_PLACE} from json_each(?) as wanted"
        " join chunk on chunk.stream = wanted.value >> 32 and chunk.stream_position = wanted.value & 0xffffffff"
        f" where chunk.trash is null{where}"
    )


def as_numbers(keys: Iterable[int]) -> str:
    """Keys as a JSON list, in their order; whole numbers look alike in Python, which takes half as long."""
    return str(list(keys))


STASH_MATCHES = """
    select segment.place, -bm25(segment_fts) from segment_fts join segment on segment.id = segment_fts.rowid
    where segment_fts match :words and segment.project = :window and segment.stash is not null
    order by segment_fts.rank limit :count"""
