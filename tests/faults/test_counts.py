"""Which of many points a test takes when it does not take all of them."""

from itertools import pairwise

import pytest

from tests.support.counts import some_of, turns

STEPS = ["open", *["create"] * 20, "insert", "insert", "commit", "remove", "remove"]


@pytest.mark.parametrize("count", [2, 3, 8])
def test_some_points_are_spread_from_the_first_to_the_last(count: int) -> None:
    chosen = some_of(range(100), count, thorough=False)
    gaps = [after - before for before, after in pairwise(chosen)]
    assert (chosen[0], chosen[-1], len(chosen)) == (0, 99, count)
    assert max(gaps) - min(gaps) <= 1


def test_a_single_point_is_the_last() -> None:
    assert some_of(range(100), 1, thorough=False) == [99]


def test_few_points_are_all_taken() -> None:
    assert some_of("abc", 3, thorough=False) == ["a", "b", "c"]


def test_what_is_always_taken_is_among_them_once_and_in_order() -> None:
    assert some_of(range(100), 2, [50, 0, 7], thorough=False) == [0, 7, 50, 99]


def test_a_thorough_run_takes_all() -> None:
    assert some_of(range(100), 2, thorough=True) == list(range(100))


def test_where_another_kind_of_step_begins_is_before_and_after_each_commit() -> None:
    assert turns(STEPS) == [0, 1, 21, 23, 24]
    assert turns(["begin", *["insert", "update"] * 5, "commit"]) == [0, 1, 2, 3, 11]
    assert turns([]) == []
