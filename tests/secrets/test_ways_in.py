"""No way in stores a secret, unless the settings say so; on every engine, and to the last byte."""

import contextlib
import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memsweep.app import App, Memory, called_by
from memsweep.errors import BadInput, UnknownWorkspace
from memsweep.model.origin import Origin
from memsweep.model.segment import ContextSegment
from tests.secrets.lines import positives
from tests.support.engines import on_every_engine
from tests.support.inside import app_of

_FIRST = {line.kind: line.text[line.start : line.end] for line in reversed(positives())}
AWS, GITHUB, ANTHROPIC = _FIRST["aws-access-key"], _FIRST["github-token"], _FIRST["anthropic-key"]
AWS_MARK, GITHUB_MARK, ANTHROPIC_MARK = (
    f"[secret: {kind}]" for kind in ("aws-access-key", "github-token", "anthropic-key")
)
SECRETS = (AWS, GITHUB, ANTHROPIC)
MESSAGES = [
    {"role": "user", "content": f"deploy with {AWS}"},
    {
        "role": "assistant",
        "tool_calls": [{"id": "c1", "function": {"name": "run", "arguments": f'{{"key": "{GITHUB}"}}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": f"export ANTHROPIC_API_KEY={ANTHROPIC}"},
]


def assert_gone(memory: Memory, folder: Path) -> None:
    """A backup has everything that a workspace has: rows, full text, trash, plans, audit."""
    memory.care.backup(folder / "all.backup")
    content = (folder / "all.backup").read_bytes()
    assert [secret for secret in SECRETS if secret.encode() in content or secret.lower().encode() in content] == []
    for file in (folder / "home").rglob("*"):
        if file.is_file():
            assert [secret for secret in SECRETS if secret.encode() in file.read_bytes()] == [], file


@on_every_engine
def test_a_memory_is_stored_without_its_secrets(memory: Memory, tmp_path: Path) -> None:
    result = memory.remember(
        f"The deploy key is {AWS}.",
        tags=[f"k:{GITHUB}", "ops"],
        source=f"chat {ANTHROPIC}",
        metadata={"api": {"keys": [AWS, 7]}, GITHUB: 1, "note": f"see {ANTHROPIC}"},
        thread_id=f"t {AWS}",
        entities=[f"Vault {GITHUB}", "Ada"],
        relations=[{"from": "Ada", "relation": f"KNOWS {ANTHROPIC}", "to": f"Key {AWS}"}],
    )
    assert set(result.redacted) == {"aws-access-key", "github-token", "anthropic-key"}
    stored = memory.get(result.memory_id)
    assert stored.text == f"The deploy key is {AWS_MARK}."
    assert set(stored.tags) == {f"k:{GITHUB_MARK}", "ops"}
    assert stored.metadata == {"api": {"keys": [AWS_MARK, 7]}, GITHUB_MARK: 1, "note": f"see {ANTHROPIC_MARK}"}
    assert stored.source == f"chat {ANTHROPIC_MARK}"
    (hit,) = memory.search("deploy key", filters={"kind": "memory"}).hits
    assert hit.passage.text == stored.text
    assert_gone(memory, tmp_path)


@on_every_engine
def test_a_value_is_a_secret_by_the_name_that_it_has_in_the_metadata(memory: Memory) -> None:
    result = memory.remember("The account", metadata={"db": {"password": "Tr0ub4dor&3"}, "size": "8x"})
    assert result.redacted == ("password",)
    assert memory.get(result.memory_id).metadata == {"db": {"password": "[secret: password]"}, "size": "8x"}


@on_every_engine
def test_the_same_text_with_a_secret_is_one_memory(memory: Memory) -> None:
    first = memory.remember(f"The deploy key is {AWS}.")
    again = memory.remember(f"The deploy key is {AWS}.")
    assert (again.duplicate_of, again.redacted) == (first.memory_id, ("aws-access-key",))


@on_every_engine
def test_a_refusal_names_the_kind_and_stores_nothing(make: Callable[..., App]) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="refuse").memory("fresh")
    calls: list[Callable[[], object]] = [
        lambda: memory.remember(f"The deploy key is {AWS}."),
        lambda: memory.remember("x", metadata={"a": [AWS]}),
        lambda: memory.context("p").add([{"text": f"key {AWS}"}]),
        lambda: memory.context("p").add_transcript(json.dumps(MESSAGES)),
        lambda: memory.graph.relate("Ada", "HAS", f"Key {AWS}"),
        lambda: memory.graph.build(f"Ada Lovelace has the key {AWS}."),
        lambda: memory.graph.load(_graph(AWS)),
    ]
    for call in calls:
        with pytest.raises(BadInput, match="aws-access-key") as refused:
            call()
        assert AWS not in str(refused.value)
    with pytest.raises(UnknownWorkspace):
        memory.stats()


@on_every_engine
def test_a_warning_stores_it_and_says_so(make: Callable[..., App]) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="warn").memory()
    result = memory.remember(f"The deploy key is {AWS}.")
    assert result.redacted == ()
    assert result.warnings == ("Stored with a secret in it (aws-access-key).",)
    assert AWS in memory.get(result.memory_id).text
    assert memory.context("p").add([{"text": AWS}]).notes == ("Stored with a secret in it (aws-access-key).",)


def test_off_is_off(make: Callable[..., App]) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="off").memory()
    result = memory.remember(f"The deploy key is {AWS}.")
    assert (result.redacted, result.warnings) == ((), ())
    assert AWS in memory.get(result.memory_id).text


BARE = "K9mxvY0sNFKlkxeYDW92XUbXjFCG0eO74vEWVQb7"
SHOWN = f"define('AUTH_KEY', '{BARE}');"


def test_no_name_is_made_of_a_key_even_where_the_gate_is_off(make: Callable[..., App]) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="off").memory()
    memory.graph.build(f"Ada Lovelace works on the Engine. {SHOWN}")
    names = [entity.name for entity in memory.graph.names().entities]
    assert "Ada Lovelace" in names
    assert not [name for name in names if BARE in name]


