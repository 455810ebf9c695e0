"""The search for an explanation: it finds one where there is one, and none for an answer that cannot be."""

import pytest

from tests.faults.linear import Call, explains
from tests.faults.slots import Known, Slot, segment_step, step

KNOWN = Known(frozenset({"m1", "m2"}), frozenset({"m2"}), frozenset({"r9"}))


def call(name: str, *arguments: object, at: tuple[int, int | None], answer: object = None) -> Call:
    return Call(name, arguments, at[0], at[1], answer)


ADDED = call("add", "x", at=(1, 2), answer=("new", "m1"))
DELETED = call("delete", "m1", at=(3, 4), answer="r1")
LIVE, GONE = ("m1", None, False, 1), ("m1", "r1", False, 1)
UNDONE = call("undo", "r1", at=(5, 6), answer=())
PLANNED = call("plan", at=(3, 4), answer=("p1", ("m1",)))
APPLIED = call("apply", "p1", at=(5, 6), answer=("r1", ()))


@pytest.mark.parametrize(
    ("calls", "rows"),
    [
        ([[ADDED]], {LIVE}),
        ([[ADDED, DELETED]], {GONE}),
        ([[ADDED, DELETED, UNDONE]], {LIVE}),
        ([[ADDED, PLANNED, APPLIED]], {GONE}),
        # A second process: whichever came first, the other answer fits.
        ([[ADDED, DELETED], [call("delete", "m1", at=(3, 5), answer="NotFound")]], {GONE}),
        ([[ADDED], [call("add", "x", at=(1, 3), answer=("duplicate", "m1"))]], {("m1", None, False, 2)}),
        # Nobody heard the answer: done or not.
        ([[ADDED], [call("pin", "m1", True, at=(3, None))]], {LIVE}),
        ([[ADDED], [call("pin", "m1", True, at=(3, None))]], {("m1", None, True, 2)}),
        ([[ADDED], [call("delete", "m1", at=(3, None))]], {("m1", "r9", False, 1)}),
        ([[call("add", "x", at=(1, None))]], {("m2", None, False, 1)}),
        ([[call("add", "x", at=(1, None))]], set()),
        # Planned, then pinned: the apply skips it.
        (
            [[ADDED, PLANNED, call("apply", "p1", at=(7, 8), answer=("r1", ("m1",)))],
             [call("pin", "m1", True, at=(5, 6), answer="done")]],
            {("m1", None, True, 2)},
        ),
    ],
)  # fmt: skip
def test_what_can_have_happened_is_explained(calls: list[list[Call]], rows: set[tuple[object, ...]]) -> None:
    assert explains(calls, Slot(), lambda slot, each: step(slot, each, KNOWN), lambda slot: slot.rows() == rows)


@pytest.mark.parametrize(
    ("calls", "rows"),
    [
        ([[ADDED]], set()),  # an acknowledged memory is lost
        ([[ADDED, DELETED]], {LIVE}),  # an acknowledged deletion is lost
        ([[ADDED]], {GONE}),  # in the trash, and nobody put it there
        ([[ADDED], [call("add", "x", at=(3, 4), answer=("new", "m2"))]], {LIVE, ("m2", None, False, 1)}),  # twice
        ([[ADDED, DELETED, UNDONE], [call("undo", "r1", at=(5, 7), answer=())]], {LIVE}),  # undone twice
        ([[ADDED, PLANNED, APPLIED], [call("apply", "p1", at=(5, 7), answer=("r2", ()))]], {GONE}),  # applied twice
        ([[ADDED, DELETED], [call("get", "m1", at=(5, 6), answer="done")]], {GONE}),  # read after it had gone
        ([[ADDED, call("get", "m1", at=(3, 4), answer="NotFound")]], {LIVE}),  # not read although it is there
        ([[ADDED, PLANNED, APPLIED], [call("pin", "m1", True, at=(4, 4), answer="done")]], {("m1", "r1", True, 2)}),
        ([[ADDED, call("pin", "m1", True, at=(3, 4), answer="done")]], {LIVE}),  # a pin is lost
        ([[ADDED], [call("pin", "m1", True, at=(3, None))]], {("m1", None, True, 1)}),  # half of a pin
    ],
)
def test_what_cannot_have_happened_is_not(calls: list[list[Call]], rows: set[tuple[object, ...]]) -> None:
    assert not explains(calls, Slot(), lambda slot, each: step(slot, each, KNOWN), lambda slot: slot.rows() == rows)


def test_segments_are_added_once_and_lost_never() -> None:
    added = call("add segment", "s", at=(1, 2), answer="done")
    again = call("add segment", "s", at=(1, 3), answer="done")
    stashed = call("stash segment", "s", at=(4, 5), answer="done")
    assert explains([[added], [stashed]], "absent", segment_step, lambda left: left == "stashed")
    assert not explains([[added], [again]], "absent", segment_step, lambda left: left == "active")
    assert not explains([[added], [stashed]], "absent", segment_step, lambda left: left == "active")
