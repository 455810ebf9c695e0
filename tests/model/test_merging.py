"""The rules of merges, on values: who gives way, what is counted again, what a purge leaves."""

from datetime import UTC, datetime

import pytest

from memsweep.model.graph_rows import Strength
from memsweep.model.merging import (
    AfterPurge,
    Contender,
    HeldRelation,
    Joined,
    MentionsBack,
    MovedEnd,
    MovedMention,
    RelationStatement,
    Step,
    after_purge,
    freed_with,
    given_by,
    highest,
    joined,
    mentions_back,
    settle,
    statements_back,
    without,
)

NOW = datetime(2026, 3, 1, tzinfo=UTC)
A, B, C, D = 1, 2, 3, 4
RECEIPT = 50


def contender(
    key: int, trash: int | None, *moves: MovedEnd, subject: int = A, target: int = C, is_valid: bool = True
) -> Contender:
    return Contender(key, f"rel_{key}", subject, "knows", target, is_valid, trash, moves)


def moved(merge: int, was: int, end: str = "subject") -> MovedEnd:
    return MovedEnd(merge, end, 0, was)


@pytest.mark.parametrize(
    ("rivals", "back", "away"),
    [
        pytest.param([contender(7, RECEIPT)], {7}, {}, id="nobody else"),
        pytest.param([contender(7, RECEIPT, moved(9, B)), contender(8, None)], set(), {7: (9, 8)}, id="it was moved"),
        pytest.param([contender(7, RECEIPT), contender(8, None, moved(9, B))], {7}, {8: (9, 7)}, id="the other was"),
        pytest.param(
            [contender(7, RECEIPT, moved(9, B)), contender(8, None, moved(10, D))], {7}, {8: (10, 7)}, id="both were"
        ),
        pytest.param(
            [contender(7, RECEIPT, moved(9, B), moved(10, D)), contender(8, None, moved(10, D))],
            set(),
            {7: (9, 8)},
            id="a later merge moved both alike",
        ),
        pytest.param([contender(7, RECEIPT, moved(9, B), target=A)], set(), {7: (9, None)}, id="its ends are one"),
        pytest.param(
            [contender(7, RECEIPT, moved(9, B), moved(9, B, "object"), target=A)], {7}, {}, id="they always were"
        ),
        pytest.param(
            [contender(7, RECEIPT, moved(9, B), target=A, is_valid=False)], set(), {7: (9, None)}, id="in the past"
        ),
        pytest.param([contender(7, 40, moved(9, B)), contender(8, None)], set(), {}, id="another receipt holds it"),
    ],
)
def test_what_a_merge_moved_gives_way_and_is_that_merges(
    rivals: list[Contender], back: set[int], away: dict[int, tuple[int, int | None]]
) -> None:
    settled = settle(rivals, RECEIPT)
    kept = {each.relation.key: (each.merge, each.kept.key if each.kept else None) for each in settled.put_away}
    assert (settled.back, kept, settled.clashing) == (back, away, ())


def test_what_was_made_again_clashes_and_the_newest_of_several_returns() -> None:
    assert [each.key for each in settle([contender(7, RECEIPT), contender(8, None)], RECEIPT).clashing] == [7]
    settled = settle([contender(7, RECEIPT), contender(8, RECEIPT)], RECEIPT)
    assert (settled.back, [each.key for each in settled.clashing]) == ({8}, [7])


def test_of_two_facts_the_stronger_counts_and_evidence_adds_up() -> None:
    weak, strong = Strength(0.1, 0, 2, 0), Strength(0.9, 0, 3, 1)
    assert joined(weak, strong, 0.997, NOW) == Strength(0.9, 0, 5, 1)
    assert joined(strong, weak, 0.997, NOW) == Strength(0.9, 0, 5, 1)
    assert joined(Strength(None, 0, 1, 0), strong, 0.997, NOW).weight is None
    assert joined(weak, given_by(weak, Strength(0.1, 0, 5, 1)), 0.997, NOW) == Strength(0.1, 0, 5, 1)