def test_a_name_is_a_key_if_a_segment_shows_it_to_be_one(make: Callable[..., App]) -> None:
    memory = make(MEMSWEEP_SECRETS_ACTION="off").memory()
    memory.graph.relate(BARE, "OPENS", "Door")
    memory.context("w").add([{"text": SHOWN}])
    memory.sweep.prune("secrets", confirm=True)
    assert not [entity.name for entity in memory.graph.names().entities if BARE in entity.name]


def test_a_workspace_and_a_source_can_have_an_action_of_their_own(make: Callable[..., App]) -> None:
    app = make(MEMSWEEP_SECRETS_WORKSPACES="scratch=off,strict=refuse", MEMSWEEP_SECRETS_SOURCES="vault=warn,graph=off")
    text = f"The deploy key is {AWS}."
    assert app.memory("other").remember(text).redacted == ("aws-access-key",)
    assert AWS in app.memory("scratch").get(app.memory("scratch").remember(text).memory_id).text
    with pytest.raises(BadInput):
        app.memory("strict").remember(text)
    assert app.memory("strict").remember(text, source="vault").warnings
    assert app.memory("strict").graph.relate("Ada", "HAS", AWS).redacted == ()


@on_every_engine
def test_segments_are_stored_without_their_secrets(memory: Memory, tmp_path: Path) -> None:
    window = memory.context("p")
    now = datetime(2026, 5, 1, tzinfo=UTC)
    own = ContextSegment("own", f"token {ANTHROPIC}", "note", now, now, tokens=500, tags=(f"k {GITHUB}",))
    added = window.add([{"text": f"use {AWS}", "task_id": f"t {GITHUB}", "file_path": f"/k/{AWS}"}, own])
    assert added.notes == ("Redacted: aws-access-key, github-token and anthropic-key.",)
    first, second = window.segments()
    assert (first.text, first.task_id, first.file_path) == (f"use {AWS_MARK}", f"t {GITHUB_MARK}", f"/k/{AWS_MARK}")
    assert second.text == f"token {ANTHROPIC_MARK}"
    assert second.tokens < 20, "the mark is counted, not the key"
    window.analyze(task_id=f"t {GITHUB}", descriptors={"open_files": [f"/k/{AWS}"]})
    assert window.state().focus["task_id"] == first.task_id
    assert "Redacted" in window.compress(["own"], f"The token was {ANTHROPIC}").notes[0]
    window.prune([first.segment_id], strategy="delete", confirm=True)
    assert_gone(memory, tmp_path)


@on_every_engine
def test_a_transcript_is_read_without_its_secrets_and_a_second_reading_says_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    window = memory.context("p")
    added = window.add_transcript(json.dumps(MESSAGES))
    assert "Redacted: aws-access-key, github-token and anthropic-key." in added.notes
    assert next(segment.text for segment in window.segments()) == f"deploy with {AWS_MARK}"
    again = window.add_transcript(json.dumps(MESSAGES))
    assert (again.segment_ids, [note for note in again.notes if "Redacted" in note]) == ((), [])
    line = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": f"and {GITHUB}"}}
    assert window.add_transcript(json.dumps(line)).segment_ids
    assert_gone(memory, tmp_path)


