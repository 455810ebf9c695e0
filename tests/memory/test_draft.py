from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.errors import BadInput
from memsweep.memory.remember import make_draft
from memsweep.model.memory import Fact, NamedThing


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


def test_a_draft_holds_what_was_given() -> None:
    draft = make_draft(
        "text",
        tags=[" a ", "b", "a"],
        source=" chat ",
        metadata={"n": 1, "deep": {"list": [1, None, "é"]}},
        thread_id="t",
        entities=["Ada", {"name": "Bob", "type": "Person"}, {"name": "C", "type": None}],
        relations=[{"from": "Ada", "relation": "knows", "to": "Bob", "to_type": "Person", "weight": 0.5}],
        expires_at="2027-01-01",
        pinned=True,
    )
    assert draft.tags == ("a", "b")
    assert draft.source == "chat"
    assert draft.metadata == {"n": 1, "deep": {"list": [1, None, "é"]}}
    assert draft.entities == (NamedThing("Ada", ""), NamedThing("Bob", "Person"), NamedThing("C", ""))
    assert draft.facts == (Fact(NamedThing("Ada", ""), "knows", NamedThing("Bob", "Person"), 0.5),)
    assert draft.expires_at == datetime(2027, 1, 1, tzinfo=UTC)
    assert draft.pinned


def test_no_entities_and_an_empty_list_of_them_are_not_the_same() -> None:
    assert make_draft("x").entities is None
    assert make_draft("x", entities=[]).entities == ()


