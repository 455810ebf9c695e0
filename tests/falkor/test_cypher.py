"""Much of what is valid Cypher elsewhere fails on FalkorDB. Every query of ours is shown to a real server."""

import importlib
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from memsweep.model.listing import ListFilters
from memsweep.model.search import Filters
from memsweep.store.falkor import care_cypher, cypher, overview
from memsweep.store.falkor.rows import queries_of
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.wire import literal, rows_of, with_values
from memsweep.store.rows import Values
from memsweep.store.things.graph import MentionLink, RelationRow, RelationSource
from tests.support.engines import Home

MODULES = ("cypher", "surveying", "collector", "graph_cypher", "care_cypher",
           "superseding_cypher", "memory_act_cypher", "overview")  # fmt: skip
LABELS = {"label": "Memory", "memory": "Memory", "chunk": "Chunk", "entity": "Entity", "relation": "RELATED_TO",
          "kind": "RELATED_TO", "subject": "Entity", "object": "Entity", "begin": "Entity",
          "end": "Entity", "segment": "Segment"}  # fmt: skip
NUMBERS = {"receipt", "before", "limit", "after", "project", "plan", "from", "to", "reach", "revision", "length",
           "key", "target", "besides", "memory", "first", "expired_by"}  # fmt: skip
TEXTS = {"id", "name", "root", "filters", "subject", "search", "hash", "words", "type", "code_source", "generation",
         "label", "field", "exact", "start", "begins"}  # fmt: skip
PAIRS = {"items", "places", "ends", "names", "kind_ranges"}
# What must see everything: the survey, the trash, whole copies, and what there are few of.
LOOKS_AT_ALL = re.compile(
    r"COUNT_\w+|CODE_PLACES|CODE_PATHS|METADATA_WITH|\w*STAGED\w*|DROP_EMBEDDINGS|MEMORIES|SCOPES|CHUNK_COUNTS|LONE_CHUNKS|ENTITIES"
    r"|EDGES|STATEMENTS|MENTIONS|TEXTS|TOMBSTONES|DROP_SKIPS|TRASHED_\w+|NOT_PURGED|SINCE|NAMES_OF_CHUNKS|PROJECTS|WINDOWS"
    r"|NODES|RELATIONS|RELATION_ROWS|UNFIT|META|PUT_META|REVISION|TERMS|UNPINNED|ONCE_NAMED|\w+_BASES|MERGE_MOVES"
    r"|CODE_ROOTS|ENTITY_KEYS|EMBEDDING_KEYS|ALIASES|NOT_PURGED|SINCE|TAKEN_SINCE|NAMES|OTHER_NAMES|ROOTS|SUMMARIES|CHUNKLESS|FIND_ANY_CASE|STATEMENTS_OF_NOTES|AUDIT_OF|LINKS"
    r"|EVERY_LINK|ENDED_LINKS|OF_ORIGINS|MENTIONED_BY|MADE|SOURCES|ORIGINS|TAGS|STATES|SUPERSEDED|CODE_FILES|CODE_RUNS|NAMED|ONCE_NAMED_SO|PAGE|FILL|MEASURE_CHUNKS"
)


def queries() -> Iterator[tuple[str, str]]:
    for module in MODULES:
        for name, text in vars(importlib.import_module(f"memsweep.store.falkor.{module}")).items():
            if name.isupper() and not name.startswith("_"):
                several = text.values() if isinstance(text, dict) else text if isinstance(text, tuple) else [text]
                yield from ((f"{module}.{name}", each) for each in several if isinstance(each, str))

    yield "care_cypher.change_node", care_cypher.change_node("Entity", "TrashedEntity", ["ref"])
    yield "overview.page", overview.page(overview.passing(ListFilters(), None, None)[0], None)
    yield "care_cypher.drop_node", care_cypher.drop_node("Alias", ["name_key", "type_key"])


def value(name: str) -> Any:
    if name in NUMBERS:
        return 1
    if name in ("ended", "held_files"):
        return False
    if name in TEXTS:
        return "x"
    return [["a", "b", 3]] if name in PAIRS else {"a": 1} if name == "meta" else [1]


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GraphHandle]:
    home = Home("falkor", tmp_path_factory.mktemp("home"))  # a prefix of its own: a worker may come here twice
    engine = home.engine()
    engine.create("one", "", datetime.now(UTC))
    yield engine.open("one")._graph  # type: ignore[attr-defined]
    home.close()


