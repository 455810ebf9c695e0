"""Mistakes that a collector of context windows is prone to, each shown not to happen here."""

from datetime import timedelta, timezone

import pytest

from memsweep.context import GCEngine
from memsweep.context.references import WeakLinks
from tests.context.build import NOW, segment

ENGINE = GCEngine()


def test_there_is_one_direction_and_the_other_is_derived_from_it():
    segments = [segment("good", type="decision"), segment("bad", type="log", age_hours=50)]
    first, second = ENGINE.analyze_pruning_candidates(segments, set(), now=NOW)
    assert (first.segment_id, second.segment_id) == ("bad", "good")
    assert first.keep_score < second.keep_score
    assert first.prune_score > second.prune_score


def test_a_decision_of_two_days_with_50_references_outlives_a_fresh_log():
    decision = segment("decision", "we use PostgreSQL", type="decision", age_hours=48, refcount=50)
    log = segment("log", "GET /health 200", type="log")
    first = ENGINE.analyze_pruning_candidates([decision, log], set(), now=NOW)[0]
    assert first.segment_id == "log"


LOG_LINES = (
    "INFO worker 7 finished job",
    "2026-05-01T11:59:58Z INFO scheduler: worker 7 finished job job_4711 in 35 ms",
    "[12:00:01] INFO worker-7 finished job_8812 (req_id=ab12cd34) path=/var/log/x.log",
    "ERROR db-7.internal connection refused port 6432 at src/app.py:12",
)
DECISIONS = (
    "Decision: use Postgres for orders.",
    "We keep the public API of cart.py, because three clients depend on it, and add a module beside it instead.",
    "Decision: " + "the billing service moves to the new queue in two steps, the old one stays as a fallback. " * 4,
)


@pytest.mark.parametrize("refcount", [0, 50])
@pytest.mark.parametrize("text", DECISIONS)
def test_a_decision_of_two_days_outlives_every_fresh_log_line(text, refcount):
    decision = segment("decision", text, type="decision", age_hours=48, refcount=refcount)
    logs = [segment(f"log{n}", line, type="log") for n, line in enumerate(LOG_LINES)]
    worst = max(ENGINE.score_segment(log, NOW) for log in logs)
    assert all(ENGINE.score_segment(decision, NOW) < ENGINE.score_segment(log, NOW) for log in logs), worst
    order = [c.segment_id for c in ENGINE.analyze_pruning_candidates([decision, *logs], set(), now=NOW)]
    assert order[-1] == "decision"


@pytest.mark.parametrize("age_hours", [0, 1, 24, 24 * 365, 24 * 365 * 100])
def test_recency_is_bounded_at_any_age(age_hours):
    assert 0 <= ENGINE.score_segment(segment("a", age_hours=age_hours), NOW) <= 1


def test_recency_still_tells_hours_from_minutes():
    scores = [ENGINE.score_segment(segment("a", age_hours=hours), NOW) for hours in (0, 0.1, 1, 10, 100)]
    assert scores == sorted(scores)
    assert len(set(scores)) == 5


def test_a_shared_topic_raises_the_score_but_keeps_nothing_alive():
    segments = [segment("root", topic_id="t", pinned=True), segment("shares", topic_id="t"), segment("alone")]
    candidates = ENGINE.analyze_pruning_candidates(segments, set(), now=NOW)
    assert [c.segment_id for c in candidates] == ["alone", "shares"]
    assert not any(c.reachable for c in candidates)


def test_shared_topics_are_counted_by_group_not_by_pair():
    class CountingTags(tuple):
        reads = 0

        def __iter__(self):
            CountingTags.reads += 1
            return super().__iter__()

    segments = [segment(str(n), tags=CountingTags(("one", "two"))) for n in range(500)]
    weak = WeakLinks(segments)
    assert [weak.count(s) for s in segments] == [998] * 500
    assert CountingTags.reads <= 2 * 500


def test_ages_are_the_same_from_every_time_zone():
    tokyo = timezone(timedelta(hours=9))
    here, there = segment("a", age_hours=5), segment("a", age_hours=5)
    moved = segment(
        "a", created_at=there.created_at.astimezone(tokyo), last_touched_at=there.created_at.astimezone(tokyo)
    )
    assert ENGINE.score_segment(here, NOW) == ENGINE.score_segment(moved, NOW.astimezone(tokyo))
