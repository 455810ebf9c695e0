"""The answer to a search stays small whatever is asked for."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.model.origin import UNKNOWN
from memsweep.model.search import Hit, Page, Passage
from memsweep.report import memory as report

NOW = datetime(2026, 3, 31, tzinfo=UTC)


def hit(text: str, *, words: tuple[str, ...] = (), tags: tuple[str, ...] = (), **more: Any) -> Hit:
    values: dict[str, Any] = {"source": "", "thread_id": None, "stale": False, "pinned": False}
    values |= {"origin": UNKNOWN, "code": None, **more}
    passage = Passage(
        key=1,
        chunk_id="chk_0123456789ab",
        memory_id="mem_0123456789ab",
        text=text,
        first_line=3,
        last_line=7,
        tags=tags,
        created_at=NOW,
        updated_at=NOW,
        last_seen_at=NOW,
        expires_at=None,
        released_at=None,
        **values,
    )
    return Hit(passage, 0.5, "words: x", words, 0.75)


def size(answer: Any) -> int:
    return len(json.dumps(answer, ensure_ascii=False))


@pytest.mark.parametrize("detail", ["concise", "full"])
@pytest.mark.parametrize("count", [1, 10, 50])
@pytest.mark.parametrize("tags", [0, 64])
def test_an_answer_has_about_20000_characters_at_most(detail: report.Detail, count: int, tags: int) -> None:
    labels = tuple(f"{number} " + "t" * 190 for number in range(tags))
    hits = tuple(hit("word " * 2000, words=("word",), tags=labels, source="s" * 20) for _ in range(count))
    answer = report.found(Page(hits, 1000, "cursor"), detail)
    assert size(answer) <= 22_000
    assert "get_memory" in answer.get("note", "get_memory")
    assert ("note" in answer) == any(result["text"] != hits[0].passage.text or tags for result in answer["results"])
    assert all(len(result["text"]) >= 80 for result in answer["results"])


def test_a_small_answer_is_whole_and_has_no_note() -> None:
    answer = report.found(Page((hit("short text", tags=("a", "b")),), 1, None))
    assert answer == {
        "results": [
            {
                "kind": "memory",
                "memory_id": "mem_0123456789ab",
                "chunk_id": "chk_0123456789ab",
                "text": "short text",
                "relevance": 0.75,
                "score": 0.5,
                "why": "words: x",
                "source": "",
                "tags": ["a", "b"],
                "created_at": "2026-03-31T00:00:00Z",
                "origin": "unknown",
            }
        ],
        "total": 1,
        "next_cursor": None,
    }


def test_full_detail_says_more_of_each() -> None:
    (result,) = report.found(Page((hit("x" * 5000, thread_id="t", pinned=True, stale=True),), 1, None), "full")[
        "results"
    ]
    assert len(result["text"]) == 5000
    assert (result["lines"], result["thread_id"], result["pinned"], result["stale"]) == ([3, 7], "t", True, True)


def test_an_excerpt_shows_the_words_that_matched() -> None:
    text = "filler " * 500 + "the NEEDLE is here " + "filler " * 500
    (result,) = report.found(Page((hit(text, words=("needle",)),), 1, None))["results"]
    assert "NEEDLE" in result["text"]
    assert result["text"].startswith("…")
    assert result["text"].endswith("…")


@given(st.text(), st.lists(st.text(min_size=1), max_size=3), st.integers(1, 50))
def test_any_text_and_words_make_an_answer(text: str, words: list[str], count: int) -> None:
    page = Page(tuple(hit(text * 40, words=tuple(words)) for _ in range(count)), count, None)
    for result in report.found(page)["results"]:
        assert result["text"].strip("…") in text * 40 or "…" in text


def test_nothing_found_is_an_answer() -> None:
    answer = report.found(Page((), 0, None))
    assert (answer["results"], answer["total"], answer["next_cursor"]) == ([], 0, None)
    assert answer["note"].startswith("Nothing relevant")


def test_where_nothing_is_relevant_the_nearest_miss_is_named() -> None:
    note = report.found(Page((), 0, None, nearest=hit("the garden needs water " * 20)))["note"]
    assert note.startswith("Nothing relevant. The nearest is mem_0123456789ab (words: x): 'the garden needs water")
    assert note.endswith("…'. Try other words, or mode=deep for all that resembles the query.")
    assert len(note) < 400
