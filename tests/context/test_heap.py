"""The heap: generations, limits, pins, the stash and the way back."""

from datetime import timedelta

import pytest

from memsweep.context import ContextHeap, Focus, Limits
from memsweep.errors import AlreadyExists, BadInput, Conflict, NotFound, Unconfirmed
from tests.context.build import NOW, segment

SMALL = Limits(soft_tokens=100, hard_tokens=1000, changes_per_step=4, step_segments=10, batch_min=2, batch_max=3)


def heap_of(*segments, limits=None, last_n=0):
    heap = ContextHeap(limits=limits or Limits(), focus=Focus(last_n=last_n))
    for each in segments:
        heap.add(each, now=NOW)
    return heap


def ids(segments):
    return [each.segment_id for each in segments]


def test_the_defaults_are_those_of_the_design():
    assert (Limits().soft_tokens, Limits().hard_tokens, Focus().last_n) == (100_000, 200_000, 10)
    assert (Limits().batch_min, Limits().batch_max) == (5, 20)


def test_what_a_new_segment_refers_to_is_touched_and_a_restored_one_is_as_it_was():
    later = NOW + timedelta(hours=1)
    heap = heap_of(segment("a"), segment("b"))
    before = heap.get("b")
    heap.prune(["b"])
    heap.add(segment("c", created_at=later, references=("a", "b")), now=later)
    assert heap.get("a").last_touched_at == later
    assert heap.restore(["b"]) == [before]


def test_survivors_of_collections_grow_old_and_minor_ones_look_at_the_young():
    heap = heap_of(segment("a", tokens=10), segment("b", tokens=10))
    for _ in range(2):
        heap.collect(now=NOW)
    heap.add(segment("young", "a b c 12 d_e", tokens=10), now=NOW)
    assert [(s.generation, s.gc_survival_count) for s in heap.segments] == [("old", 2), ("old", 2), ("young", 0)]
    plan = heap.collect(now=NOW, budget=0, minor=True)
    assert plan.stash_segments == ("young",)
    assert plan.shortfall == 20


def test_a_small_step_looks_at_the_young_and_comes_round_to_the_old():
    heap = ContextHeap(focus=Focus(last_n=0))
    for step in range(15):
        for item in range(20):
            heap.add(segment(f"{step}-{item}"), now=NOW)
        assert all(heap.get(f"{step}-{item}").gc_survival_count == 1 for item in range(20))
    assert min(heap.get(f"{step}-{item}").gc_survival_count for step in range(5) for item in range(20)) > 2
    assert {heap.get(f"{step}-{item}").generation for step in range(12) for item in range(20)} == {"old"}


def test_a_pin_protects_until_it_is_taken_off():
    heap = heap_of(segment("a", tokens=10), segment("b", tokens=10))
    heap.pin(["a"])
    assert heap.collect(now=NOW, budget=0).stash_segments == ("b",)
    heap.unpin(["a"])
    assert heap.collect(now=NOW, budget=0).stash_segments == ("a",)


def test_a_touch_makes_a_segment_recent():
    heap = heap_of(segment("a", age_hours=90), segment("b", age_hours=80))
    heap.touch("a", now=NOW)
    assert heap.get("a").last_touched_at == NOW
    assert heap.collect(now=NOW + timedelta(hours=1), budget=heap.tokens - 1).stash_segments == ("b",)


def test_prune_refuses_by_name_and_does_the_rest():
    heap = heap_of(segment("pin", pinned=True), segment("a"), segment("b"))
    heap.prune(["b"])
    done = heap.prune(["pin", "a", "b", "nobody"])
    assert done.stashed == ("a",)
    assert done.refused == {"pin": "pinned", "b": "in the stash already", "nobody": "unknown"}
    assert done.tokens_before - done.tokens_after == segment("a").tokens


def test_delete_needs_a_confirmation_and_hands_the_segments_back():
    heap = heap_of(segment("a"))
    with pytest.raises(Unconfirmed):
        heap.prune(["a"], strategy="delete")
    assert heap.prune(["a"], strategy="delete", confirm=True).deleted == (segment("a"),)
    assert (len(heap), heap.stashed) == (0, [])


def test_the_last_messages_stay_the_last_after_a_restore():
    heap = heap_of(segment("a", tokens=50), segment("b", tokens=5), last_n=1)
    heap.prune(["a"])
    heap.restore(["a"])
    assert heap.collect(now=NOW, budget=12).stash_segments == ("a",)