@pytest.mark.parametrize(("name", "text"), [pytest.param(*each, id=each[0]) for each in queries()])
def test_falkor_understands_every_query_and_begins_at_an_index(name: str, text: str, graph: GraphHandle) -> None:
    is_form = re.search(r"\{(label|memory|chunk|entity|relation|kind|begin|end|segment)\}|\{\{", text)
    query = text.format(**LABELS) if is_form else text
    query = cypher.spelled(query, [{"key": 1, "name": "x", "set": {"key": 1}}])
    if re.search(r"\brow\b", query) and "AS row" not in query:  # a step of a transaction
        step = f"CALL {{ WITH w UNWIND $rows AS row {query} RETURN count(row) AS n }}"
        query = f"MATCH (w:Workspace) WITH w {step} RETURN n"
    values = {found: value(found) for found in set(re.findall(r"\$(\w+)", query))}
    plan = [line.decode().strip() for line in graph.link.read("GRAPH.EXPLAIN", graph.name, with_values(query, values))]
    scans = [line for line in plan if re.search("Label Scan|All Node", line) and ":Workspace" not in line]
    own = name.split(".")[1]
    assert scans == [] or LOOKS_AT_ALL.fullmatch(own), plan


def test_falkor_looks_at_the_links_of_what_it_found_and_not_at_all_there_are(graph: GraphHandle) -> None:
    where, values = cypher.condition(Filters(as_of=datetime.now(UTC)), None, None)
    query = with_values(cypher.live_of(where), {"keys": [1], **values})
    plan = b" ".join(graph.link.read("GRAPH.EXPLAIN", graph.name, query))
    assert b"Conditional Traverse | (m)-[link:SUPERSEDES]" in plan
    assert b"Edge By Index Scan" not in plan


@pytest.mark.parametrize(
    "given",
    ["", "'", '"', "\\", '\\"', "\n\r\t", "$x `y` {z}", "é 漢 🎉 \ufffe", "CYPHER a=1", 2**62, -1, 0.1, 1e300, True,
     None, ["a", ["b", 1]], {"a b": [1, None]}, "\x01\x1b\x7f"],
)  # fmt: skip
def test_falkor_gives_back_every_value_as_it_was_sent(given: Any, graph: GraphHandle) -> None:
    assert graph.ask("RETURN $given", given=given) == [[given]]


def test_falkor_finds_a_name_by_all_of_it_whatever_letters_it_has(graph: GraphHandle) -> None:
    names = [f"a{chr(sign)}b" for sign in range(1, 0x100)] + ["a", "b", "\x01"]
    graph.link.change(graph.name, "UNWIND $names AS name CREATE (:Entity {name_key: name})", names=names)
    found = graph.ask("UNWIND $names AS name MATCH (e:Entity {name_key: name}) RETURN name, e.name_key", names=names)
    assert sorted(found) == sorted([name, name] for name in names)


def test_numbers_that_are_none_are_refused() -> None:
    for number in (float("nan"), float("inf")):
        with pytest.raises(ValueError, match="cannot be stored"):
            literal(number)


def test_a_reply_of_a_kind_that_no_query_returns_is_refused() -> None:
    with pytest.raises(ValueError, match="kind 8"):
        rows_of([[], [[[8, []]]], []])


OF_FACT, OF_ENTITY = ("relation", "in", [1]), ("entity", "in", [1])
HERE, GONE = ("memory.trash", "null", None), ("chunk.trash", "known", None)
IN_MEMORIES = ("chunk.memory", "in", [2])
LINKED: dict[str, Any] = {
    "statements of facts": Values(RelationSource, ("memory.id",), (OF_FACT, HERE), "any"),
    "live statements": Values(RelationSource, ("memory",), (OF_FACT,)),
    "mentions in the trash": Values(MentionLink, ("chunk.trash",), (OF_ENTITY, GONE), "any"),
    "mentions in memories": Values(MentionLink, ("chunk",), (OF_ENTITY, IN_MEMORIES)),
    "mentions of memories": Values(MentionLink, ("entity",), (IN_MEMORIES, GONE), "any"),
    "facts": Values(RelationRow, ("subject", "object.name"), (("key", "in", [1]),), "any"),
    "facts of a subject": Values(RelationRow, ("object",), (("subject", "=", 1), ("relation_key", "=", "x"))),
}


@pytest.mark.parametrize("read", LINKED.values(), ids=LINKED)
def test_links_are_looked_up_by_an_index(graph: GraphHandle, read: Values) -> None:
    for text, values in queries_of(read):
        plan = graph.link.read("GRAPH.EXPLAIN", graph.name, with_values(text, values))
        scans = [step.decode().strip() for step in plan if b"Scan" in step]
        assert scans
        assert all("Index Scan" in step for step in scans), scans
