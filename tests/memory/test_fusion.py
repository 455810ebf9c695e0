import math

from hypothesis import given
from hypothesis import strategies as st

from memsweep.memory import ranking
from memsweep.memory.ranking import DEFAULT_WEIGHTS, FusionWeights, places_around, shown
from memsweep.model.search import Candidate, Place, Ranked, place_at, stream_and_position


def fuse(candidates: list[Candidate]) -> list[Ranked]:
    return shown(ranking.fuse(candidates))


def spread(ranked: list[Ranked], keys_at: dict[Place, int], weights: FusionWeights = DEFAULT_WEIGHTS) -> list[Ranked]:
    rows = [(-item.score, item.key, item.words, item.meaning, item.neighbours) for item in ranked]
    return shown(ranking.spread(rows, keys_at, weights))


SCORES = st.floats(0, 30, allow_nan=False) | st.just(0.0)
CANDIDATES = st.lists(
    st.tuples(st.integers(1, 50), SCORES, st.floats(-1, 1, allow_nan=False)), unique_by=lambda row: row[0], max_size=30
).map(lambda rows: [Candidate(key, words, similarity, None) for key, words, similarity in rows])
RANKED = CANDIDATES.map(fuse)
PLACES = st.dictionaries(
    st.tuples(st.integers(1, 3), st.integers(0, 12)).map(lambda at: place_at(*at)), st.integers(1, 50)
)


@given(CANDIDATES)
def test_fusion_keeps_every_candidate_once_and_scores_from_0_to_1(candidates: list[Candidate]) -> None:
    ranked = fuse(candidates)
    assert sorted(item.key for item in ranked) == sorted(item.key for item in candidates)
    assert all(0 <= item.score <= 1 + 1e-9 and item.neighbours == 0 for item in ranked)


@given(CANDIDATES, st.randoms())
def test_the_ranking_does_not_depend_on_the_order_of_the_candidates(
    candidates: list[Candidate], random: object
) -> None:
    shuffled = candidates[:]
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert fuse(shuffled) == fuse(candidates)


@given(RANKED)
def test_best_comes_first_and_equal_scores_keep_the_order_of_their_keys(ranked: list[Ranked]) -> None:
    assert [(-item.score, item.key) for item in ranked] == sorted((-item.score, item.key) for item in ranked)


@given(CANDIDATES, st.data())
def test_more_words_or_more_meaning_never_rank_lower(candidates: list[Candidate], data: st.DataObject) -> None:
    if not candidates:
        return
    chosen = data.draw(st.sampled_from(candidates))
    better = Candidate(chosen.key, chosen.words + data.draw(SCORES), chosen.similarity, None)
    closer = Candidate(chosen.key, chosen.words, min(1.0, chosen.similarity + data.draw(st.floats(0, 1))), None)
    before = [item.key for item in fuse(candidates)].index(chosen.key)
    for improved in (better, closer):
        after = fuse([improved if item is chosen else item for item in candidates])
        assert [item.key for item in after].index(chosen.key) <= before


def test_nothing_found_is_an_empty_ranking() -> None:
    assert fuse([]) == []
    assert spread([], {}) == []


def test_candidates_that_match_nothing_score_nothing() -> None:
    assert [item.score for item in fuse([Candidate(1, 0.0, -0.5, None), Candidate(2, 0.0, 0.0, None)])] == [0.0, 0.0]


@given(RANKED)
def test_without_places_there_are_no_neighbours(ranked: list[Ranked]) -> None:
    assert spread(ranked, {}) == ranked


@given(RANKED, PLACES)
def test_neighbours_only_ever_raise_a_score(ranked: list[Ranked], keys_at: dict[Place, int]) -> None:
    before = {item.key: item for item in ranked}
    for item in spread(ranked, keys_at):
        own = before.get(item.key)
        assert item.neighbours >= 0
        assert math.isclose(item.score, item.neighbours + (own.score if own else 0.0), abs_tol=1e-9)
        assert (item.words, item.meaning) == ((own.words, own.meaning) if own else (0.0, 0.0))


@given(RANKED, PLACES)
def test_spreading_keeps_all_and_adds_only_those_at_a_known_place(
    ranked: list[Ranked], keys_at: dict[Place, int]
) -> None:
    after = {item.key for item in spread(ranked, keys_at)}
    before = {item.key for item in ranked}
    assert before <= after <= before | set(keys_at.values())


def test_a_turn_between_two_good_turns_is_raised_above_one_that_stands_alone() -> None:
    ranked = [Ranked(1, 1.0, 1.0, 0, 0), Ranked(3, 0.9, 0.9, 0, 0), Ranked(9, 0.3, 0.3, 0, 0)]
    keys_at = {place_at(1, 0): 1, place_at(1, 1): 2, place_at(1, 2): 3, place_at(2, 1): 9}
    assert [item.key for item in spread(ranked, keys_at)] == [1, 3, 2, 9]


def test_streams_do_not_touch_each_other() -> None:
    ranked = [Ranked(1, 1.0, 1.0, 0, 0), Ranked(2, 0.1, 0.1, 0, 0)]
    assert spread(ranked, {place_at(1, 5): 1, place_at(2, 6): 2}) == ranked


def test_neighbours_reach_as_far_as_their_weights() -> None:
    weights = FusionWeights(neighbours=(0.5, 0.25))
    assert places_around([place_at(7, 10)], weights) == {place_at(7, n) for n in (8, 9, 11, 12)}
    keys_at = {place_at(7, n): n for n in range(6, 15)}
    gained = {item.key: item.neighbours for item in spread([Ranked(10, 1.0, 1.0, 0, 0)], keys_at, weights)}
    assert gained == {10: 0.0, 9: 0.5, 11: 0.5, 8: 0.25, 12: 0.25}


@given(st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
def test_a_place_tells_its_stream_and_its_position(stream: int, position: int) -> None:
    assert stream_and_position(place_at(stream, position)) == (stream, position)
    assert -(2**63) <= place_at(stream, position) < 2**63
