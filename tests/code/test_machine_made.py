"""Minified bundles and binary files without a NUL near their beginning are not text that anybody wrote."""

import zlib
from pathlib import Path

import pytest

from memsweep.app import Memory
from memsweep.code.exclude import has_machine_made_name, is_minified
from tests.code.indexed_workspace import IndexedWorkspace
from tests.code.trees import grow
from tests.support.engines import on_every_engine

STATEMENT = "function a(b){return b+1}var c=a(2);"
BUNDLE = "/*! jquery v3 | (c) somebody */\n" + STATEMENT * 400 + "\n"
WRITTEN = "".join(f"export function step{n}(value) {{\n  return value + {n};\n}}\n" for n in range(60))
OBJECT = zlib.compress(b"".join(b"blob %d" % n for n in range(4000))).replace(b"\0", b"\1")
PDF = b"%PDF-1.6\n%\xe2\xe3\xcf\xd3\n" + b"1 0 obj\n(words that are in no source)\nendobj\n" * 300 + b"\0"
MADE: dict[str, str | bytes] = {
    "jquery.min.js": "var a=1;\n",
    "style-min.css": "a{}\n",
    "app.js.map": "{}\n",
    "dist/bundle.js": BUNDLE,
    "site.css": "a{color:red}" * 300,
    "art/logo.ai": PDF,
    "objects/3b/18e512dba79e4c8300dd08aeb37f8e728b8dad": OBJECT,
}


@pytest.mark.parametrize(
    ("path", "text", "minified"),
    [
        ("a.js", BUNDLE, True),
        ("A.JS", BUNDLE, True),
        ("a.js", WRITTEN, False),
        ("a.js", STATEMENT, False),
        ("a.js", "", False),
        ("a.js", WRITTEN + "const table = [" + "1234," * 300 + "];\n", False),
        ("a.py", BUNDLE, False),
        ("notes.md", "a paragraph without a line end, " * 200, False),
        ("data.json", BUNDLE, False),
    ],
)
def test_a_bundle_is_known_by_the_length_of_its_lines(path: str, text: str, minified: bool) -> None:
    assert is_minified(path, text) is minified


@pytest.mark.parametrize("path", ["a.min.js", "lib/A.MIN.CSS", "x-min.js", "x_min.mjs", "x.css.map"])
def test_a_name_can_say_it(path: str) -> None:
    assert has_machine_made_name(path)


@pytest.mark.parametrize("path", ["admin.js", "min.js", "a.min.py", "map.js", "road.map", "a.min.js/readme.md"])
def test_other_names_say_nothing(path: str) -> None:
    assert not has_machine_made_name(path)


@on_every_engine
def test_what_a_machine_made_is_not_indexed(memory: Memory, tmp_path: Path) -> None:
    root = grow(tmp_path / "r", {**MADE, "src/app.js": WRITTEN})
    assert memory.code.index(root).languages == {"javascript": 1}
    assert {hit.passage.code.path for hit in memory.search("function words").hits if hit.passage.code} == {"src/app.js"}


def test_an_index_of_before_drops_what_is_left_out_now(
    workspace: IndexedWorkspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memsweep.code.index import Decoded

    root = grow(tmp_path / "r", {**MADE, "src/app.js": WRITTEN})
    with monkeypatch.context() as before:
        before.setattr("memsweep.code.index.decode", lambda data: Decoded(data.decode("latin-1"), "latin-1"))
        before.setattr("memsweep.code.index._is_wanted", lambda path, text, language: True)
        before.setattr("memsweep.code.index.judged_by", lambda action: "rules2")
        before.setattr("memsweep.code.walk.has_machine_made_name", lambda path: False)
        workspace.index(root)
        assert set(workspace.live(root)) == {*MADE, "src/app.js"}
    result = workspace.index(root)
    assert (result.files_indexed, result.files_removed, result.files_unchanged) == (0, len(MADE), 1)
    assert set(workspace.live(root)) == {"src/app.js"}
    assert workspace.index(root).files_removed == 0
