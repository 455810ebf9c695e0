"""The graph carried away and taken in again, in every form."""

import io
import json
import os
import re
from datetime import UTC, datetime

import networkx
import pytest
from hypothesis import given, settings

from memsweep import clock
from memsweep.app import make_app
from memsweep.errors import AlreadyExists, BadInput, NotFound
from memsweep.graph.exchange import FORMS, format_of_file, format_of_text
from memsweep.graph.whole_graph import inside
from memsweep.model.graph import GraphDump
from memsweep.settings import load_settings
from tests.graph.surveys import dumps
from tests.support.counts import rounds
from tests.support.engines import Home, on_every_engine
from tests.support.inside import dump_of

FORMATS = list(FORMS)
NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def filled(app):
    memory = app.memory("full")
    memory.graph.relate("Ada", "WORKS_ON", "Engine", from_type="Person", to_type="Project", weight=0.8)
    memory.graph.relate("Ada", "LIVES_IN", "London")
    memory.graph.relate("Ada", "LIVES_IN", "Paris", replaces=True)
    memory.graph.relate("Ada", "KNOWS", "Engine")  # a second edge between the same two
    memory.graph.relate('<&"\x01\\u0041 漢`字', 'it\'s {a}: "b"', "Ünï\x85code\u2028")
    memory.pin(memory.graph.entities("Paris")[0][0].id)
    return memory


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
@given(dump=dumps())
def test_what_is_written_is_read_again(name, dump):
    form = FORMS[name]
    text = form.write(dump)
    assert form.read(text, NOW) == dump
    if dump.entities:
        assert format_of_text(text) == name


@on_every_engine
@pytest.mark.parametrize("name", FORMATS)
def test_an_export_taken_into_an_empty_workspace_is_an_equal_graph(app, filled, name):
    text = filled.graph.dump(name)
    copy = app.memory(f"copy-{name}")
    made = copy.graph.load(text)
    assert (made.entities_created, made.relations_created) == (6, 5)
    assert dump_of(copy) == dump_of(filled)
    again = copy.graph.load(text, name)
    assert (again.entities_created, again.relations_created) == (0, 0)
    assert (again.entities_known, again.relations_known) == (6, 5)
    assert copy.graph.dump(name) == text


@on_every_engine
@settings(max_examples=rounds(8, 15))
@given(dump=dumps())
def test_any_graph_survives_the_store(tmp_path_factory, engine_kind, dump):
    home = Home(engine_kind, tmp_path_factory.mktemp("home"))
    app = make_app(load_settings(home.variables))
    try:
        memory = app.memory("w")
        memory.graph.load(FORMS["json"].write(dump))
        kept = dump_of(memory)
        assert rounded(kept.entities) == rounded(dump.entities)
        assert rounded(kept.relations) == rounded(dump.relations)
        again = memory.graph.load(FORMS["json"].write(dump))
        assert (again.entities_created, again.relations_created) == (0, 0)
        assert dump_of(memory) == kept
    finally:
        app.close()
        home.close()


def rounded(rows):
    """FalkorDB tells fifteen digits of a number."""
    return {tuple(round(each, 12) if isinstance(each, float) else each for each in row) for row in rows}


@on_every_engine
@pytest.mark.parametrize(("years", "weight"), [(-1, 0.8), (1, 0.3)])
def test_of_two_states_of_a_fact_the_later_confirmed_counts(app, filled, years, weight):
    dump = dump_of(filled)
    (fact,) = [row for row in dump.relations if row.relation == "WORKS_ON"]
    moved = fact._replace(weight=0.3, last_seen=fact.last_seen.replace(day=1, year=fact.last_seen.year + years))
    filled.graph.load(FORMS["json"].write(GraphDump(dump.entities, (moved,))))
    (after,) = [row for row in dump_of(filled).relations if row.relation == "WORKS_ON"]
    assert (after.weight, after.last_seen) == (weight, max(fact.last_seen, moved.last_seen))


