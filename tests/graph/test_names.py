"""Entities listed by name in pages, and what an entity says of its facts."""

from collections.abc import Callable
from typing import Any

import pytest

from memsweep.app import App, Memory
from memsweep.errors import BadInput
from tests.support.commands import Ran
from tests.support.engines import on_every_engine
from tests.support.paging import pages_of

NAMES = ["Ada", "ada lovelace", "Bob", "Élan", "100%", "a_b", "axb", "漢字", "Bob's \U0001f6a2", "zoo"]


def filled(memory: Memory) -> Memory:
    memory.graph.relate_many({"entities": [{"name": name, "type": "Person"} for name in NAMES]})
    memory.graph.relate_many({"entities": [{"name": "Ada", "type": "Ship"}]})
    return memory


def walked(memory: Memory, limit: int, meanwhile: Callable[[], object] = lambda: None, **asked: Any) -> list[str]:
    found: list[str] = []
    for page in pages_of(memory.graph.names, limit=limit, **asked):
        assert page.first == len(found)
        found += [f"{each.name}/{each.type}" for each in page.entities]
        meanwhile()
    assert page.total == len(found)
    return found


@on_every_engine
def test_pages_together_are_the_names_that_match_in_their_order(memory: Memory) -> None:
    filled(memory)
    whole = walked(memory, 200)
    assert len(whole) == len(NAMES) + 1
    cases: list[tuple[dict[str, Any], list[str]]] = [
        ({}, whole),
        ({"search": "ADA"}, ["Ada/Person", "Ada/Ship", "ada lovelace/Person"]),
        ({"search": "love"}, ["ada lovelace/Person"]),
        ({"search": "love", "prefix": True}, []),
        ({"search": "bob", "prefix": True}, ["Bob/Person", "Bob's \U0001f6a2/Person"]),
        ({"search": "%"}, ["100%/Person"]),
        ({"search": "a_b"}, ["a_b/Person"]),
        ({"search": "漢"}, ["漢字/Person"]),
        ({"entity_type": "ship"}, ["Ada/Ship"]),
    ]
    for asked, wanted in cases:
        for limit in (1, 2, 200):
            assert walked(memory, limit, **asked) == wanted, asked


@on_every_engine
def test_what_is_added_or_merged_meanwhile_moves_no_page(memory: Memory) -> None:
    filled(memory)
    done: list[bool] = []

    def meanwhile() -> None:
        if not done:
            done.append(True)
            memory.graph.relate_many({"entities": [{"name": "0 first", "type": "Person"}]})
            memory.graph.merge(["Bob"], "zoo")

    before = [name for name in walked(memory, 200) if name != "Bob/Person"]
    found = []
    for page in pages_of(memory.graph.names, limit=2):
        found += [f"{each.name}/{each.type}" for each in page.entities]
        meanwhile()
    assert [name for name in found if name != "Bob/Person"] == before
    assert walked(memory, 200, search="bob", prefix=True) == ["Bob's \U0001f6a2/Person", "zoo/Person"]  # its old name


@on_every_engine
def test_an_entity_says_how_many_facts_it_has_and_which_contradict(memory: Memory) -> None:
    memory.remember("Ada wrote it.", entities=["Ada"])
    for city in ("Berlin", "Paris"):
        memory.graph.relate("Ada", "LIVES_IN", city)
    memory.graph.relate("Ada", "KNOWS", "Bob")
    memory.graph.relate("Bob", "KNOWS", "Ada")
    memory.graph.relate("Ada", "HAS_STATUS", "busy")
    memory.graph.relate("Ada", "HAS_STATUS", "free", replaces=True)
    found = memory.graph.related("Ada", limit=2)
    assert (found.start.mentions, found.start.relations) == (1, 6)
    assert {each[:2]: each[2:] for each in found.facts} == {
        ("LIVES_IN", True): (2, 0),
        ("KNOWS", True): (1, 0),
        ("KNOWS", False): (1, 0),
        ("HAS_STATUS", True): (1, 1),
    }
    assert [each.why for each in found.contradictions] == [
        each.why for each in memory.graph.validate() if each.kind == "contradiction"
    ]
    assert len(found.contradictions) == 1


@on_every_engine
def test_nothing_is_listed_where_nothing_is_stored(app: App) -> None:
    assert app.memory("").graph.names().total == 0


def test_mistakes_are_named(memory: Memory) -> None:
    filled(memory)
    with pytest.raises(BadInput, match="limit must be from 1 to 200"):
        memory.graph.names(limit=0)
    with pytest.raises(BadInput, match="search must be text of at most"):
        memory.graph.names("x" * 1001)
    with pytest.raises(BadInput, match="does not belong to this listing"):
        memory.graph.names("a", cursor=memory.graph.names("b", limit=1).next_cursor)


def test_the_command_prints_pages(run: Callable[..., Ran]) -> None:
    for name in ("Ada", "Bob", "Cid"):
        run("graph", "relate", name, "KNOWS", "Zoe")
    first = run("graph", "names", "-n", "2").out
    assert "2 of 4" in first
    cursor = first.split("--cursor ")[1].strip()
    assert "Cid" in run("graph", "names", "-n", "2", "--cursor", cursor).out
