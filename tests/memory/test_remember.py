"""Adding to a real workspace with the bundled model."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import App, Memory
from memsweep.errors import BadInput, NotFound
from memsweep.library import open_memory
from memsweep.model.memory import NamedThing
from memsweep.model.text import MAX_TEXT_BYTES
from memsweep.model.times import parse_time
from tests.support import store_files
from tests.support.counts import TIMES, rounds
from tests.support.engines import on_every_engine
from tests.support.inside import dump_of


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    memory = open_memory(home=tmp_path_factory.mktemp("shared") / "home")
    yield memory
    memory.close()


ACCEPTED = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1).filter(str.strip)


@settings(max_examples=rounds(20, 150))
@given(ACCEPTED | st.tuples(ACCEPTED, st.integers(20, 400)).map(lambda part: part[0] * part[1]))
def test_what_was_added_comes_back_byte_for_byte(shared: Memory, text: str) -> None:
    assert shared.get(shared.remember(text).memory_id).text.encode() == text.encode()


@given(ACCEPTED, ACCEPTED)
def test_only_the_very_same_text_is_a_duplicate(shared: Memory, one: str, other: str) -> None:
    ids = [shared.remember(text).memory_id for text in (one, other)]
    assert (ids[0] == ids[1]) == (one == other)


@pytest.mark.parametrize(
    "text",
    [
        " leading and trailing \n",
        "\r\nwindows\r\nlines\r\n",
        "\ufeffbyte order mark",
        "e\u0301 is not é",
        "\u202eright to left\u202c",
        "👨‍👩‍👧‍👦 family",
        "\x01\x02\x1b[31mcontrol\x7f",
        "\ufffe\uffff nonchars \U0010ffff",
        "tab\tvertical\x0bform\x0cfeed\x1c\x85\u2028\u2029end",
        "[red]markup[/red] [/]",
        "'; drop table memory; --",
        "x",
    ],
    ids=ascii,
)
def test_odd_text_comes_back_and_is_found_as_it_is(memory: Memory, text: str, home: Path) -> None:
    added = memory.remember(text)
    assert memory.get(added.memory_id).text == text
    assert memory.search(text).hits[0].passage.text == text
    assert store_files.problems(store_files.file_of(home)) == []


@pytest.mark.soak
def test_a_text_of_megabytes_is_remembered_whole(memory: Memory, home: Path) -> None:
    """One of them usually, all ten that are allowed in `make soak`."""
    line = "The quick brown fox jumps over the lazy dog and 北京 & São Paulo.\n"
    text = line * (MAX_TEXT_BYTES // 10 * min(10, TIMES) // len(line.encode()))
    added = memory.remember(text)
    assert memory.get(added.memory_id).text == text
    assert added.chunks_created > 300
    assert memory.search("quick fox", limit=1).total > 0
    assert store_files.problems(store_files.file_of(home)) == []


def everything(memory: Memory) -> dict[str, Any]:
    added = memory.remember(
        "Ada Lovelace wrote to Charles Babbage.",
        tags=["history", "letters"],
        source="book",
        metadata={"page": 7, "nested": {"list": [1, 2.5, None, "é🎉"]}},
        thread_id="chapter 1",
        entities=["Ada Lovelace", {"name": "Babbage", "type": "Person"}],
        relations=[{"from": "Ada Lovelace", "relation": "wrote to", "to": "Babbage", "to_type": "Person"}],
        expires_at="2030-01-01T00:00:00+02:00",
        pinned=True,
    )
    return {"added": added, "memory": memory.get(added.memory_id)}


@on_every_engine
def test_everything_that_was_given_comes_back(memory: Memory) -> None:
    before = datetime.now(UTC)
    done = everything(memory)
    kept = done["memory"]
    assert done["added"].chunks_created == 1
    assert done["added"].entities_created == 2
    assert done["added"].duplicate_of is None
    assert kept.tags == ("history", "letters")
    assert kept.source == "book"
    assert kept.metadata == {"page": 7, "nested": {"list": [1, 2.5, None, "é🎉"]}}
    assert kept.thread_id == "chapter 1"
    assert set(kept.entities) == {NamedThing("Ada Lovelace"), NamedThing("Babbage", "Person")}
    assert kept.expires_at == parse_time("2029-12-31T22:00:00Z", "x")
    assert kept.pinned
    assert not kept.stale
    assert kept.version == 1
    assert before <= kept.created_at == kept.updated_at == kept.last_seen_at <= datetime.now(UTC)
    stats = memory.stats()
    assert (stats.total_memories, stats.total_chunks, stats.total_entities, stats.total_relations) == (1, 1, 2, 1)
    assert memory.care.doctor().findings == ()


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": ""},
        {"text": "\n"},
        {"text": "a\0b"},
        {"text": "\ud800"},
        {"text": None},
        {"text": "x" * (MAX_TEXT_BYTES + 1)},
        {"tags": "a"},
        {"tags": ["a\0"]},
        {"metadata": {"a": float("nan")}},
        {"entities": [{"name": ""}]},
        {"relations": [{}]},
        {"expires_at": "2026-02-30"},
        {"thread_id": "\0"},
        {"pinned": "yes"},
        {"source": "code_indexer"},
    ],
    ids=lambda wrong: ascii(wrong)[:40],
)
def test_what_is_refused_leaves_nothing_behind(memory: Memory, home: Path, wrong: dict[str, Any]) -> None:
    with pytest.raises(BadInput):
        memory.remember(**{"text": "fine", **wrong})
    assert not home.exists()


@on_every_engine
def test_the_same_text_again_touches_the_old_memory(memory: Memory) -> None:
    first = memory.remember("the same", tags=["a", "b"], metadata={"k": 1, "l": 1}, source="one", pinned=True)
    old = memory.get(first.memory_id)
    again = memory.remember(
        "the same", tags=["b", "c"], metadata={"k": 2, "m": 3}, source="two", expires_at="2030-01-01"
    )
    new = memory.get(first.memory_id)
    assert again.memory_id == again.duplicate_of == first.memory_id
    assert again.chunks_created == again.entities_created == 0
    assert new.last_seen_at > old.last_seen_at
    assert new.created_at == old.created_at
    assert new.tags == ("a", "b", "c")
    assert new.metadata == {"k": 2, "l": 1, "m": 3}
    assert new.source == "one"
    assert new.pinned
    assert new.expires_at == datetime(2030, 1, 1, tzinfo=UTC)
    assert new.version == old.version + 1
    assert memory.stats().total_memories == 1
    assert [hit.passage.text for hit in memory.search("same", filters={"tags": ["a", "c"]}).hits] == ["the same"]
    assert memory.care.doctor().findings == ()


def test_a_duplicate_does_not_forget_when_the_first_one_expires(memory: Memory) -> None:
    first = memory.remember("the same", expires_at="2030-01-01")
    memory.remember("the same")
    assert memory.get(first.memory_id).expires_at == datetime(2030, 1, 1, tzinfo=UTC)


@on_every_engine
def test_what_a_duplicate_says_of_names_and_facts_is_kept(memory: Memory) -> None:
    first = memory.remember("Ada met Bob.", entities=["Ada"])
    memory.remember("Ada met Bob.", entities=["Bob"], relations=[{"from": "Ada", "relation": "met", "to": "Bob"}])
    assert {thing.name for thing in memory.get(first.memory_id).entities} == {"Ada", "Bob"}
    assert memory.stats().total_relations == 1
    assert memory.care.doctor().findings == ()


@on_every_engine
def test_the_same_text_in_another_thread_is_another_memory(memory: Memory) -> None:
    ids = {memory.remember("yes", thread_id=thread).memory_id for thread in (None, "a", "b", "a", None)}
    assert len(ids) == 3


def test_an_almost_equal_text_is_another_memory(memory: Memory) -> None:
    ids = {memory.remember(text).memory_id for text in ("yes", "Yes", "yes ", "yes\n", "e\u0301", "é")}
    assert len(ids) == 6


def test_a_stale_memory_has_no_twin(memory: Memory, home: Path) -> None:
    first = memory.remember("the same")
    store_files.make_stale(home, first.memory_id)
    assert memory.remember("the same").memory_id != first.memory_id


def test_turns_of_a_thread_keep_their_order(memory: Memory) -> None:
    talk = ["walnut", "harbour", "violin", "glacier", "teapot"]
    for number, turn in enumerate(talk):
        memory.remember(turn, thread_id="talk")
        memory.remember(f"elsewhere {number}", thread_id="other")
    for number, turn in enumerate(talk):
        near = {hit.passage.text for hit in memory.search(turn).hits if "neighbours" in hit.why}
        assert near == {*talk[max(0, number - 1) : number], *talk[number + 1 : number + 2]}


@on_every_engine
def test_a_name_becomes_an_entity_when_the_workspace_has_seen_enough_of_it(memory: Memory) -> None:
    first = memory.remember("Caroline was there yesterday.")
    assert memory.stats().total_entities == 0
    second = memory.remember("Caroline said so.")
    assert second.entities_created == 1
    for added in (first, second):
        assert memory.get(added.memory_id).entities == (NamedThing("Caroline"),)
    assert memory.remember("then Caroline left").entities_created == 0
    assert memory.care.doctor().findings == ()


def test_names_that_the_caller_hands_in_come_instead_of_the_rule(memory: Memory) -> None:
    added = memory.remember("We met Caroline, then Caroline left, so Caroline.", entities=[])
    assert memory.get(added.memory_id).entities == ()
    added = memory.remember("We met Caroline, then Caroline left us, so Caroline.", entities=["Bob"])
    assert memory.get(added.memory_id).entities == (NamedThing("Bob"),)


def test_an_entity_is_the_same_whatever_its_case(memory: Memory) -> None:
    assert memory.remember("a", entities=["Ada", "ADA", " ada "]).entities_created == 1
    assert memory.remember("b", entities=[{"name": "Ada", "type": "Person"}]).entities_created == 1
    assert memory.stats().total_entities == 2


def test_a_fact_told_twice_is_one_relation_with_more_evidence(memory: Memory, home: Path) -> None:
    fact = {"from": "Ada", "relation": "knows", "to": "Bob", "weight": 0.5}
    memory.remember("one", relations=[fact])
    memory.remember("two", relations=[{**fact, "relation": "KNOWS", "weight": 0.25}])
    (stored,) = dump_of(memory).relations
    assert (stored.relation, stored.weight, stored.evidence) == ("knows", pytest.approx(0.5), 2)


def test_a_relation_from_a_thing_to_itself_is_kept(memory: Memory, home: Path) -> None:
    memory.remember("loop", relations=[{"from": "Ada", "relation": "is", "to": "Ada"}])
    assert memory.stats().total_relations == 1
    assert store_files.problems(store_files.file_of(home)) == []


@pytest.mark.parametrize(
    "memory_id", ["mem_000000000000", "", "x", "%", "mem_\ud800", "a\0b", "🎉", "x" * 4000, None, 5]
)
def test_an_unknown_id_is_not_found(memory: Memory, memory_id: Any) -> None:
    memory.remember("something")
    with pytest.raises(NotFound, match="does not exist in workspace 'default'"):
        memory.get(memory_id)


def test_an_id_of_another_workspace_is_not_found(app: App) -> None:
    added = app.memory("one").remember("secret of one")
    app.memory("two").remember("something else")
    with pytest.raises(NotFound, match="workspace 'two'"):
        app.memory("two").get(added.memory_id)
    assert all("secret" not in hit.passage.text for hit in app.memory("two").search("secret of one").hits)
    assert app.memory("two").stats().total_memories == 1


def test_the_same_text_in_two_workspaces_is_two_memories(app: App) -> None:
    assert app.memory("one").remember("same").duplicate_of is None
    assert app.memory("two").remember("same").duplicate_of is None
