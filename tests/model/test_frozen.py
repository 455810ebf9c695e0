"""`@frozen` beside the dataclass that it stands for."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

import pytest

from memsweep.model.frozen import field, fields_of, frozen, is_frozen, replace, values_of

T = TypeVar("T")


@frozen
class Point(Generic[T]):
    """A point."""

    KIND: ClassVar[str] = "point"
    x: T
    y: int = 2
    named: Mapping[str, int] = field(default_factory=dict)
    hidden: str = field(default="", repr=False, metadata={"about": "what nobody sees"})

    def moved(self, by: int) -> Point[T]:
        return replace(self, y=self.y + by)


@frozen
class Deep(Point[int]):
    """A point with one more."""

    z: int = 0

    def __post_init__(self) -> None:
        if self.z < 0:
            raise ValueError("z is negative")


@dataclasses.dataclass(frozen=True, slots=True)
class Same:
    """A dataclass of the same fields."""

    x: Any
    y: int = 2
    named: Mapping[str, int] = dataclasses.field(default_factory=dict)
    hidden: str = dataclasses.field(default="", repr=False)


def test_a_value_is_made_shown_compared_and_refused_as_a_dataclass_would() -> None:
    for given in ({"x": 1}, {"x": (), "y": 3, "hidden": "h"}, {"x": "🙂", "named": {"a": 1}}):
        ours, theirs = Point(**given), Same(**given)
        assert values_of(ours) == dataclasses.asdict(ours) == dataclasses.asdict(theirs)
        assert repr(ours) == repr(theirs).replace("Same", "Point")
        assert ours == Point(**given) != Point(x=object())
        assert ours != theirs
    for wrong in ({}, {"x": 1, "w": 2}):
        with pytest.raises(TypeError):
            Point(**wrong)
    assert hash(Point(1, named=())) == hash(Point(1, named=()))
    assert Point(1).named is not Point(1).named


def test_it_never_changes() -> None:
    point = Point(1)
    for change in (lambda: setattr(point, "x", 2), lambda: setattr(point, "w", 2), lambda: delattr(point, "x")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert not hasattr(point, "__dict__")
    assert point.moved(3) == Point(1, 5) == dataclasses.replace(point, y=5)


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_copy_is_equal(again: Any) -> None:
    assert again(Deep(1, named={"a": 2}, z=3)) == Deep(1, named={"a": 2}, z=3)


def test_what_it_inherits_comes_first() -> None:
    assert Deep(1, 2, {}, "h", 5).z == 5
    assert (
        list(values_of(Deep(1)))
        == ["x", "y", "named", "hidden", "z"]
        == [each.name for each in dataclasses.fields(Deep)]
    )
    assert list(fields_of(Deep)) == ["z"]
    with pytest.raises(ValueError, match="negative"):
        Deep(1, z=-1)


def test_for_dataclasses_it_is_one() -> None:
    assert dataclasses.is_dataclass(Point)
    assert list(map(is_frozen, (Point, Point(1), Same, int))) == [True, True, False, False]
    told = {each.name: each for each in dataclasses.fields(Point)}
    assert told["hidden"].metadata == {"about": "what nobody sees"}
    assert told["y"].default == 2
    assert told["named"].default_factory is dict
    assert (Point.__doc__, Point.__qualname__, Point.KIND) == ("A point.", "Point", "point")
    match Point(1, 2):
        case Point(x, y):
            assert (x, y) == (1, 2)