def test_compression_leaves_a_summary_and_stashes_the_originals():
    heap = heap_of(segment("a", tokens=500), segment("b", tokens=500))
    done = heap.compress(["a", "b"], segment("sum", type="summary", tokens=10), now=NOW)
    assert ids(heap.segments) == ["sum"]
    assert heap.get("sum").references == ("a", "b")
    assert (done.stashed, done.tokens_before, done.tokens_after) == (("a", "b"), 1000, 10)


def test_a_summary_with_a_taken_id_changes_nothing():
    heap = heap_of(segment("a"), segment("b"))
    with pytest.raises(AlreadyExists):
        heap.compress(["a"], segment("b", type="summary"), now=NOW)
    assert ids(heap.segments) == ["a", "b"]


def test_the_working_set_fits_and_changes_nothing():
    heap = heap_of(*(segment(str(n), tokens=10) for n in range(5)))
    before = heap.segments
    assert len(heap.working_set(35, now=NOW)) == 3
    assert heap.segments == before


def stash_of(*texts):
    heap = heap_of(*(segment(str(n), text, tokens=10) for n, text in enumerate(texts)))
    heap.prune(str(n) for n in range(len(texts)))
    return heap


def test_the_stash_is_searched_by_words_and_their_endings():
    heap = stash_of("we walked the dog", "the cat sleeps", "nothing here")
    assert ids(hit.segment for hit in heap.search("walking"))[0] == "0"
    assert heap.search("unheard-of") == []
    assert heap.search("the of and") == []


def test_a_neighbour_of_a_hit_is_found_with_it():
    heap = stash_of("far away", "which port is it?", "8080", "far away too")
    assert ids(heap.restore_matching("port", 20)) == ["1", "2"]


def test_matching_segments_come_back_within_the_budget_in_session_order():
    heap = stash_of("port 1", "port port 2", "port 3", "port 4")
    restored = heap.restore_matching("port", 25)
    assert sum(each.tokens for each in restored) <= 25
    assert ids(restored) == sorted(ids(restored))
    assert len(restored) == 2


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda heap: heap.add(segment("a"), now=NOW), AlreadyExists),
        (lambda heap: heap.add(segment("z"), now=NOW), AlreadyExists),
        (lambda heap: heap.get("nobody"), NotFound),
        (lambda heap: heap.pin(["nobody"]), NotFound),
        (lambda heap: heap.restore(["a"]), NotFound),
        (lambda heap: heap.collect(now=NOW, budget=-1), BadInput),
        (lambda heap: heap.collect(now=NOW.replace(tzinfo=None)), BadInput),
        (lambda heap: heap.add(segment("new"), now=NOW.replace(tzinfo=None)), BadInput),
        (lambda heap: heap.touch("a", now=NOW.replace(tzinfo=None)), BadInput),
        (lambda heap: Limits(soft_tokens=0), BadInput),
        (lambda heap: Limits(soft_tokens=9, hard_tokens=8), BadInput),
        (lambda heap: Limits(batch_min=9, batch_max=8), BadInput),
        (lambda heap: Limits(changes_per_step=0), BadInput),
    ],
)
def test_what_cannot_be_done_is_refused(call, error):
    heap = heap_of(segment("a"), segment("z"))
    heap.prune(["z"])
    with pytest.raises(error):
        call(heap)


def test_a_refused_pin_pins_nothing():
    heap = heap_of(segment("a"))
    with pytest.raises(NotFound):
        heap.pin(["a", "nobody"])
    assert not heap.get("a").pinned


def test_what_is_stashed_can_be_deleted_and_is_handed_back():
    heap = heap_of(segment("a", "a word"), segment("b"))
    heap.prune(["a"])
    done = heap.prune(["a", "b"], strategy="delete", confirm=True)
    assert done.deleted == (segment("a", "a word"), segment("b"))
    assert (heap.segments, heap.stashed, heap.search("word"), heap.tokens) == ([], [], [], 0)


def test_a_compression_of_nothing_adds_no_summary():
    heap = heap_of(segment("a", pinned=True))
    with pytest.raises(Conflict, match="a: pinned; b: unknown"):
        heap.compress(["a", "b"], segment("sum", type="summary"), now=NOW)
    assert ids(heap.segments) == ["a"]


def test_an_unknown_strategy_is_refused():
    heap = heap_of(segment("a"))
    with pytest.raises(BadInput, match="strategy 'burn' is unknown"):
        heap.prune(["a"], strategy="burn")
    assert "a" in heap
