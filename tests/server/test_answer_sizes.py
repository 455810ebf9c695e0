"""No answer of a tool is larger than an agent can take, whatever is stored under whatever names."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.app import App, make_app
from memsweep.report.limits import MOST_BYTES, fitted, piece, size_of
from memsweep.settings import load_settings
from tests.support.client import ServerClient, connected, say_yes
from tests.support.engines import ENGINES, Home

LONG = "長い名前 " * 200  # a name as long as it may be, in letters of three bytes
PROSE = 'All work and "no play" makes Jack\ta dull boy.\n'


class FilledServer:
    def __init__(self, home: Home, client: ServerClient, folder: Path) -> None:
        self.client = client
        app = make_app(load_settings(home.variables))
        try:
            self.known = fill(app, folder)
        finally:
            app.close()

    def with_ids(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.with_ids(each) for each in value]
        return self.known.get(value, value) if isinstance(value, str) else value


def fill(app: App, folder: Path) -> dict[str, Any]:
    """A workspace in which everything is long and there is much of it."""
    memory = app.memory()
    code = folder / "code"
    code.mkdir()
    functions = "\n".join(f"def function_{n}_{'x' * 40}(a, b):\n    return a + b * {n}\n" for n in range(300))
    (code / "big.py").write_text(f"# {PROSE * 200}".replace("\n", "\n# ") + f"\n{functions}")
    memory.code.index(str(code))
    (big,) = [hit.passage.memory_id for hit in memory.search("function_17", limit=1).hits]
    whole = {f"key {n}": LONG for n in range(15)}
    note = memory.remember(PROSE * 700, metadata=whole, tags=[f"tag {n} {'t' * 100}" for n in range(60)]).memory_id
    for number in range(30):
        memory.remember(f"{LONG} {number}", expires_at="2020-01-01", tags=[f"{LONG[:150]} {n}" for n in range(20)])
    names = [f"{LONG[:180]} {number}" for number in range(80)]
    memory.graph.relate_many(
        {
            "entities": [{"name": name, "type": "Concept"} for name in names],
            "relations": [{"from": names[0], "relation": f"R{n}", "to": name} for n, name in enumerate(names[1:])],
        }
    )
    segments = [{"segment_id": f"s{n}", "text": f"{LONG} {n}", "type": "log"} for n in range(50)]
    memory.context("p").add(segments)
    memory.context("p").prune([f"s{n}" for n in range(25)])
    for number in range(20):
        memory.delete(memory.remember(f"gone {number} {LONG}").memory_id, confirm=True)
    for number in range(60):
        app.create_workspace(f"w{number}", LONG[:900])
    return {"code": big, "note": note, "entity": names[0], "folder": str(code)}


@pytest.fixture(scope="module", params=ENGINES)
def filled_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FilledServer]:
    folder = tmp_path_factory.mktemp("sizes")
    home = Home(request.param, folder / "home")
    with connected(home.folder, "legacy", "--profile", "full", asked=say_yes, **home.settings) as client:
        yield FilledServer(home, client, folder)
    home.close()


CALLS: list[tuple[str, dict[str, Any]]] = [
    ("add_memory", {"text": "short", "tags": ["x" * 200] * 60}),
    ("search_memory", {"query": "長い名前", "limit": 50, "detail": "full"}),
    ("search_memory", {"query": "", "limit": 50}),
    ("get_memory", {"memory_id": "code"}),
    ("get_memory", {"memory_id": "note"}),
    ("get_stats", {}),
    ("list_workspaces", {}),
    ("index_codebase", {"repo_path": "folder"}),
    ("prune_memory", {"strategy": "expired", "limit": 50}),
    ("prune_memory", {"strategy": "duplicates", "limit": 50}),
    ("list_trash", {"limit": 50}),
    ("explain_memory", {"id": "code"}),
    ("graph_entities", {"limit": 100}),
    ("get_related", {"entity": "entity", "limit": 100}),
    ("graph_query", {"entities": ["entity"], "limit": 100}),
    ("graph_status", {}),
    ("graph_validate", {"limit": 50}),
    ("graph_communities", {"limit": 50}),
    ("graph_context", {"limit": 50}),
    ("graph_prune", {"node_threshold": 1.0, "edge_threshold": 1.0, "max_age_days": 0.0}),
    ("graph_decay", {}),
    ("merge_entities", {}),
    ("build_graph", {"text": "\n".join(f"Name{n} Surname{n} knows Other{n} Person{n}." for n in range(400))}),
    (
        "context_add",
        {"project_id": "q", "segments": [{"segment_id": f"{n} {'x' * 90}", "text": "a"} for n in range(400)]},
    ),
    ("context_gc_analyze", {"project_id": "p", "budget": 100, "max_candidates": 100}),
    ("context_stash_search", {"project_id": "p", "query": "長い名前", "limit": 50}),
    ("context_restore", {"project_id": "p", "query": "長い名前"}),
    ("context_working_set", {"project_id": "p"}),
    ("context_list", {}),
    ("context_gc_prune", {"project_id": "p", "segment_ids": [f"s{n}" for n in range(40, 50)]}),
]


@pytest.mark.slow
def test_every_answer_fits(filled_server: FilledServer) -> None:
    too_large = {}
    for tool, wanted in CALLS:
        arguments = {key: filled_server.with_ids(value) for key, value in wanted.items()}
        size = len(
            json.dumps(filled_server.client.call(tool, **arguments), ensure_ascii=False, separators=(",", ":")).encode()
        )
        if size > MOST_BYTES:
            too_large[f"{tool} {sorted(wanted)}"] = size
    assert too_large == {}
    page = filled_server.client.call("get_memory", memory_id=filled_server.known["code"])
    assert (page["path"], page["language"]) == ("big.py", "python")
    assert page["lines"] == len(Path(page["file_path"]).read_text().splitlines())
    assert page["verified_at"]


@pytest.mark.slow
def test_a_long_text_is_read_in_pieces_that_join(filled_server: FilledServer, tmp_path: Path) -> None:
    for name, expected in {"note": PROSE * 700}.items():
        arguments: dict[str, Any] = {"memory_id": filled_server.known[name]}
        text = ""
        while True:
            page = filled_server.client.call("get_memory", **arguments)
            text += page["text"]
            if "next_offset" not in page:
                break
            assert "characters so far" in page["note"]
            arguments["offset"] = page["next_offset"]
        assert text == expected


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=300).map(lambda text: text * 20),
    lambda inner: st.lists(inner, max_size=30) | st.dictionaries(st.text(max_size=8), inner, max_size=8),
    max_leaves=40,
)


@given(st.dictionaries(st.sampled_from(["text", "items", "note", "memory_id", "results"]), values))
def test_what_fits_is_left_alone_and_what_does_not_is_shortened(answer: dict[str, Any]) -> None:
    if not isinstance(answer.get("note", ""), str):
        del answer["note"]
    before = json.dumps(answer)
    shown = fitted(answer)
    assert json.dumps(answer) == before, "nothing is changed in place"
    if size_of(answer) <= MOST_BYTES:
        assert shown == answer
    else:
        assert "Shortened to fit" in shown["note"]
        assert shown.keys() >= answer.keys()
        assert shown.get("memory_id") == answer.get("memory_id") or not isinstance(answer["memory_id"], str)


@given(st.text(min_size=1), st.integers(1, 200))
def test_pieces_join_and_fit(text: str, most: int) -> None:
    joined = ""
    while len(joined) < len(text):
        part = piece(text, len(joined), most)
        assert part
        assert len(part) == 1 or size_of(part) <= most
        joined += part
    assert joined == text
