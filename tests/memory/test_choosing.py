"""What a precise search keeps of what was found: the more there is to choose from, the more the best must have."""

from pathlib import Path

import pytest

from memsweep import Memory
from memsweep.memory.relevance import OF_FILES, OF_MEMORIES, OF_READ_MEMORIES, Count, Judged, Least, precise
from memsweep.model.search import Filters, Kind, Ranked
from tests.code.trees import grow
from tests.support.engines import on_every_engine


def judged(*odds: float, kind: Kind = "memory", first: int = 0) -> list[Judged]:
    return [Judged(Ranked(first + key, 0.0, 0.0, 0.0, 0.0), each, kind) for key, each in enumerate(odds)]


def kept(found: list[Judged], count: Count = Count()) -> list[int]:
    return [each.ranked.key for each in precise(found, count)]


@pytest.mark.parametrize("least", [OF_MEMORIES, OF_READ_MEMORIES, OF_FILES])
def test_the_best_of_more_must_have_more(least: Least) -> None:
    counts = (0, 1, least.few, 2 * least.few, least.many, 1000 * least.many)
    odds = [least.of(count) for count in counts]
    assert odds == sorted(odds)
    assert odds[:3] == [pytest.approx(least.of_few)] * 3
    assert least.of_few < odds[3] < least.of_many
    assert odds[4:] == [pytest.approx(least.of_many)] * 2


def test_once_the_best_answers_others_need_no_more_than_of_few() -> None:
    assert kept(judged(0.3, 0.0, -0.3), Count(memories=20)) == [0, 1]
    assert kept(judged(0.3, 0.0, -0.3), Count(memories=1000)) == []
    assert kept(judged(0.6, 0.0, -0.3), Count(memories=1000)) == [0, 1]


def test_where_some_were_read_only_they_can_answer() -> None:
    unread, read = judged(2.0, 1.0), [each._replace(is_read=True) for each in judged(3.6, 1.1, 0.5, -1.0, first=2)]
    assert kept([*unread, *read], Count(memories=1000)) == [2, 3], "what is far behind answers something else"
    assert kept([*unread, *read[1:]], Count(memories=20)) == [3, 4]
    assert kept([*unread, *read[2:]], Count(memories=20)) == [], "enough beside an answer, and not by itself"
    assert kept([*unread, *read[1:]], Count(memories=1000)) == [], "of many, the best must have more"
    assert kept([*unread, *read[-1:]]) == []
    assert kept(unread) == [0]


def test_of_models_that_were_not_measured_only_what_was_read_is_judged_by_odds() -> None:
    code = [Judged(Ranked(9, 1.0, 0.0, 0.0, 0.0), -9.0, "code")]
    unread, read = judged(5.0), [each._replace(is_read=True) for each in judged(3.0, -3.0, first=1)]
    assert [each.ranked.key for each in precise([*unread, *read, *code], calibrated=False)] == [1, 9]
    assert [each.ranked.key for each in precise([*read[1:], *code], calibrated=False)] == [9]


def test_a_memory_that_does_not_answer_silences_no_code() -> None:
    rejected = [each._replace(is_read=True) for each in judged(0.7, first=5)]
    assert kept([*judged(1.5, first=7), *rejected, *judged(-1.9, kind="code")], Count(memories=20, files=5)) == [0]


def test_code_is_compared_with_memories_as_if_it_had_more() -> None:
    (memory,), (code,) = judged(1.0), judged(0.5, kind="code", first=1)
    assert memory.beside_others == memory.odds
    assert code.beside_others > memory.beside_others
    few, many = Count(files=3), Count(files=500)
    assert kept(judged(-1.0, kind="code"), few) == [0]
    assert kept(judged(-1.0, kind="code"), many) == []
    assert kept([*judged(3.0), *judged(-1.0, kind="code", first=1)], few) == [0], "far behind a sure answer"
    assert kept([*judged(3.0), *judged(-0.4, kind="code", first=1)], few) == [0, 1]


@on_every_engine
def test_among_many_notes_a_faint_likeness_is_no_answer(memory: Memory) -> None:
    for number, thing in enumerate(("hammer", "saw", "drill", "chisel")):
        memory.remember(f"Note {number}: the {thing} is kept in drawer {number}.")
    (faint,) = memory.search("piano lessons").hits
    for number in range(90):
        memory.remember(f"Room {number} is free on day {number} for a class of {number + 2} people.")
    page = memory.search("piano lessons")
    assert page.hits == ()
    assert page.nearest is not None
    assert page.nearest.relevance == faint.relevance, "what it is worth is the same"
    assert memory.search("where is the hammer kept").hits[0].passage.text.startswith("Note 0")


@on_every_engine
def test_files_are_counted_as_they_pass_the_filters(memory: Memory, tmp_path: Path) -> None:
    others = {f"other/m{number}.py": f"def other{number}():\n    return {number}\n" for number in range(70)}
    memory.code.index(grow(tmp_path / "r", {"src/pool.py": "def reconnect(delay):\n    return delay * 2\n", **others}))
    query = "when does the plumber come to reconnect our dishwasher"
    assert memory.search(query, filters=Filters(path="src")).hits
    assert not memory.search(query).hits