@on_every_engine
def test_an_import_that_fails_leaves_nothing(app, filled):
    graph = json.loads(filled.graph.dump())
    graph["relations"][-1]["target"] = "ent_nowhere"
    with pytest.raises(BadInput, match="ent_nowhere"):
        filled.graph.load(json.dumps(graph))
    graph["relations"][-1]["target"] = graph["entities"][0]["id"]
    graph["entities"].append({"id": "x", "name": "New"})
    graph["relations"][-1]["weight"] = 7
    before = filled.graph.dump()
    with pytest.raises(BadInput, match="weight"):
        filled.graph.load(json.dumps(graph))
    assert filled.graph.dump() == before


@on_every_engine
def test_an_id_that_is_taken_by_another_name_is_not_taken_over(app, filled):
    graph = json.loads(filled.graph.dump())
    graph["entities"][1]["name"] = "Somebody else"
    filled.graph.load(json.dumps(graph))
    ids = [each.id for each in dump_of(filled).entities]
    assert len(ids) == len(set(ids)) == 7


@on_every_engine
def test_graphml_opens_in_networkx(filled):
    graph = networkx.read_graphml(io.BytesIO(filled.graph.dump("graphml").encode()), edge_key_type=str)
    assert graph.is_directed()
    assert graph.number_of_nodes() == 6
    assert graph.number_of_edges() == 5
    by_name = {data["name"]: node for node, data in graph.nodes(data=True)}
    assert graph.nodes[by_name["Ada"]]["type"] == "Person"
    assert graph.nodes[by_name["Paris"]]["pinned"] is True
    weights = {data["relation"]: data["weight"] for _, _, data in graph.edges(by_name["Ada"], data=True)}
    assert weights["WORKS_ON"] == 0.8


@on_every_engine
def test_graphml_of_networkx_is_taken_in(app):
    graph = networkx.DiGraph()
    graph.add_edge("a", "b", weight=0.25, relation="LIKES")
    graph.add_node("c", name="Carol", type="Person")
    memory = app.memory("foreign")
    memory.graph.load("\n".join(networkx.generate_graphml(graph)))
    assert {(each.name, each.type) for each in dump_of(memory).entities} == {
        ("a", "Concept"),
        ("b", "Concept"),
        ("Carol", "Person"),
    }
    (fact,) = dump_of(memory).relations
    assert (fact.relation, fact.weight) == ("LIKES", 0.25)


@on_every_engine
def test_flat_cytoscape_of_another_program_is_taken_in(app):
    elements = [{"data": {"id": 1, "label": "One"}}, {"data": {"id": 2}}, {"data": {"source": 1, "target": 2}}]
    memory = app.memory("flat")
    memory.graph.load(json.dumps({"elements": elements}))
    (fact,) = dump_of(memory).relations
    assert (fact.relation, fact.weight) == ("RELATED_TO", 1.0)
    assert [each.name for each in memory.graph.entities(sort_by="name")[0]] == ["2", "One"]


@on_every_engine
@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("left_out", ["created_at|last_seen", "last_seen", "created_at"])
def test_what_has_no_date_is_dated_by_its_import(app, name, left_out):
    """It was dated 1970, so that everything that came without dates was faded as soon as it was there."""
    written = app.memory("written")
    written.graph.relate("Ada", "WORKS_ON", "Engine", weight=0.8)
    text = re.sub(r"20\d\d-[-\d]+T[\d:.]+Z", "2019-03-31", written.graph.dump(name))
    text = re.sub(rf"({left_out})(\W+)2019-03-31", r"\1\2", text)
    copy, before = app.memory("copy"), clock.now()
    copy.graph.load(text, name)
    dump = dump_of(copy)
    seen = {each.last_seen.year for each in (*dump.entities, *dump.relations)}
    made = {each.created_at.year for each in (*dump.entities, *dump.relations)}
    assert seen == ({before.year} if "last_seen" in left_out else {2019})
    assert made == ({before.year} if left_out == "created_at|last_seen" else {2019})
    if "last_seen" in left_out:
        assert (copy.sweep.plan("all").item_count, copy.graph.plan_prune().item_count) == (0, 0)