def test_a_merge_is_taken_out_of_those_that_followed_it() -> None:
    steps = [
        Step(1, 11, (1, 0), (), (5, 0), (3, 4)),
        Step(2, 12, (5, 0), (), (2, 1), (4, 5)),
        Step(3, 13, (5, 1), (), (3, 0), (5, 6)),
    ]
    without_first = without(steps, 11, 6, highest)
    assert without_first.values == (3, 1)
    assert without_first.version == 6
    assert [(step.before, step.versions) for step in without_first.steps] == [((1, 0), (3, 5)), ((2, 1), (5, 6))]
    without_last = without(steps, 13, 6, highest)
    assert (without_last.steps, without_last.values, without_last.version) == ((), (5, 1), 5)


def test_where_something_else_changed_the_row_it_stays_from_there_on() -> None:
    steps = [Step(1, 11, (1,), (), (5,), (3, 4)), Step(2, 12, (5,), (), (2,), (9, 10))]
    assert without(steps, 11, 10, highest).values is None
    assert without(steps[:1], 11, 7, highest).values is None


def test_a_mention_stays_for_the_sake_of_another_merge() -> None:
    back = mentions_back([MovedMention(1, B, A), MovedMention(2, B, A), MovedMention(3, B, None)], {1: 77})
    assert back == MentionsBack(((1, B), (2, B), (3, B)), ((2, A),), (77,))


def test_a_statement_stays_for_the_sake_of_another_merge() -> None:
    added = [RelationStatement(7, 1), RelationStatement(7, 2)]
    dropped, handed_on = statements_back(added, [Joined(12, 7, 9)], {RelationStatement(9, 1)})
    assert dropped == [RelationStatement(7, 2)]
    assert handed_on == [(12, RelationStatement(7, 1))]


@pytest.mark.parametrize(
    ("moves", "receipts", "entities", "left"),
    [
        pytest.param([(10, B)], {10}, {B}, None, id="a merge that is purged is final"),
        pytest.param([(10, B), (9, D)], {10}, {B}, HeldRelation(7, A, C, 9), id="an earlier one moved it too"),
        pytest.param([(10, B), (11, D)], {10}, {B}, None, id="a later one moved what was put away"),
        pytest.param([(10, B)], {20}, {A}, HeldRelation(7, B, C, 10), id="what it was merged into is freed"),
        pytest.param([(10, B)], {20}, {C}, None, id="its own end is freed"),
        pytest.param([(10, B), (11, D)], {11}, {D}, HeldRelation(7, A, C, 10), id="the other merge is final"),
    ],
)
def test_a_purge_takes_what_was_put_away_only_with_its_merge(
    moves: list[tuple[int, int]], receipts: set[int], entities: set[int], left: HeldRelation | None
) -> None:
    ends = [MovedEnd(merge, "subject", 7, was) for merge, was in moves]
    after = after_purge([HeldRelation(7, A, C, 10)], ends, receipts, entities)
    assert after == (AfterPurge(freed=frozenset({7})) if left is None else AfterPurge((left,)))


@pytest.mark.parametrize(
    ("moves", "freed"),
    [
        pytest.param([(10, "subject", B)], {7}, id="made one by a merge that is final"),
        pytest.param([(10, "subject", B), (9, "object", C)], set(), id="told apart by undoing another"),
        pytest.param([(10, "subject", B), (10, "object", B)], set(), id="always of one with itself"),
    ],
)
def test_a_fact_between_two_that_are_one_for_good_goes(moves: list[tuple[int, str, int]], freed: set[int]) -> None:
    ends = [MovedEnd(merge, end, 7, was) for merge, end, was in moves]
    assert freed_with([HeldRelation(7, A, A, 40)], ends, {10}) == freed
