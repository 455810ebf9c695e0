"""Filters on metadata: what is meant, on every engine, whatever stands in the metadata."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memsweep.app import App
from memsweep.errors import BadInput, BadSetting
from memsweep.model.conditions import written_conditions
from memsweep.model.search import make_filters
from memsweep.settings import load_settings
from tests.support.engines import ENGINES, Home

TICKETS: list[dict[str, Any]] = [
    {},
    {"ticket": {"id": 42, "state": "open"}, "score": 0.5},
    {"ticket": {"id": 42.0, "state": "new"}, "score": 3},
    {"ticket": {"id": "42"}, "score": 10**30},
    {"ticket": {"id": True}, "score": -7},
    {"ticket": {"id": None}, "owner": {"name": 'Zoë "Z" \\ \U0001f600'}},
    {"ticket": "id", "a.b": 1, "owner": {}},
    {"ticket": {"id": [42]}, "score": "3", "tab\there": {"$": {"[0]": "deep"}}},
    {"score": 0.1 + 0.2, "state": "z", "é": "ö"},
    {"score": 2**53 + 1, "state": "\U0001f600", "done": False, "é": ""},
]
PATHS = (
    "ticket.id",
    "ticket.state",
    "ticket",
    "score",
    "state",
    "owner.name",
    "owner",
    "done",
    "é",
    "tab\there.$.[0]",
    "a.b",
)
VALUES = (
    42,
    42.5,
    "42",
    True,
    False,
    "open",
    3,
    -7,
    0.3,
    0.1 + 0.2,
    1e30,
    2**53 + 1,
    "",
    "z",
    "\U0001f600",
    "\uffff",
    'Zoë "Z" \\ \U0001f600',
)


INDEXED = "ticket.id,score,state,owner,done"


@pytest.fixture(scope="module", params=[*ENGINES, *(f"{kind}-indexed" for kind in ENGINES)])
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Half of the memories are older than the indexes, where there are any."""
    kind, _, indexed = request.param.partition("-")
    home = Home(kind, tmp_path_factory.mktemp("metadata"))
    before = App(load_settings(home.variables))
    made = App(load_settings(home.variables, overrides={"MEMSWEEP_SEARCH_METADATA_INDEX": INDEXED if indexed else ""}))
    for number, metadata in enumerate(TICKETS):
        (made if number > 4 else before).memory().remember(f"Note {number} about the lamps.", metadata=metadata)
    yield made
    before.close()
    made.close()
    home.close()


def listed(app: App, **metadata: Any) -> list[int]:
    page = app.memory().memories(filters={"metadata": metadata})
    return sorted(int(each.text.split()[1]) for each in page.memories)


def found(app: App, metadata: dict[str, Any]) -> list[int]:
    page = app.memory().search("lamps", filters={"metadata": metadata}, limit=50, mode="deep")
    return sorted(int(hit.passage.text.split()[1]) for hit in page.hits)


@pytest.mark.parametrize(
    ("asked", "numbers"),
    [
        ({"ticket.id": 42}, [1, 2]),
        ({"ticket.id": "42"}, [3]),
        ({"ticket.id": True}, [4]),
        ({"ticket.id": [42, "42"]}, [1, 2, 3]),
        ({"ticket.id": 42, "ticket.state": "new"}, [2]),
        ({"ticket.id": {"exists": True}}, [1, 2, 3, 4, 7]),
        ({"ticket.id": {"exists": False}}, [0, 5, 6, 8, 9]),
        ({"ticket": {"exists": True}}, [1, 2, 3, 4, 5, 6, 7]),
        ({"ticket.id": 41}, []),
        ({"score": {">": 0.5}}, [2, 3, 9]),
        ({"score": {">=": 0.5, "<": 10}}, [1, 2]),
        ({"score": {"<": 0}}, [4]),
        ({"score": {">=": "3"}}, [7]),
        ({"score": 0.1 + 0.2}, [8]),
        ({"state": {">": "z"}}, [9]),
        ({"done": False}, [9]),
        ({"tab\there.$.[0]": "deep"}, [7]),
        ({"owner.name": 'Zoë "Z" \\ \U0001f600'}, [5]),
        ({"é": ["ö", ""]}, [8, 9]),
    ],
    ids=str,
)
def test_a_memory_is_listed_and_found_by_its_metadata(app: App, asked: dict[str, Any], numbers: list[int]) -> None:
    assert listed(app, **asked) == found(app, asked) == numbers


def at(metadata: Any, path: str) -> Any:
    """What a path leads to, said another way than in the code."""
    *above, last = path.split(".")
    for part in above:
        metadata = metadata.get(part, {}) if isinstance(metadata, dict) else {}
    return metadata.get(last) if isinstance(metadata, dict) else None


def meets(value: Any, asked: Any) -> bool:
    kinds = {int: "number", float: "number", str: "text", bool: "flag"}

    def alike(other: Any) -> bool:
        return type(value) in kinds and kinds[type(value)] == kinds[type(other)]

    match asked:
        case {"exists": wanted}:
            return (value is not None) == wanted
        case dict():
            tried = {">": "value > other", ">=": "value >= other", "<": "value < other", "<=": "value <= other"}
            return all(
                alike(other) and eval(tried[sign], {"value": value, "other": other}) for sign, other in asked.items()
            )
        case list():
            return any(alike(other) and value == other for other in asked)
    return alike(asked) and bool(value == asked)


values = st.sampled_from(VALUES)
ordered = st.dictionaries(
    st.sampled_from([">", ">=", "<", "<="]), values.filter(lambda each: not isinstance(each, bool)), min_size=1
)
conditions = st.dictionaries(
    st.sampled_from(PATHS),
    values | st.lists(values, min_size=1, max_size=4) | ordered | st.booleans().map(lambda there: {"exists": there}),
    min_size=1,
    max_size=3,
)