@on_every_engine
@pytest.mark.parametrize("date", ["yesterday", "2026-13-01", 1700000000, "0000-01-01"])
def test_a_date_that_is_none_is_refused_before_anything_is_there(app, date):
    graph = {"entities": [{"id": "a"}, {"id": "b", "last_seen": date}]}
    with pytest.raises(BadInput, match="last_seen"):
        app.memory("bad").graph.load(json.dumps(graph))
    assert "bad" not in [each.id for each in app.workspaces()]


BAD = {
    "json": ["", "[]", "{", '{"entities": 5}', '{"format": "x"}', '{"entities": [{"id": "a"}, {"id": "a"}]}'],
    "cytoscape": ["{}", '{"elements": 3}', '{"elements": {"nodes": [{}]}}'],
    "graphml": ["<a/>", "<graphml/>", "no", '<!DOCTYPE x [<!ENTITY a "b">]><graphml/>'],
    "cypher": ["MATCH (n) DETACH DELETE n;", "CREATE (:Entity:`X` {id});", "CREATE (:Entity:`X` {id: oops});"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_what_is_not_a_graph_is_refused_with_a_sentence(app, name, text):
    with pytest.raises(BadInput):
        app.memory("bad").graph.load(text, name)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("{}", None),
        ('{"nodes": [{"id": 1}], "edges": []}', None),
        ("<graphml xmlns='http://graphml.graphdrawing.org/xmlns'><graph/></graphml>", None),
        ('{"elements": {}}', None),
        ("", "cypher"),
    ],
)
def test_a_file_in_which_nothing_is_recognised_is_refused(app, text, name):
    with pytest.raises(BadInput, match="has no entity and no fact; nothing was imported"):
        app.memory("bad").graph.load(text, name)
    assert "bad" not in [each.id for each in app.workspaces()]


@pytest.mark.parametrize("name", ["json", "graphml", "cytoscape", "cypher"])
def test_our_own_file_of_an_empty_graph_is_taken(app, name):
    app.memory("empty").remember("no names here")
    text = app.memory("empty").graph.dump(name)
    assert app.memory("other").graph.load(text, name).entities_created == 0


@on_every_engine
@pytest.mark.parametrize(
    ("file", "name"), [("a.json", "json"), ("A.GraphML", "graphml"), ("x.cyjs", "cytoscape"), ("y.cypher", "cypher")]
)
def test_the_ending_of_a_file_names_the_format(app, filled, tmp_path, file, name):
    assert format_of_file(file) == name
    done = filled.graph.export_file(tmp_path / file)
    assert (done.format, done.entities, done.relations) == (name, 6, 5)
    assert done.size_bytes == os.path.getsize(tmp_path / file)
    assert app.memory("other").graph.import_file(tmp_path / file).relations_created == 5


@on_every_engine
def test_a_file_that_is_there_is_kept_unless_forced(filled, tmp_path):
    target = tmp_path / "graph.json"
    target.write_text("mine")
    with pytest.raises(AlreadyExists):
        filled.graph.export_file(target)
    assert target.read_text() == "mine"
    filled.graph.export_file(target, force=True)
    assert json.loads(target.read_text())["format"] == "memsweep-graph"


def test_a_file_is_not_named_by_a_secret(filled, tmp_path):
    key = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    with pytest.raises(BadInput, match="name of the file holds a secret") as refused:
        filled.graph.export_file(tmp_path / f"{key}.json")
    assert key not in str(refused.value)
    assert list(tmp_path.glob("*ghp_*")) == []


def test_a_file_that_is_not_there_or_no_text_is_an_error(filled, tmp_path):
    with pytest.raises(NotFound, match=r"absent\.json"):
        filled.graph.import_file(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(BadInput, match="UTF-8"):
        filled.graph.import_file(tmp_path / "binary.json")


@pytest.mark.parametrize("name", ["", ".", "..", "../x.json", "/etc/passwd", "a/../../x", "link/x.json", "a\0b", None])
def test_nothing_leads_out_of_the_export_folder(tmp_path, name):
    folder = tmp_path / "exports"
    folder.mkdir()
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(BadInput, match="file"):
        inside(folder, name)


@pytest.mark.parametrize("name", ["x.json", "./x.json", "a/../x.json"])
def test_a_name_inside_the_export_folder_is_taken(tmp_path, name):
    assert inside(tmp_path, name) == (tmp_path / "x.json").resolve()
