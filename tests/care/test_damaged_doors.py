"""Damage as people and agents meet it: one sentence that names the doctor, and the rest goes on."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import StoreCorrupt
from memsweep.store.file.schema import REGISTRY_MIGRATIONS
from tests.care import damages, stores
from tests.support import store_files
from tests.support.client import ServerClient, ToolFailed, connected
from tests.support.commands import Ran
from tests.support.inside import store_of

CASES = {
    "a flipped bit in a time": "update memory set created_at = created_at | (1 << 62)",
    "no time": "update memory set updated_at = 'oops'",
    "tags that are no JSON": "update memory set tags = '[oops'",
    "metadata that is no JSON": "update memory set metadata = '{'",
    "text that is none": f"update memory set text = {damages.NO_UTF8}; update chunk set text = {damages.NO_UTF8}",
    "a name that is none": f"update entity set name = {damages.NO_UTF8}",
    "a weight that is none": "update relation set weight = 'heavy', last_seen = 'oops'",
    "a model that is none": "update meta set value = '{' where key = 'model'",
    "counts that are none": "update receipt set created_at = x'00'; update audit set counts = '{', at = 'oops'",
    "a plan that says nothing": "update plan set summary = '[', created_at = 'oops'",
    "segments of no kind": "update segment set type = 'song', tokens = 'many'",
    "vectors of another width": "update vector set data = x'01'",
}
COMMANDS = [
    ["search", "turn with Grace"],
    ["search", "turn", "--json"],
    ["stats"],
    ["trash"],
    ["audit"],
    ["prune", "--strategy", "all"],
    ["graph", "entities"],
    ["graph", "related", "Ada"],
    ["graph", "status"],
    ["graph", "export", "-"],
    ["context", "export", "-p", "window"],
    ["context", "analyze", "-p", "window"],
    ["context", "list"],
    ["workspace", "list"],
    ["tombstone", "list"],
]


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_command_says_a_sentence(filled: Path, run: Callable[..., Ran], case: str) -> None:
    ids = store_files.query(filled, "select uid from memory where trash is null")
    with store_files.open_file(filled) as db:
        db.execute(CASES[case])
    for command in [*COMMANDS, *(["get", own] for own in ids), *(["explain", own] for own in ids[:2])]:
        ran = run(*command)  # which would raise what is no sentence
        assert ran.status in (0, 2, 5), (command, ran)
        if ran.status == 5:
            assert ran.err.startswith(("Error: ", '{"error"'))
            assert "doctor" in ran.err, command
    ran = run("doctor")
    assert ran.status == 5
    assert "value_damaged" in run("doctor", "--json").out or "vector" in run("doctor", "--json").out
    ran = run("doctor", "--repair")
    if "model" in case:  # which one it was is not known any more
        assert "memsweep workspace reembed" in ran.out
        assert run("workspace", "reembed").status == 0
    else:
        assert ran.status == 0, ran
    assert run("doctor").status == 0


def test_a_damaged_index_that_finds_nothing_is_a_sentence_too(filled: Path, app: App) -> None:
    (page,) = store_files.query(filled, "select rootpage from sqlite_master where name = 'sqlite_autoindex_project_1'")
    with store_files.open_file(filled) as db:
        db.execute("pragma wal_checkpoint(truncate)")
    content = bytearray(filled.read_bytes())
    size = int.from_bytes(content[16:18], "big")
    content[page * size - 64 : page * size] = bytes(64)
    filled.write_bytes(content)
    with pytest.raises(StoreCorrupt, match="memsweep doctor"):
        app.memory().context("window").segments()


@contextmanager
def damaged(file: Path, script: str) -> Iterator[None]:
    """The file with a damage, and as it was again."""
    with store_files.open_file(file) as db:
        db.execute("begin immediate")
        db.execute("create temp table was as select rowid as key, * from memory")
        db.execute(script)
        db.execute("commit")
        yield
        db.execute("""
            update memory set created_at = was.created_at, updated_at = was.updated_at, tags = was.tags,
                metadata = was.metadata, text = was.text from temp.was where was.key = memory.id""")


@pytest.mark.slow
def test_an_agent_gets_a_sentence_and_the_others_go_on(filled: Path, home: Path, tmp_path: Path) -> None:
    good, bad = store_files.query(filled, "select uid from memory where trash is null order by id limit 2")
    log = tmp_path / "log"
    with connected(home, "auto", "--profile", "full", log=log) as server:
        for column, value in (("created_at", "'oops'"), ("tags", "'['"), ("metadata", "5"), ("text", damages.NO_UTF8)):
            with damaged(filled, f"update memory set {column} = {value} where uid = '{bad}'"):
                with pytest.raises(ToolFailed, match=rf"{bad} \(memory\.{column}\).*memsweep doctor"):
                    server.call("get_memory", memory_id=bad)
                assert server.call("get_memory", memory_id=good)["memory_id"] == good
                found = server.call("search_memory", query="turn with Grace Hopper", limit=20, filters=NOTES)
                ids = {hit["memory_id"] for hit in found["results"]}
                assert good in ids
                if column in {"created_at", "tags"}:  # which a hit shows
                    assert bad not in ids
                    assert "Left out 1 damaged hit" in found["note"]
                answers = [_answer(server, name, given) for name, given in TOOLS.items()]
                assert all("failed unexpectedly" not in answer for answer in answers)
    assert "Traceback" not in log.read_text()


NOTES = {"kind": "memory"}
TOOLS: dict[str, dict[str, Any]] = {
    "get_stats": {},
    "list_trash": {},
    "prune_memory": {"strategy": "all"},
    "graph_entities": {},
    "graph_status": {},
    "context_list": {},
}


def _answer(server: ServerClient, name: str, arguments: dict[str, Any]) -> str:
    try:
        return str(server.call(name, **arguments))
    except ToolFailed as error:
        return str(error)


def test_one_damaged_memory_does_not_hide_the_others_from_a_search(filled: Path, app: App) -> None:
    (bad,) = store_files.query(filled, "select uid from memory where text like 'turn 1%'")
    with store_files.open_file(filled) as db:
        db.execute(
            "update chunk set text = cast(x'ff' as text) where memory = (select id from memory where uid = ?)", (bad,)
        )
    page = app.memory().search("turn with Grace Hopper", limit=50)
    assert page.damaged == 1
    assert {hit.passage.text for hit in page.hits} >= {f"turn {number} with Grace Hopper" for number in (0, 2, 3)}
    assert f"{bad} (chunk.text)" in str(store_of(app.memory()).keeper.explain())


def test_an_error_of_our_own_is_not_blamed_on_the_store(
    filled: Path, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    from memsweep.store.sqlite import searching

    def broken(*_: object) -> Any:
        raise TypeError("a mistake")

    monkeypatch.setattr(searching, "candidates", broken)
    with pytest.raises(TypeError, match="a mistake"):
        app.memory().search("turn")


META = {
    "workspace": ["5", "null", damages.NO_UTF8],
    "description": ["5", "x'00'", damages.NO_UTF8],
    "created_at": ["'oops'", str(2**62), damages.NO_UTF8],
    "deleted_at": ["'oops'"],
    "model": ["'{'", "'{}'", "5", damages.NO_UTF8, """'{"name": "x", "dimension": 0}'"""],
    "vector_generation": ["'oops'", "-5", damages.NO_UTF8],
}


@pytest.mark.slow
@pytest.mark.parametrize("key", META)
def test_what_a_file_says_of_itself_is_mended_too(template: Path, tmp_path: Path, key: str) -> None:
    for number, value in enumerate(META[key]):
        home = tmp_path / str(number) / "home"
        file = stores.copy_of(template, home)
        with store_files.open_file(file) as db:
            db.execute(f"insert or replace into meta (key, value) values ('{key}', {value})")
        app = stores.open_app(home)
        assert app.memory().care.doctor().left
        checkup = app.memory().care.doctor(repair=True)
        if key == "model":  # which model it was is not known then
            assert {finding.invariant for finding in checkup.left} == {"model_unknown"}
            app.memory().care.reembed()
        else:
            assert checkup.left == ()
        assert app.memory().care.doctor().findings == ()
        assert app.memory().search("Ada").hits
        assert [workspace.id for workspace in app.workspaces()] == ["default"]
        app.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    "wrong", [*damages.damages(REGISTRY_MIGRATIONS)], ids=lambda it: f"{it.place.column}-{it.name}"
)
def test_a_damaged_registry_is_a_sentence_and_is_mended(template: Path, tmp_path: Path, wrong: damages.Wrong) -> None:
    home = tmp_path / "home"
    shutil.copytree(template, home)
    app = stores.open_app(home)
    before = app.memory().stats().total_memories
    app.close()
    with store_files.open_file(home / "registry.db") as db:
        db.execute("insert into intent values ('0123456789abcdef.db', 'remove', 'fedcba9876543210')")
        db.execute("insert into pending_event (file, event) values ('0123456789abcdef.db', '{}')")
        db.execute("insert into token values ('0123456789abcdef', 'laptop', '[\"default\"]', 1, 1, 2, 3)")
    damages.put(home / "registry.db", wrong)
    app = stores.open_app(home)
    for door in (app.workspaces, app.memory().stats, lambda: app.memory().search("Ada")):
        try:
            door()
        except StoreCorrupt as error:
            assert "registry.db" in str(error)  # noqa: PT017
            assert "doctor" in str(error)  # noqa: PT017
    (found,) = app.memory().care.doctor().findings
    assert found.invariant == "registry_value_damaged"
    assert f"{wrong.place.table}.{wrong.place.column}" in found.samples[0]
    checkup = app.memory().care.doctor(repair=True)
    assert checkup.left == ()
    assert any("the registry as it was is kept" in said for said in checkup.lost)
    assert app.memory().care.doctor().findings == ()
    assert [workspace.id for workspace in app.workspaces()] == ["default"]
    assert app.memory().stats().total_memories == before
    app.close()