@given(asked=conditions)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_both_engines_find_what_meets_all_conditions(app: App, asked: dict[str, Any]) -> None:
    kept = [json.loads(json.dumps(each)) for each in TICKETS]
    kept[3]["score"] = 1e30  # of whole numbers, 64 bits are told apart
    meant = [
        number
        for number, metadata in enumerate(kept)
        if all(meets(at(metadata, path), wanted) for path, wanted in asked.items())
    ]
    assert listed(app, **asked) == found(app, asked) == meant


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("ticket.id=42", "filters.metadata must be an object of paths and values, not 'ticket.id=42'"),
        ({5: 1}, "a path in filters.metadata must be text, not 5"),
        ({"": 1}, "filters.metadata has no path ''"),
        ({"a..b": 1}, "filters.metadata has no path 'a..b'"),
        ({".": 1}, "no path '.'"),
        ({"a\0": 1}, "no path 'a\\x00'"),
        ({"\ud800": 1}, "lone surrogate"),
        ({"x" * 201: 1}, "has 201 characters; at most 200"),
        ({".".join("x" * 17): 1}, "at most 16"),
        ({"a": None}, "filters.metadata['a'] must be a text, a number of at most 64 bits, true or false, not None"),
        ({"a": []}, "filters.metadata['a'] names no value"),
        ({"a": [[1]]}, "must be a text"),
        ({"a": {}}, "says nothing of its value"),
        ({"a": {"=": 1}}, "has no field '='; it has >, >=, <, <=, exists"),
        ({"a": {">": True}}, "True is not greater or less than anything"),
        ({"a": {">": None}}, "must be a text"),
        ({"a": {"exists": 1}}, "filters.metadata['a'].exists must be true or false, not 1"),
        ({"a": float("nan")}, "not nan"),
        ({"a": float("inf")}, "not inf"),
        ({"a": 2**63}, "not 9223372036854775808"),
        ({"a": "x" * 4097}, "at most 4,096"),
        ({"a": "\ud800"}, "lone surrogate"),
        ({"a": list(range(101))}, "has 101 items; at most 100"),
        ({f"a{n}": n for n in range(17)}, "has 17 items; at most 16"),
    ],
    ids=ascii,
)
def test_what_cannot_be_asked_is_refused_in_a_sentence(wrong: Any, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        make_filters({"metadata": wrong})
    assert said in str(caught.value)


def test_what_looks_like_sql_or_a_pattern_is_only_a_name(app: App) -> None:
    for path in ("$", "*", "a') or 1=1 --", '"', "\\", "[0]", "#-1", "ticket[0]"):
        assert listed(app, **{path: "x"}) == []
        assert listed(app, **{path: {"exists": False}}) == list(range(len(TICKETS)))


def test_a_person_writes_conditions() -> None:
    written = ["ticket.id=42", "state = open|new", "score>=3", "score<10", "owner", 'code="42"', "done=true", "url=a=b"]
    assert written_conditions(written) == {
        "ticket.id": [42],
        "state": ["open", "new"],
        "score": {">=": 3, "<": 10},
        "owner": {"exists": True},
        "code": ["42"],
        "done": [True],
        "url": ["a=b"],
    }


@pytest.mark.parametrize(("wrong", "said"), [("=1", "'=1' is no condition"), ("", "'' is no condition")])
def test_what_is_no_condition_is_refused(wrong: str, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        written_conditions([wrong])


def test_a_path_is_asked_for_once() -> None:
    with pytest.raises(BadInput, match=r"'a' is asked for twice\. Write its values as a=one\|another"):
        written_conditions(["a=1", "a=2"])


@pytest.mark.parametrize("kind", ENGINES)
def test_an_index_follows_updates_undo_and_the_setting(kind: str, tmp_path: Path) -> None:
    home = Home(kind, tmp_path)

    def with_paths(paths: str) -> App:
        return App(load_settings(home.variables, overrides={"MEMSWEEP_SEARCH_METADATA_INDEX": paths}))

    def texts(app: App, state: str) -> list[str]:
        return [each.text for each in app.memory().memories(filters={"metadata": {"state": state}}).memories]

    before, after = with_paths("state"), with_paths("state,owner")
    memory = before.memory()
    known = memory.remember("Note 1 about the lamps.", metadata={"state": "open"}).memory_id
    changed = memory.update(known, metadata={"state": "done "})
    assert (texts(before, "open"), texts(before, "done ")) == ([], ["Note 1 about the lamps."])
    memory.sweep.undo(changed.receipt_id)
    gone = memory.delete(known, confirm=True)
    assert texts(before, "open") == []
    memory.sweep.undo(gone.id)
    after.memory().remember("Note 2 about the lamps.", metadata={"state": "open", "owner": "Ada"})
    memory.remember("Note 3 about the lamps.", metadata={"state": "open", "owner": "Ada"})
    assert len(texts(before, "open")) == len(texts(after, "open")) == 3
    found = after.memory().memories(filters={"metadata": {"owner": "Ada", "state": "open"}})
    assert len(found.memories) == 2
    assert before.memory().care.doctor().findings == ()
    for app in (before, after):
        app.close()
    home.close()


@pytest.mark.parametrize("path", ["a'b", 'a"b', "a..b", "", "é", "a b", "x" * 41, ".".join("abcdefghi")])
def test_a_path_that_cannot_have_an_index_is_refused(path: str) -> None:
    with pytest.raises(BadSetting, match=r"search\.metadata_index"):
        load_settings({}, overrides={"MEMSWEEP_SEARCH_METADATA_INDEX": f"state,{path or '.'}"})
