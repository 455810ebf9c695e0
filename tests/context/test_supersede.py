"""Supersession: the old one goes first, and the reason names its successor."""

import pytest

from memsweep.context import GCEngine
from memsweep.context.supersede import find_replacements
from tests.context.build import NOW, segment

LONG = "forty characters or more of command output, the same"


def code(own, lines=None, path="a.py"):
    return segment(own, f"text {own}", type="code", file_path=path, line_range=lines)


def said(own, text):
    return segment(own, text, role="user")


def call(own, text):
    return segment(own, text, role="assistant")


def result(own, text, to):
    return segment(own, text, type="log", role="tool", references=(to,))


CASES = {
    "a repeated result": (
        [segment("a", LONG, type="log"), segment("b", LONG, type="log")],
        {"a": "same result again in b"},
    ),
    "a short result may repeat": ([segment("a", "ok", type="log"), segment("b", "ok", type="log")], {}),
    "the same region read again": ([code("a", (1, 9)), code("b", (1, 9))], {"a": "read again in b"}),
    "a wider region": ([code("a", (3, 5)), code("b", (1, 9))], {"a": "read again in b"}),
    "the whole file": ([code("a", (3, 5)), code("b")], {"a": "read again in b"}),
    "a narrower region": ([code("a", (1, 9)), code("b", (3, 5))], {}),
    "an overlap": ([code("a", (1, 9)), code("b", (5, 15))], {}),
    "another file": ([code("a", (1, 9)), code("b", (1, 9), "b.py")], {}),
    "the newest of several": (
        [code("a", (1, 9)), code("b", (2, 3)), code("c", (1, 20)), code("d", (2, 4))],
        {"a": "in c", "b": "in d"},
    ),
    "a failure retried": (
        [
            call("c1", "run {}"),
            result("a", "Error: no such table", "c1"),
            call("c2", 'run {"x": 1}'),
            result("b", "done", "c2"),
        ],
        {"a": "failed, then retried in b"},
    ),
    "a failure of another tool": (
        [
            call("c1", "run {}"),
            result("a", "Error: no such table", "c1"),
            call("c2", "read {}"),
            result("b", "done", "c2"),
        ],
        {},
    ),
    "the same call again": (
        [call("c1", "ls {}"), result("a", "one file", "c1"), call("c2", "ls {}"), result("b", "two files", "c2")],
        {"a": "read again in b"},
    ),
    "a correction": (
        [said("a", "The launch meeting is on Tuesday"), said("b", "Actually, the launch meeting is on Friday")],
        {"a": "corrected by b"},
    ),
    "actually, in passing": (
        [said("a", "The launch meeting is on Tuesday"), said("b", "I actually like the launch meeting")],
        {},
    ),
    "a correction of nothing known": ([said("a", "Good morning"), said("b", "Actually, make it Friday")], {}),
    "a changed value": (
        [said("a", "my daily quota is 1000 calls"), said("b", "my daily quota is now 1200 calls")],
        {"a": "a newer value in b"},
    ),
    "the same value": ([said("a", "my daily quota is 1000"), said("b", "my daily quota is 1000")], {}),
    "a changed note": (
        [segment("a", "port: 8080", type="note"), segment("b", "port: 9090", type="note")],
        {"a": "a newer value in b"},
    ),
}


@pytest.mark.parametrize(("segments", "expected"), CASES.values(), ids=CASES.keys())
def test_a_later_segment_replaces_an_earlier_one(segments, expected):
    found = find_replacements(segments)
    assert found.keys() == expected.keys()
    assert all(words in found[own].reason for own, words in expected.items())


@pytest.mark.parametrize("name", [name for name, (_, expected) in CASES.items() if expected])
def test_the_replaced_segment_goes_before_its_successor_and_says_why(name):
    segments, expected = CASES[name]
    candidates = GCEngine().analyze_pruning_candidates(segments, set(), now=NOW)
    order = [candidate.segment_id for candidate in candidates if not candidate.reachable]
    for own in expected:
        candidate = next(c for c in candidates if c.segment_id == own)
        successor = find_replacements(segments)[own].by
        assert order.index(own) < order.index(successor)
        assert successor in candidate.reasons[0]