@on_every_engine
def test_facts_are_stored_without_their_secrets(memory: Memory, tmp_path: Path) -> None:
    graph = memory.graph
    told = graph.relate("Ada", "HAS", f"Key {AWS}", to_type=f"T {GITHUB}")
    assert told.redacted == ("aws-access-key", "github-token")
    batch = {
        "entities": [{"name": f"Vault {ANTHROPIC}"}],
        "relations": [{"from": "Ada", "to": "Ada", "relation": f"R {AWS}"}],
    }
    assert set(graph.relate_many(batch).redacted) == {"anthropic-key", "aws-access-key"}
    built = graph.build(f"Ada Lovelace works on the Engine with {GITHUB}. Ada Lovelace works on the Engine.")
    assert built.outcome is None or built.outcome.redacted == ("github-token",)
    graph.reinforce("Ada", "HAS", f"Key {AWS_MARK}", reason=f"says {AWS}")
    graph.unmerge("Ada", f"Other {ANTHROPIC}", relations=[told.relations[0].id])
    assert graph.load(_graph(AWS, GITHUB)).redacted == ("aws-access-key", "github-token")
    assert any(f"Key {AWS_MARK}" == entity.name for entity in graph.entities("Key")[0])
    assert AWS not in graph.dump()
    assert_gone(memory, tmp_path)


@on_every_engine
def test_an_import_of_two_names_that_become_one_is_taken_in(memory: Memory) -> None:
    other = next(line.text for line in positives() if line.text != AWS and line.kind == "aws-access-key")
    memory.graph.load(_graph(AWS, _secret_of(other)))
    assert {entity.name for entity in memory.graph.entities("secret")[0]} == {f"K {AWS_MARK}"}


@on_every_engine
def test_a_description_of_a_workspace_is_stored_without_its_secrets(app: App) -> None:
    assert app.create_workspace("w", f"for {AWS}").description == f"for {AWS_MARK}"


@on_every_engine
def test_no_error_repeats_a_secret(memory: Memory) -> None:
    memory.remember("x")
    calls: list[Callable[[], object]] = [
        lambda: memory.get(AWS),
        lambda: memory.graph.related(f"Key {AWS}"),
        lambda: memory.remember("x", relations=[{"from": AWS}]),
        lambda: memory.remember("x", entities=[{"nam": AWS}]),
        lambda: memory.context("p").add([{"text": "x", "type": AWS}]),
        lambda: memory.graph.relate("Ada", "HAS", "Key", valid_at=AWS),
        lambda: memory.graph.load(AWS),
    ]
    for call in calls:
        with pytest.raises(Exception) as failed:  # noqa: PT011 - whatever it is
            call()
        assert AWS not in str(failed.value)


def _key(number: int) -> str:
    """A secret that may be the name of a workspace, too."""
    return "-".join(("glpat", f"x7kq2m9wz4rt8vbn3{number:03}"))


