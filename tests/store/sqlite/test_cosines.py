"""How near chunks are to a query, with numpy and without it."""

from array import array
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.store.sqlite import vectors
from memsweep.store.sqlite.vectors import Cosines, Part, compare
from tests.support.without_numpy import without_numpy

WIDTH = 4
rows_of_bytes = st.lists(st.sampled_from([-127, -3, 0, 1, 2, 127]), min_size=WIDTH, max_size=WIDTH).map(
    lambda row: array("b", row).tobytes()
)
queries = st.tuples(rows_of_bytes, st.lists(st.lists(rows_of_bytes, min_size=1), max_size=2))


def compared(query: bytes, parts: Sequence[Sequence[bytes]]) -> Cosines:
    told, key = [], 0
    for part in parts:
        keys, rows = array("q", range(key + 1, key + 2 * len(part), 2)), memoryview(b"".join(part))
        told.append(Part(memoryview(keys), rows))
        key += 2 * len(part)
    return compare(query, told)


def answers(found: Cosines) -> list[object]:
    every = range(2 * len(found) + 3)
    among = found.among(key for key in every if key % 3 == 0)
    return [
        len(found),
        [found.nearest(count) for count in (1, 2, 5, 100)],
        found.of(every),
        among.nearest(3),
        len(among),
    ]


@given(queries)
def test_without_numpy_everything_is_the_same(asked: tuple[bytes, list[list[bytes]]]) -> None:
    with_numpy = answers(compared(*asked))
    with without_numpy():
        assert answers(compared(*asked)) == with_numpy


@given(queries)
def test_the_nearest_are_on_the_same_side_and_equals_are_in_the_order_of_their_keys(
    asked: tuple[bytes, list[list[bytes]]],
) -> None:
    found = compared(*asked)
    keys = range(1, 2 * len(found), 2)
    near = {key: cosine for key, cosine in zip(keys, found.of(keys), strict=True) if cosine > 0}
    assert found.nearest(3) == sorted(near, key=lambda key: (-near[key], key))[:3]


@pytest.mark.parametrize("count", [5, 7])
def test_very_many_are_compared_in_several_threads(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    rows = [bytes(range(first, first + WIDTH)) for first in range(1, 1 + count)]
    at_once = answers(compared(b"abcd", [rows]))
    monkeypatch.setattr(vectors, "_ROWS_A_THREAD", 2)
    assert answers(compared(b"abcd", [rows])) == at_once


@pytest.mark.parametrize("count", [1, 7, 125])
@pytest.mark.parametrize("size", [5, 640, 10_001])
def test_the_nearest_of_many_are_those_that_sorting_all_would_find(count: int, size: int) -> None:
    values = np.random.default_rng(size).integers(-50, 400, size).astype(np.float32)  # with many equals
    keys = 3 * np.arange(size)
    wanted = sorted(zip((-values).tolist(), keys.tolist(), strict=True))[:count]
    assert vectors._WithNumpy(keys, values).nearest(count) == [key for value, key in wanted if value < 0]
