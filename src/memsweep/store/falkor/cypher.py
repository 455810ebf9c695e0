"""Cypher of remembering, finding and reading. Pure text; every value is a parameter.

A constant that ends in a verb of change is a step of a transaction: it does something with each `row`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from memsweep.model import wildcards
from memsweep.model.search import Filters
from memsweep.model.wildcards import expression, letter_set
from memsweep.store.things.memories import MEMORY

_PARAMETER = re.compile(r"\$(\w+)")
_WILDCARD = re.compile(r"(\*|\?|\[\^?+\]?+[^]]*+(?:\]|\Z))")
_CLOSED = re.compile(r"\[\^?+\]?+[^]]*+\]")
_SPREAD = re.compile(r"\{\*([a-z.]+)\}")

# the workspace and its transactions
MAKE_WORKSPACE = "CREATE (w:Workspace) SET w = $meta"
# The server puts off work on what was created, and would pay for it in every write (10 ms at 100,000 memories) until
# something is deleted.
SETTLE = "CREATE (s:Settled) DELETE s"
META = "MATCH (w:Workspace) RETURN properties(w)"
SET_SCHEMA = "MATCH (w:Workspace) SET w.schema = $schema"
UNREADY_INDEXES = "CALL db.indexes() YIELD status WITH status WHERE status <> 'OPERATIONAL' RETURN count(status)"
COUNT_NODES = "MATCH (n) RETURN count(n)"


@lru_cache
def all_at_once(steps: tuple[str, ...]) -> str:
    """Every step in one query, which does nothing if the revision is another by now."""
    calls = [
        f"CALL {{ WITH w UNWIND $rows{n} AS row {step.strip()} RETURN count(row) AS done{n} }}"
        for n, step in enumerate(steps)
    ]
    # The server works off what was created before it sets anything: so nothing is set before everything is created.
    head, tail = "MATCH (w:Workspace) WHERE w.revision = $revision WITH w", "SET w += $meta"
    return "\n".join([head, *calls, f"{tail} SET w.revision = $revision + 1 RETURN 1"])


@lru_cache
def together(queries: tuple[str, ...]) -> str:
    """Several reads as one query, which costs the server less: its one row holds the rows of each.

    `$name` of the first is `$name_0` here. A query may end in an order and a limit, but not in a count.
    """
    calls = []
    for n, query in enumerate(queries):
        body, _, tail = _PARAMETER.sub(rf"$\1_{n}", query).rpartition("RETURN ")
        columns, _, order = tail.partition(" ORDER BY ")
        ordered = f"WITH * ORDER BY {order} " if order else ""
        calls.append(f"CALL {{ {body.strip()} {ordered}RETURN collect([{columns}]) AS rows{n} }}")
    return "\n".join([*calls, "RETURN " + ", ".join(f"rows{n}" for n in range(len(queries)))])


def spelled(step: str, rows: Sequence[Any]) -> str:
    """The step with `{*row}` written out: a node made with its properties costs a tenth of one that gets them set."""
    for place in _SPREAD.findall(step):
        found = [row for row in rows if isinstance(row, Mapping)]
        for part in place.split(".")[1:]:
            found = [row[part] for row in found]
        names = dict.fromkeys(name for row in found for name in row)
        step = step.replace(f"{{*{place}}}", props(place, names))
    return step


def props(place: str, names: Iterable[str]) -> str:
    return "{" + ", ".join([*(f"{name}: {place}.{name}" for name in names), f"ref: toString({place}.key)"]) + "}"


_ENTITY = "e.key, e.id, e.name, e.name_key, e.type_key, e.handed_in, e.last_seen, e.pinned, e.version, e.origin"
ADD_CHUNK = """
    MATCH (m:Memory {ref: toString(row.memory)}) CREATE (m)-[:HAS_CHUNK {index: row.position}]->(:Chunk {*row})"""
ADD_MENTION = (
    "MATCH (c:Chunk {ref: toString(row.chunk)}) MATCH (e:Entity {ref: toString(row.entity)}) MERGE (c)-[:MENTIONS]->(e)"
)


# reading
CHUNKS_OF_MEMORY = "MATCH (m:Memory {id: $id})-[:HAS_CHUNK]->(c:Chunk) RETURN count(c)"
# Raises neither the revision nor the version: being read is no change.
MARK_SEEN = """
    UNWIND $seen AS seen MATCH (m:Memory {id: seen[0]}) WHERE coalesce(m.last_seen_at, m.created_at) < seen[1]
    SET m.last_seen_at = seen[1]"""
ENTITIES_OF_MEMORY = """
    MATCH (m:Memory {id: $id})-[:HAS_CHUNK]->(:Chunk)-[:MENTIONS]->(e:Entity)
    WITH DISTINCT e ORDER BY e.key RETURN e.name, e.type"""
COUNT_MEMORIES = "MATCH (m:Memory) RETURN count(m), min(m.created_at), max(m.created_at)"
COUNT_CHUNKS = "MATCH (c:Chunk) RETURN count(c)"
MEASURE_CHUNKS = "MATCH (c:Chunk) RETURN count(c), sum(c.length)"
COUNT_ENTITIES = "MATCH (e:Entity) RETURN count(e)"
COUNT_RELATIONS = "MATCH ()-[r:RELATED_TO]->() RETURN count(r)"
COUNT_STALE = "MATCH (m:Memory {stale: true}) RETURN count(m)"
# searching
_OWNER = "m.key, m.path, m.origin, m.created_at, c.hash"
# What the full text has and does not count: as if it were not there.
HIDDEN_TERMS = """
    MATCH (m:Memory {stale: true})-[:HAS_CHUNK]->(c:Chunk) RETURN c.key AS key, c.terms AS terms, c.length AS length
    UNION
    MATCH ()-[link:SUPERSEDES]->() WHERE link.at > -4611686018427387904
    WITH startNode(link).ref AS newer, endNode(link).ref AS older
    MATCH (:Memory {ref: newer}) MATCH (:Memory {ref: older})-[:HAS_CHUNK]->(c:Chunk)
    RETURN c.key AS key, c.terms AS terms, c.length AS length"""
# Counted word by word: to group all that they find would take the server a fifth longer.
COUNT_EACH = """
    UNWIND $words AS words
    CALL { WITH words CALL db.idx.fulltext.queryNodes('Chunk', words) YIELD node RETURN count(node) AS having }
    WITH words, having WHERE having > 0 RETURN words, having"""
COUNT_FILES = "MATCH (m:Memory {source: 'code_indexer'}) RETURN count(m)"
COUNT_LIVE_FILES = "MATCH (m:Memory {source: 'code_indexer'}) WHERE NOT m.stale RETURN count(m)"
FILES_HAVING = """
    UNWIND $words AS words
    CALL { WITH words CALL db.idx.fulltext.queryNodes('Chunk', words) YIELD node
           WITH node AS c MATCH (c)<-[:HAS_CHUNK]-(m:Memory) WHERE m.path IS NOT NULL AND NOT m.stale
           RETURN m.key AS file, count(c) AS pieces }
    RETURN words, file, pieces"""
CODE_PLACES = "MATCH (m:Memory) WHERE m.path IS NOT NULL RETURN m.key, m.root, m.path"
EMBEDDED = "MATCH (e:Embedding) WHERE e.ref IN $refs RETURN e.key"
# As one text, like the terms below: a search asks for some hundreds.
_VECTORS = "string.join(collect(ref), ' ') AS keys, string.join(collect(coalesce(e.data, '')), '|') AS vectors"
EMBEDDINGS = f"UNWIND $refs AS ref MATCH (e:Embedding {{ref: ref}}) WITH {_VECTORS} RETURN keys, vectors"
_SPOT = "c.key, c.stream, c.stream_position"
_SPOTS = f"collect(CASE WHEN c.stream IS NULL THEN null ELSE [{_SPOT}] END) AS spots"
# The same of those that a chunk has, and the places of the chunks that have one.
NEAR_OF_ALL = f"""
    UNWIND $refs AS ref MATCH (e:Embedding {{ref: ref}}) MATCH (c:Chunk {{ref: ref}})
    WITH {_VECTORS}, {_SPOTS} RETURN keys, vectors, spots"""
EMBEDDINGS_AFTER = "MATCH (e:Embedding) WHERE e.key > $after RETURN e.key, e.data ORDER BY e.key LIMIT $limit"

# another model
UNSTAGED = """
    MATCH (c:{label}) OPTIONAL MATCH (s:StagedEmbedding {{ref: toString(c.key)}}) WITH c, s WHERE s IS NULL
    RETURN c.key, c.text ORDER BY c.key LIMIT $limit"""
COUNT_UNSTAGED = """
    MATCH (c:{label}) OPTIONAL MATCH (s:StagedEmbedding {{ref: toString(c.key)}}) WITH c, s WHERE s IS NULL
    RETURN count(c)"""
STAGE = "MERGE (s:StagedEmbedding {ref: toString(row.key)}) ON CREATE SET s.key = row.key, s.data = row.data"
DROP_STAGED = "MATCH (s:StagedEmbedding) DELETE s"
DROP_EMBEDDINGS = "MATCH (e:Embedding) DELETE e"
TAKE_STAGED = "MATCH (s:StagedEmbedding) REMOVE s:StagedEmbedding SET s:Embedding"


def unstaged(label: str) -> str:
    return UNSTAGED.format(label=label)


def count_unstaged(label: str) -> str:
    return COUNT_UNSTAGED.format(label=label)


def path_matches(place: str, wanted: str) -> bool:
    """A file, all that is in a folder, or what a pattern matches."""
    return place == wanted or place.startswith(wanted + "/") or _glob(wanted).fullmatch(place) is not None


def _glob(pattern: str) -> re.Pattern[str]:
    """`*` and `?` match everything, folders too; brackets hold letters to choose from."""
    signs = {"*": wildcards.ANYTHING, "?": r"[\s\S]"}
    return re.compile(
        expression(
            signs.get(part) or (_letters(part) if part.startswith("[") else re.escape(part))
            for part in _WILDCARD.split(pattern)
        )
    )


def _letters(part: str) -> str:
    """A bracket that is never closed matches nothing, as in SQLite."""
    return letter_set(part[1:-1]) if _CLOSED.fullmatch(part) else "(?!)"


_OF_KIND = {"memory": "m.path IS NULL", "code": "m.path IS NOT NULL", "fact": "false", "segment": "false"}


expired = "coalesce(m.expires_at <= $expired_by, false)"
# What no search need ask before: nothing that is remembered expires earlier.
FIRST_EXPIRY = f"MATCH (m:Memory) WHERE m.expires_at > {-(2**62)} RETURN min(m.expires_at)"
held_back = (
    "m.released_at IS NULL AND m.created_at > $held_since AND ($held_files OR m.path IS NULL)"
    " AND coalesce(m.origin, 0) IN $held_keys"
)


def condition(
    filters: Filters, compared_keys: Sequence[int] | None, origin_keys: Sequence[int | None] | None = None
) -> tuple[str, dict[str, Any]]:
    """Return the filters as a condition on `m` and `c` that leaves `c`, with its values."""
    parts, values = asked_for(filters, compared_keys, origin_keys)
    if not filters.include_stale:
        parts.append("NOT m.stale")
    # A pattern in the condition itself would cost three times as much as one that may match nothing. The time of a link
    # is compared afterwards: in the pattern, the server would look at every link there is by the index of their times.
    links = "OPTIONAL MATCH (m)<-[link:SUPERSEDES]-(newer:Memory)"
    if filters.as_of is None:
        current = f"{links} WITH c, m, newer WHERE newer IS NULL"
    else:
        by_then = "sum(CASE WHEN link.at <= $as_of THEN 1 ELSE 0 END)"
        current = f"{links} WITH c, m, {by_then} AS newer_ones WHERE newer_ones = 0"
    return f"{' AND '.join(parts) or 'true'} {current}", values


def asked_for(
    filters: Filters, compared_keys: Sequence[int] | None, origin_keys: Sequence[int | None] | None
) -> tuple[list[str], dict[str, Any]]:
    """Return the conditions that filters ask for by name, part by part, with the values."""
    parts: list[str] = []
    values: dict[str, Any] = {}
    if filters.tags:
        parts.append("ALL(tag IN $tags WHERE tag IN m.tags)")
        values["tags"] = list(filters.tags)
    for each in filters.comparisons:
        if each.table == "origin":  # which `origin_keys` are of
            continue
        # An index finds nothing empty; what older nodes lack is what a table has by default.
        found = f"{'c' if each.table == 'chunk' else 'm'}.{each.column}"
        if each.table == "memory" and each.value == MEMORY.columns[each.column].default:
            found, values[f"{each.name}_by_default"] = f"coalesce({found}, ${each.name}_by_default)", each.value
        parts.append(f"{found} {each.op} ${each.name}")
        values[each.name] = each.value
    if compared_keys is not None:
        parts.append("m.key IN $compared_keys")
        values["compared_keys"] = list(compared_keys)
    if origin_keys is not None:
        parts.append("coalesce(m.origin, 0) IN $origin_keys")
        values["origin_keys"] = [key or 0 for key in origin_keys]
    if filters.kind is not None:
        parts.append(_OF_KIND[filters.kind])
    return parts, values


# No query looks into JSON: what has all the signs is compared afterwards.
def metadata_with(among: str) -> str:
    """Return a query for metadata with some signs, of the memories that a condition of an index lets pass."""
    signed = "ALL(sign IN $signs WHERE m.metadata CONTAINS sign)"
    return f"MATCH (m:Memory) WHERE {among}{signed} RETURN m.key, m.metadata"


_BEST = """CALL db.idx.fulltext.queryNodes('Chunk', $words) YIELD node, score
    WITH node AS c, score ORDER BY score DESC, c.key LIMIT $reach"""
# As one text: there may be 1,600 of them, and a value of its own for each takes both ends longer than all the rest.
# What has no number, being damaged, gets one that nothing has, so that as many numbers come as texts.
_TERMS = """string.join(collect(coalesce(toString(c.key), '-1')), ' ') AS keys,
    string.join(collect(coalesce(c.terms, '')), '|') AS terms"""
# The terms of the best `reach` chunks of a full-text query, whatever memory they are of, and the places of those that
# have one.
BEST_OF_ALL = f"{_BEST} WITH {_TERMS}, {_SPOTS} RETURN keys, terms, spots"


def best_of(where: str) -> str:
    """The same of those that pass, with the places of all and where they are from."""
    passing = f"MATCH (c)<-[:HAS_CHUNK]-(m:Memory) WHERE {where}"
    return f"{_BEST} {passing} WITH {_TERMS}, collect([{_SPOT}, {_OWNER}]) AS spots RETURN keys, terms, spots"


def live_of(where: str) -> str:
    """Return a query for those of some chunks that are live and pass, with their place and their owner."""
    # With the condition in the first MATCH the server would begin at every memory.
    found = "UNWIND $keys AS key MATCH (c:Chunk {ref: toString(key)}) WITH c MATCH (c)<-[:HAS_CHUNK]-(m:Memory)"
    return f"{found} WHERE {where} RETURN {_SPOT}, {_OWNER}"


def newest(where: str) -> str:
    return f"MATCH (c:Chunk)<-[:HAS_CHUNK]-(m:Memory) WHERE {where} RETURN {_SPOT} ORDER BY c.key DESC LIMIT $limit"


def at_places(where: str) -> str:
    return (
        "UNWIND $places AS place MATCH (c:Chunk {stream: place[0]}) WHERE c.stream_position = place[1] WITH c"
        f" MATCH (c)<-[:HAS_CHUNK]-(m:Memory) WHERE {where} RETURN {_SPOT}"
    )


REVISION = "MATCH (w:Workspace) RETURN w.revision"