@pytest.mark.parametrize(
    "empty", [{"thread_id": ""}, {"expires_at": ""}, {"tags": []}, {"metadata": {}}, {"source": ""}]
)
def test_an_empty_value_is_the_same_as_none(empty: dict[str, Any]) -> None:
    assert make_draft("x", **empty) == make_draft("x")


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"tags": "a"}, "tags must be a list, not str"),
    ({"tags": {"a": 1}}, "tags must be a list, not dict"),
    ({"tags": 5}, "tags must be a list, not int"),
    ({"tags": [5]}, "a tag must be text, not int"),
    ({"tags": [""]}, "a tag is empty"),
    ({"tags": ["  "]}, "a tag is empty"),
    ({"tags": ["a\0"]}, "NUL"),
    ({"tags": ["\ud800"]}, "surrogate"),
    ({"tags": ["x" * 201]}, "201 characters"),
    ({"tags": [str(n) for n in range(65)]}, "65 items; at most 64"),
    ({"tags": ["x"] * 1001}, "1001 items"),
    ({"source": 5}, "source must be text, not int"),
    ({"source": 0}, "source must be text, not int"),
    ({"source": []}, "source must be text, not list"),
    ({"source": " "}, "source is empty"),
    ({"source": "a\0"}, "NUL"),
    ({"source": "code_indexer"}, "kept for indexed code"),
    ({"source": " code_indexer "}, "kept for indexed code"),
    ({"metadata": "{}"}, "metadata must be an object, not str"),
    ({"metadata": [1]}, "metadata must be an object, not list"),
    ({"metadata": {"a": float("nan")}}, "cannot be written as JSON"),
    ({"metadata": {"a": float("inf")}}, "cannot be written as JSON"),
    ({"metadata": {"a": object()}}, "cannot be written as JSON"),
    ({"metadata": {"a": b"x"}}, "cannot be written as JSON"),
    ({"metadata": {"a": 10**5000}}, "cannot be written as JSON"),
    ({"metadata": {(1, 2): "a"}}, "cannot be written as JSON"),
    ({"metadata": {"a": "\ud800"}}, "surrogate"),
    ({"metadata": {"\udfff": 1}}, "surrogate"),
    ({"metadata": {"a": "x\0"}}, "NUL"),
    ({"metadata": {"a\0": 1}}, "NUL"),
    ({"metadata": {"a": ["\\\0"]}}, "NUL"),
    ({"metadata": {"a": "x" * 65536}}, "bytes; at most 65,536"),
    ({"metadata": deep(100_000)}, "cannot be written as JSON"),
    ({"metadata": deep(64)}, "nested more than 64 levels"),
    ({"thread_id": 5}, "thread_id must be text"),
    ({"thread_id": " "}, "thread_id is empty"),
    ({"thread_id": "x" * 201}, "thread_id has 201 characters"),
    ({"thread_id": "é\ud800"}, "surrogate"),
    ({"thread_id": []}, "thread_id must be text"),
    ({"entities": "Ada"}, "entities must be a list, not str"),
    ({"entities": {"name": "Ada"}}, "entities must be a list, not dict"),
    ({"entities": [5]}, "an entity must be a name"),
    ({"entities": [None]}, "an entity must be a name"),
    ({"entities": [{"type": "Person"}]}, "an entity must be a name"),
    ({"entities": [{"name": ""}]}, "name is empty"),
    ({"entities": [{"name": 5}]}, "name must be text"),
    ({"entities": [{"name": "Ada", "type": 5}]}, "type must be text"),
    ({"entities": [{"name": "Ada", "kind": "x"}]}, "an entity has no field 'kind'"),
    ({"entities": [{"name": "Ada", 5: "x"}]}, "an entity has no field 5"),
    ({"relations": [{"from": "a", "to": "b"}]}, "a relation must be"),
    ({"relations": ["a"]}, "a relation must be"),
    ({"relations": {"from": "a", "to": "b", "relation": "c"}}, "relations must be a list"),
    ({"relations": [{"from": "a", "to": "b", "relation": ""}]}, "name is empty"),
    ({"relations": [{"from": "a", "to": "b", "relation": "c", "weight": 2}]}, "from 0 to 1, not 2"),
    ({"relations": [{"from": "a", "to": "b", "relation": "c", "weight": -0.1}]}, "from 0 to 1"),
    ({"relations": [{"from": "a", "to": "b", "relation": "c", "weight": True}]}, "from 0 to 1"),
    ({"relations": [{"from": "a", "to": "b", "relation": "c", "weight": "1"}]}, "from 0 to 1"),
    ({"relations": [{"from": "a", "to": "b", "relation": "c", "weight": float("nan")}]}, "from 0 to 1"),
    ({"relations": [{"from": "a", "to": "b", "relation": "c", "weight": None}]}, "from 0 to 1"),
    ({"relations": [{"from": "a", "to": "b", "relation": "c", "extra": 1}]}, "no field 'extra'"),
    ({"relations": [{"from": 1, "to": "b", "relation": "c"}]}, "must be text"),
    ({"expires_at": "2026-02-30"}, "expires_at"),
    ({"expires_at": 5}, "expires_at must be an ISO 8601"),
    ({"pinned": "no"}, "pinned must be true or false"),
    ({"pinned": 1}, "pinned must be true or false"),
    ({"pinned": None}, "pinned must be true or false"),
]


@pytest.mark.parametrize(("wrong", "said"), WRONG, ids=[said for _, said in WRONG])
def test_what_is_wrong_is_refused_with_its_name(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput) as caught:
        make_draft("x", **wrong)
    assert said in str(caught.value)
    assert len(str(caught.value)) < 500


def test_metadata_may_be_nested_64_levels_deep() -> None:
    assert make_draft("x", metadata=deep(63)).metadata == deep(63)


def test_a_backslash_in_metadata_is_not_taken_for_a_nul() -> None:
    assert make_draft("x", metadata={"path": "C:\\u0000"}).metadata == {"path": "C:\\u0000"}


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), JSON, max_size=5))
def test_any_json_object_is_kept_as_it_is(metadata: dict[str, Any]) -> None:
    assert make_draft("x", metadata=metadata).metadata == metadata


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary() | st.datetimes(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers(), inner, max_size=3),
    max_leaves=8,
)
FIELDS = ("tags", "source", "metadata", "thread_id", "entities", "relations", "expires_at", "pinned")


@given(ANYTHING, st.dictionaries(st.sampled_from(FIELDS), ANYTHING))
def test_anything_at_all_gives_a_draft_or_a_clear_refusal(text: Any, fields: dict[str, Any]) -> None:
    with suppress(BadInput):
        make_draft(text, **fields)
