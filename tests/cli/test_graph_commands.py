"""memsweep graph, in words and in JSON."""

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.commands import Ran
from tests.support.engines import on_every_engine

pytestmark = on_every_engine
Run = Callable[..., Ran]


@pytest.fixture
def graph(run: Run) -> Run:
    run("graph", "relate", "Ada", "WORKS_ON", "Engine", "--from-type", "Person", "--weight", "0.5")
    run("graph", "relate", "Charles", "BUILDS", "Engine")
    run("graph", "relate", "Ada", "LIVES_IN", "London")
    return run


def test_a_fact_is_stated_strengthened_and_replaced(run: Run) -> None:
    assert run("graph", "relate", "Ada", "LIVES_IN", "London").out == "created: Ada LIVES_IN London (1.00)\n"
    assert run("graph", "relate", "ada", "lives_in", "london").out.startswith("strengthened: Ada ")
    assert "closed: rel_" in run("graph", "relate", "Ada", "LIVES_IN", "Paris", "--replaces").out
    ended = run("graph", "query", "Ada", "--ended", "--json").json
    assert {each["to"] for each in ended["relations"]} == {"London", "Paris"}
    assert {each["to"] for each in run("graph", "query", "Ada", "--json").json["relations"]} == {"Paris"}
    assert "until" in run("graph", "query", "Ada", "--ended").out


@pytest.mark.slow
def test_a_fact_is_confirmed_and_corrected(graph: Run) -> None:
    assert graph("graph", "reinforce", "Ada", "WORKS_ON", "Engine").out == "0.50 → 0.65\n"
    down = graph("graph", "reinforce", "Ada", "WORKS_ON", "Engine", "--correct", "--reason", "doubt", "--json").json
    assert (down["old_weight"], down["new_weight"]) == (0.65, 0.35)
    assert graph("graph", "reinforce", "Ada", "OWNS", "Engine").status == 3


@pytest.mark.slow
def test_entities_and_their_neighbours_are_listed(graph: Run) -> None:
    listed = graph("graph", "entities", "--type", "person")
    assert "Ada" in listed.out
    assert "Engine" not in listed.out
    assert listed.out.endswith("1 of 1.\n")
    near = graph("graph", "related", "Engine")
    assert "BUILDS" in near.out
    assert [each["name"] for each in graph("graph", "related", "Ada", "--json").json["related"]] == ["Engine", "London"]
    assert graph("graph", "related", "Nobody").status == 3


@pytest.mark.slow
def test_the_whole_graph_is_described(graph: Run) -> None:
    status = graph("graph", "status")
    assert "components         1" in status.out
    assert "█" in status.out
    assert graph("graph", "validate").out == "Nothing to look at.\n"
    graph("graph", "relate", "Ada", "LIVES_IN", "Paris")
    assert "contradiction: 'Ada' has several current LIVES_IN" in graph("graph", "validate").out
    assert "modularity" in graph("graph", "communities").out
    briefing = graph("graph", "context").out
    assert "central\n  Ada (Person)" in briefing
    assert "contradictory\n" in briefing


@pytest.mark.slow
def test_a_text_is_read_from_the_line_or_from_standard_input(graph: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    look = graph("graph", "build", "Ada -[KNOWS]-> Mary", "--dry-run")
    assert look.out == "Ada KNOWS Mary\nFound 2 entities and 1 fact; nothing was written.\n"
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Ada -[KNOWS]-> Mary")))
    done = graph("graph", "build", "-", "--type", "Mary=Person")
    assert done.out.endswith("Created 1 entity and 1 fact, strengthened 0.\n")
    assert "Mary" in graph("graph", "entities", "--type", "Person").out
    assert graph("graph", "build", "x", "--type", "Mary").status == 2


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["json", "graphml", "cyjs", "cypher"])
def test_a_graph_is_exported_to_any_path_and_imported(graph: Run, tmp_path: Path, ending: str) -> None:
    file = tmp_path / f"graph.{ending}"
    assert graph("graph", "export", str(file)).out.startswith("Exported 4 entities and 3 relations as ")
    assert graph("graph", "export", str(file)).status == 4
    assert graph("graph", "export", str(file), "--force", "--json").json["relations"] == 3
    assert graph("graph", "import", str(file), "-w", "other").out == (
        "Created 4 entities and 3 relations; already known: 0 entities and 0 relations.\n"
    )
    names = {"json": "json", "graphml": "graphml", "cyjs": "cytoscape", "cypher": "cypher"}
    printed = graph("graph", "export", "-", "--format", names[ending], "-w", "other")
    assert printed.out == file.read_text("utf-8")


def test_bad_files_and_formats_have_a_status(graph: Run, tmp_path: Path) -> None:
    assert graph("graph", "import", str(tmp_path / "absent")).status == 3
    assert graph("graph", "export", str(tmp_path / "a" / "b.json")).status == 2
    assert graph("graph", "export", "-", "--format", "xml").status == 2


def test_a_neighbourhood_is_drawn_as_a_tree(graph: Run) -> None:
    lines = graph("graph", "show", "Ada").out.splitlines()
    assert lines[0].strip() == "Ada Person"
    assert any("─WORKS_ON→ Engine Concept" in line for line in lines)
    assert any("←BUILDS─ Charles Concept" in line and line.startswith((" ", "│")) for line in lines)


def _program(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!{sys.executable}\n{script}")
    (folder / name).chmod(0o755)


@pytest.mark.slow
def test_a_picture_is_drawn_by_graphviz_where_it_is(
    graph: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _program(tmp_path / "bin", "dot", "import sys; print(sys.argv[1], sys.stdin.read())")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    target = tmp_path / "ada.svg"
    assert graph("graph", "show", "Ada", "-o", str(target)).out == f"Drawn by graphviz: {target}\n"
    drawn = target.read_text()
    assert drawn.startswith("-Tsvg digraph memsweep {")
    assert '"Ada" -> "Engine" [label="WORKS_ON"' in drawn
    assert graph("graph", "show", "Ada", "-o", str(target)).status == 4
    _program(tmp_path / "bin", "dot", "import sys; sys.exit('no such font')")
    failed = graph("graph", "show", "Ada", "-o", str(target), "--force")
    assert (failed.status, "no such font" in failed.err) == (1, True)
    assert target.read_text() == drawn


def test_without_a_program_that_draws_there_is_a_hint(
    graph: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    refused = graph("graph", "show", "Ada", "--output", str(tmp_path / "ada.png"))
    assert (refused.status, "neither graphviz nor matplotlib" in refused.err) == (2, True)
    assert graph("graph", "show", "Ada", "--output", str(tmp_path / "ada.gif")).status == 2
    dot = graph("graph", "show", "Ada", "--output", str(tmp_path / "ada.dot"), "--json")
    assert json.loads(dot.out)["drawn_by"] == "memsweep"
    assert '"Charles"' in (tmp_path / "ada.dot").read_text()
