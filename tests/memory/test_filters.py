from datetime import UTC, datetime
from typing import Any

import pytest
import typer

from memsweep.cli.door import command_line
from memsweep.errors import BadInput
from memsweep.memory.listing import make_list_filters
from memsweep.model.search import FILTERS, Filters, make_filters
from memsweep.server.tools import FILTERS_SHOWN


def test_no_filters_let_everything_through() -> None:
    assert make_filters(None) == make_filters({}) == Filters()


def test_filters_are_read_from_an_object() -> None:
    given = {
        "tags": [" a ", "b", "a"],
        "source": " chat ",
        "date_from": "2026-01-01",
        "date_to": "2026-01-31",
        "include_stale": True,
    }
    assert make_filters(given) == Filters(
        tags=("a", "b"),
        source="chat",
        date_from=datetime(2026, 1, 1, tzinfo=UTC),
        date_to=datetime(2026, 1, 31, 23, 59, 59, 999999, UTC),
        include_stale=True,
    )


def test_nulls_are_left_out() -> None:
    assert make_filters(dict.fromkeys(["tags", "source", "date_from", "date_to", "include_stale"])) == Filters()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("tags", "filters must be an object, not str"),
        (["a"], "filters must be an object, not list"),
        ({"tag": ["a"]}, "filters has no field 'tag'; it has tags"),
        ({5: 1}, "filters has no field 5"),
        ({"tags": "a"}, "filters.tags must be a list of tags, not 'a'"),
        ({"tags": [5]}, "filters.tags must be text, not 5"),
        ({"tags": {"a": 1}}, "filters.tags must be a list"),
        ({"source": 5}, "filters.source must be text, not 5"),
        ({"date_from": "2026-02-30"}, "date_from"),
        ({"date_to": 5}, "date_to must be an ISO 8601"),
        ({"include_stale": "yes"}, "filters.include_stale must be true or false, not 'yes'"),
        ({"include_stale": 1}, "filters.include_stale"),
        ({"date_from": "2026-02-01", "date_to": "2026-01-01"}, "date_from 2026-02-01 is after date_to 2026-01-01"),
        (Filters(tags="ab"), "filters.tags"),  # type: ignore[arg-type]
        (Filters(source=5), "filters.source"),  # type: ignore[arg-type]
    ],
    ids=ascii,
)
def test_wrong_filters_are_refused_by_name(wrong: Any, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        make_filters(wrong)
    assert said in str(caught.value)


def test_one_day_is_a_period() -> None:
    filters = make_filters({"date_from": "2026-01-01", "date_to": "2026-01-01"})
    assert filters.date_from is not None
    assert filters.date_to is not None
    assert filters.date_from < filters.date_to


def test_filters_made_by_hand_are_checked_too() -> None:
    made = make_filters(Filters(tags=("a", "a"), date_from=datetime(2026, 1, 1)))
    assert made == Filters(tags=("a",), date_from=datetime(2026, 1, 1, tzinfo=UTC))
    with pytest.raises(BadInput, match=r"filters\.tags contains a lone surrogate"):
        make_filters(Filters(tags=("\ud800",)))


def test_a_filter_has_a_length() -> None:
    with pytest.raises(BadInput, match=r"filters\.path has 5,000 characters; at most 4,096"):
        make_filters({"path": "*" * 5000})


def test_each_filter_is_declared_once() -> None:
    fields = [name for name in Filters.__match_args__ if name != "held_back"]
    assert sorted(FILTERS) == sorted(fields)
    shown = FILTERS_SHOWN["properties"]
    assert {name: shown[name] for name in FILTERS} == {name: each.schema for name, each in FILTERS.items()}


def test_each_filter_with_an_option_has_it_in_both_commands() -> None:
    for command, of_lists in (("search", False), ("list", True)):
        known = typer.main.get_command(command_line(command)).commands[command]  # type: ignore[attr-defined]
        options = {option for each in known.params for option in each.opts}
        for name, each in FILTERS.items():
            wanted = bool(each.option) and (each.of_lists or not of_lists)
            assert wanted == bool({part for said in each.option for part in said.split("/")} & options), name


def test_a_filter_of_searches_alone_is_refused_in_a_list() -> None:
    given = {
        "include_stale": True,
        "symbol_kind": "class",
        "as_of": "2026-01-01",
        "role": "test",
        "include_tests": False,
    }
    assert given.keys() == {name for name, each in FILTERS.items() if not each.of_lists}
    for name, value in given.items():
        with pytest.raises(BadInput, match=f"filters.{name} is of searches"):
            make_list_filters({name: value}, None, None)
