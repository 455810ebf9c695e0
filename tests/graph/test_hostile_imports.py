"""Graphs and sessions that were made to do harm: one sentence, and no workspace is made for them."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep import cli
from memsweep.app import App
from memsweep.errors import BadInput, NotFound
from tests.support.engines import on_every_engine

DEEP = 100_000
GRAPHML = '<graphml><key id="e" for="edge" attr.name="evidence" attr.type="long"/>{keys}<graph>{body}</graph></graphml>'
ONE = '{"entities": [{"id": "a", "name": "A"%s}]}'


def graphml(body: str, keys: str = "") -> str:
    return GRAPHML.format(keys=keys, body=body)


def fact(**more: object) -> str:
    things = [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}]
    return json.dumps({"entities": things, "relations": [{"source": "a", "target": "b", "relation": "R", **more}]})


GRAPHS: dict[str, str] = {
    "entities that grow": '<!DOCTYPE l [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
    + graphml('<node id="&b;"/>'),
    "an entity from a file": '<!DOCTYPE l [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + graphml('<node id="&a;"/>'),
    "an entity that nobody declared": graphml('<node id="&a;"/>'),
    "XML without end": "<graphml><graph>" + "<node>" * DEEP,
    "a number of ten thousand digits in XML": graphml(
        '<node id="a"/><node id="b"/><edge source="a" target="b"><data key="e">' + "9" * 10_000 + "</data></edge>"
    ),
    "a number that is none in XML": graphml(
        '<node id="a"><data key="c">nan</data></node>',
        '<key id="c" for="node" attr.name="confidence" attr.type="double"/>',
    ),
    "lists in lists": "{" + '"entities": ' + "[" * DEEP + "]" * DEEP + "}",
    "objects in objects": '{"entities": [{"id": "a", "x": ' + '{"x": ' * DEEP + "1" + "}" * DEEP + "}]}",
    "lists as deep as can be read": '{"entities": [' + "[" * 900 + "]" * 900 + "]}",
    "NaN": ONE % ', "confidence": NaN',
    "Infinity": ONE % ', "confidence": Infinity',
    "a confidence of four hundred digits": ONE % f', "confidence": {"9" * 400}',
    "a weight of four hundred digits": fact(weight=10**400),
    "an evidence of four hundred digits": fact(evidence=10**400),
    "ten thousand digits": ONE % f', "confidence": {"9" * 10_000}',
    "half an emoji": '{"entities": [{"id": "a", "name": "\\ud83d"}]}',
    "half an emoji in an id": '{"entities": [{"id": "\\ud83d", "name": "a"}]}',
    "a NUL": '{"entities": [{"id": "a", "name": "a\\u0000b"}]}',
    "an id twice": '{"entities": [{"id": "a"}, {"id": "a"}]}',
    "a name of a megabyte": ONE % f', "type": "{"x" * 1_000_000}"',
    "aliases without end": ONE % f', "aliases": "{"[" * DEEP}"',
    "aliases of numbers": ONE % ', "aliases": "[[1, 2]]"',
    "a year that does not exist": fact(valid_at="9999-12-31T23:59:59-23:59"),
    "a date that is a list": fact(created_at=[1]),
    "a fact without ends": '{"entities": [{"id": "a"}], "relations": [{"source": "a", "target": "x"}]}',
    "entities that are none": '{"entities": [1, null, "x"]}',
    "Cytoscape without end": '{"elements": {"nodes": [{"data": ' + "[" * DEEP + "}]}}",
    "Cytoscape of nothing": '{"elements": {"nodes": [{"data": 1}]}}',
    "Cypher without end": "CREATE (:Entity:`X` {id: " + "[" * DEEP + "});",
    "Cypher that deletes": "MATCH (n) DETACH DELETE n;",
    "Cypher that is cut off": 'CREATE (:Entity:`X` {id: "a',
    "noise": "\x00\x01\x02",
}


@on_every_engine
@pytest.mark.parametrize("case", GRAPHS)
def test_a_hostile_graph_gets_a_sentence_and_leaves_nothing(app: App, case: str, tmp_path: Path) -> None:
    file = tmp_path / "graph"
    file.write_text(GRAPHS[case], "utf-8")
    for take_in in (lambda: app.memory().graph.import_file(file), lambda: app.memory().graph.load(GRAPHS[case])):
        with pytest.raises(BadInput) as caught:
            take_in()
        assert len(str(caught.value)) < 500
        assert "passwd" not in str(caught.value)
    assert app.workspaces() == []


def segment(**more: object) -> str:
    return json.dumps({"segments": [{"segment_id": "a", "text": "x", **more}]})


SESSIONS: dict[str, str] = {
    "lists in lists": "[" * DEEP + "]" * DEEP,
    "a line without end": '{"type": "user", "message": ' + "[" * DEEP,
    "a message without end": '[{"role": "user", "content": ' + "[" * DEEP + "]" * DEEP + "}]",
    "segments that are none": '{"segments": [1, 2]}',
    "an id that is a list": segment(segment_id=[1]),
    "tokens of four hundred digits": segment(tokens=10**400),
    "lines of four hundred digits": segment(file_path="f", line_range=[10**400, 10**400]),
    "half an emoji": segment(text="\ud83d"),
    "half an emoji in an id": segment(segment_id="\ud83d"),
    "half an emoji in a tag": segment(tags=["\ud83d"]),
    "a year that does not exist": segment(created_at="0001-01-01T00:00:00+14:00"),
    "a type of its own": segment(type="evil"),
    "a survival of four hundred digits": segment(gc_survival_count=10**400),
    "an id twice": '{"segments": [{"segment_id": "a", "text": "x"}, {"segment_id": "a", "text": "y"}]}',
    "nothing": "",
    "noise": "\x00\x01",
}


@on_every_engine
@pytest.mark.parametrize("case", SESSIONS)
def test_a_hostile_session_gets_a_sentence_and_leaves_nothing(app: App, case: str) -> None:
    with pytest.raises(BadInput) as caught:
        app.memory().context().add_transcript(SESSIONS[case])
    assert len(str(caught.value)) < 500
    assert app.workspaces() == []


def test_a_file_that_is_too_large_is_refused_before_it_is_read(
    app: App, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    huge = tmp_path / "huge.json"
    huge.touch()
    with huge.open("r+b") as file:
        file.truncate(1 << 40)
    with pytest.raises(BadInput, match=r"1,099,511,627,776 bytes; at most 536,870,912"):
        app.memory().graph.import_file(huge)
    monkeypatch.setenv("MEMSWEEP_HOME", str(tmp_path / "home"))
    assert cli.run(["context", "import", str(huge)]) == 2


@pytest.mark.parametrize("import_file", [lambda app, path: app.memory().graph.import_file(path)], ids=["graph"])
def test_what_is_no_text_is_said(app: App, tmp_path: Path, import_file: Callable[[App, Path], object]) -> None:
    (tmp_path / "f").write_bytes(b"{\xff\xfe}")
    with pytest.raises(BadInput, match=re.escape("not text in UTF-8 (invalid start byte at byte 1)")):
        import_file(app, tmp_path / "f")
    with pytest.raises(NotFound, match="there is no file"):
        import_file(app, tmp_path / "none")