WAYS: dict[str, Callable[[Memory, Path, str], object]] = {
    "text": lambda memory, _, key: memory.remember(f"x {key}"),
    "tag": lambda memory, _, key: memory.remember(f"x {key[-3:]}", tags=[key]),
    "source": lambda memory, _, key: memory.remember(f"x {key[-3:]}", source=key),
    "metadata key": lambda memory, _, key: memory.remember(f"x {key[-3:]}", metadata={"a": {key: 1}}),
    "metadata value": lambda memory, _, key: memory.remember(f"x {key[-3:]}", metadata={"a": [{"b": key}]}),
    "thread": lambda memory, _, key: memory.remember(f"x {key[-3:]}", thread_id=key),
    "entity": lambda memory, _, key: memory.remember(f"x {key[-3:]}", entities=[{"name": key, "type": key}]),
    "relation": lambda memory, _, key: memory.remember(
        f"x {key[-3:]}", relations=[{"from": key, "relation": key, "to": key}]
    ),
    "updated text": lambda memory, _, key: memory.update(_one(memory), text=f"y {key}"),
    "updated tag": lambda memory, _, key: memory.update(_one(memory), tags=[key]),
    "updated metadata": lambda memory, _, key: memory.update(_one(memory), metadata={key: key}),
    "fact": lambda memory, _, key: memory.graph.relate(key, key, key, from_type=key, to_type=key),
    "batch": lambda memory, _, key: memory.graph.relate_many({"entities": [{"name": key, "type": key}]}),
    "local id": lambda memory, _, key: memory.graph.relate_many({"entities": [{"name": "A", "local_id": key}]}),
    "reason": lambda memory, _, key: (
        memory.graph.relate("A", "R", "B"),
        memory.graph.reinforce("A", "R", "B", reason=key),
    ),
    "built": lambda memory, _, key: memory.graph.build(f"Ada Lovelace works on {key}."),
    "imported graph": lambda memory, _, key: memory.graph.load(_graph(key)),
    "imported ids": lambda memory, _, key: memory.graph.load(_graph("A").replace("rel_1", key).replace("ent_", key)),
    "split": lambda memory, _, key: (
        told := memory.graph.relate("A", "R", "B"),
        memory.graph.unmerge("A", key, relations=[told.relations[0].id]),
    ),
    "segment": lambda memory, _, key: memory.context("p").add([{"text": key, "tags": [key], "topic_id": key}]),
    "segment id": lambda memory, _, key: memory.context("p").add([{"text": "x", "segment_id": key}]),
    "segment reference": lambda memory, _, key: memory.context("p").add([{"text": "x", "references": [key]}]),
    "segment file": lambda memory, _, key: memory.context("p").add([{"text": "x", "file_path": f"/a/{key}.py"}]),
    "project id": lambda memory, _, key: memory.context(key).add([{"text": "x"}]),
    "transcript": lambda memory, _, key: memory.context("p").add_transcript(
        json.dumps([{"role": "user", "content": key}])
    ),
    "focus": lambda memory, _, key: (
        memory.context("p").add([{"text": "x"}]),
        memory.context("p").analyze(task_id=key),
    ),
    "summary": lambda memory, _, key: memory.context("p").compress(
        memory.context("p").add([{"text": "a long text " * 9}]).segment_ids, key
    ),
    "code": lambda memory, folder, key: memory.code.index(_code(folder, "a.py", f'KEY = "{key}"\n')),
    "file name": lambda memory, folder, key: memory.code.index(_code(folder, f"{key}.py", "def f(): pass\n")),
    "folder": lambda memory, folder, key: memory.code.index(_code(folder / key, "a.py", "def f(): pass\n")),
    "workspace": lambda memory, _, key: app_of(memory).create_workspace(key),
    "workspace made by the way": lambda memory, _, key: app_of(memory).memory(key).remember(f"x {key[-3:]}"),
    "description": lambda memory, _, key: app_of(memory).create_workspace(f"w{key[-3:]}", key),
    "client": lambda memory, _, key: _by(memory, client=key),
    "version": lambda memory, _, key: _by(memory, version=key),
    "session": lambda memory, _, key: _by(memory, session=key),
    "tool": lambda memory, _, key: _by(memory, tool=key),
    "backup": lambda memory, folder, key: (memory.remember(f"x {key[-3:]}"), memory.care.backup(folder / key)),
}


@on_every_engine
def test_no_field_of_any_way_in_lets_a_secret_through(memory: Memory, tmp_path: Path) -> None:
    keys = {way: _key(number) for number, way in enumerate(WAYS, 100)}
    for way, key in keys.items():
        with contextlib.suppress(BadInput):  # a name that things are found by is refused
            WAYS[way](memory, tmp_path / "in" / key[-3:], key)
    app, stored = app_of(memory), tmp_path / "b"
    for each in app.workspaces():
        app.memory(each.id).care.backup(stored, force=True)
        content = stored.read_bytes() + repr(each).encode()
        assert [way for way, key in keys.items() if key.encode() in content] == []


def _one(memory: Memory) -> str:
    return memory.remember("to be updated").memory_id


def _code(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    return folder


def _by(memory: Memory, **names: str) -> None:
    with called_by(Origin("mcp", **{"session": "s", "tier": "agent", **names})):
        memory.remember("x")
        memory.graph.relate("A", "R", "B")
        memory.context("p").add([{"text": "x"}])
        assert memory.sweep.plan("origin", origin={"tier": "agent"}).item_count


def _graph(*names: str) -> str:
    from memsweep.graph.exchange import form
    from memsweep.model.graph import ExportedEntity, ExportedRelation, GraphDump

    now = datetime(2026, 5, 1, tzinfo=UTC)
    rows = [ExportedEntity(f"ent_{n}", f"K {name}", "Key", 1.0, True, False, now, now) for n, name in enumerate(names)]
    first, last = rows[0].id, rows[-1].id
    fact = ExportedRelation("rel_1", first, last, f"LIKE {names[0]}", 1.0, 1, True, now, now, None, None)
    return form("json").write(GraphDump(tuple(rows), (fact,)))


def _secret_of(text: str) -> str:
    return next(line.text[line.start : line.end] for line in positives() if line.text == text)
