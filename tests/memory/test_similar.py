"""What a new text seems to repeat or to contradict: by a table of labelled pairs, and through every door."""

import json
import multiprocessing
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep.app import Memory
from memsweep.clock import new_id, now
from memsweep.errors import StoreError
from memsweep.memory import agreement
from memsweep.memory.agreement import judged, said
from memsweep.memory.remember import ChunkSize, chunks_of, similar_to
from memsweep.model.search import Candidates, Filters
from memsweep.store.sqlite.store import SqliteStore
from tests.support.commands import Ran
from tests.support.engines import on_every_engine
from tests.support.waiting import PATIENCE

Pair = tuple[str, str]
TABLE = Path(__file__).parents[1] / "data" / "similar.tsv"
_, *ROWS = TABLE.read_text().splitlines()
PAIRS = [(judgement, (new, old)) for judgement, new, old in (row.split("\t") for row in ROWS)]
"""Texts as an agent may remember them, and what the new one is to the old: `missed` are contradictions that only
somebody who understands them sees, and of `neither` nothing is to be said.

122 of them were written before the rules. 46 more were written afterwards and scored once, before anything was changed
for them: of 44 judgements (each pair both ways) 40 were right, and 40 of 48 were made. They are among the others here.
"""


def kind(new: str, old: str) -> str | None:
    one, other = said(new), said(old)
    judgement = judged(one, other) if one and other else None
    return judgement.kind if judgement else None


def both_ways(pair: Pair) -> set[str | None]:
    return {kind(*pair), kind(*reversed(pair))}


@pytest.mark.parametrize(("judgement", "pair"), PAIRS, ids=lambda each: each if isinstance(each, str) else each[0])
def test_a_pair_is_judged_as_it_is_labelled_both_ways_and_where_it_is_not_sure_nothing_is_said(
    judgement: str, pair: Pair
) -> None:
    assert both_ways(pair) == {judgement if judgement in ("repeats", "contradicts") else None}


@pytest.mark.parametrize("shift", [0, 1, 7])
def test_counting_words_first_changes_no_judgement(monkeypatch: pytest.MonkeyPatch, shift: int) -> None:
    odd = [
        ("THE OFFICE ISN'T IN BERLIN.", "The office is in Berlin."),
        ("The office isn’t in Berlin. It rains.", "Hello!\nThe office is in Berlin."),
        ("The bu\u00adild is red in May.", "The build i\u200bs red in June... Wait."),
        ("The team CANNOT deploy on Fridays", "The team can deploy on Fridays"),
        ("Ana goes to work at 8.", "Ana goes to work at 9."),
    ]
    pairs = [*(pair for _, pair in PAIRS), *odd]
    crossed = [(new, pairs[(at + shift) % len(pairs)][1]) for at, (new, _) in enumerate(pairs)]
    counted = [kind(*pair) for pair in crossed]
    monkeypatch.setattr(agreement, "_may_repeat", lambda new, old: True)
    monkeypatch.setattr(agreement, "_may_contradict", lambda ours, theirs: True)
    assert [kind(*pair) for pair in crossed] == counted


def test_the_table_is_large_enough_to_mean_something() -> None:
    assert len(PAIRS) >= 60
    assert len({pair for _, pair in PAIRS}) == len(PAIRS)
    labels = Counter(judgement for judgement, _ in PAIRS)
    judged_right = labels["repeats"] + labels["contradicts"]
    assert judged_right / (judged_right + labels["missed"]) >= 0.85


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "!",
        "\ufeff",
        "no no no",
        "is is is",
        "not",
        "\u202e is is in 5",
        "5 5 5 5",
        "a" * 3000,
        "` ` `",
        "😀 is 😀 in 😀",
    ],
)
def test_no_text_is_too_strange_to_be_judged(text: str) -> None:
    for other in (text, "The office is in Berlin.", "😀 is 😀 in 🎉"):
        assert kind(text, other) in (None, "repeats", "contradicts")
        assert kind(other, text) in (None, "repeats", "contradicts")


def test_what_differs_is_shown_as_both_have_it() -> None:
    one, other = said("We moved. The office is in Paris."), said("The office is in Berlin.")
    assert one is not None
    assert other is not None
    judgement = judged(one, other)
    assert judgement is not None
    assert judgement.differs == (("office is in Paris", "office is in Berlin"),)


@on_every_engine
def test_adding_names_what_it_seems_to_contradict_and_stores_it_all_the_same(memory: Memory) -> None:
    old = memory.remember("The office is in Berlin.").memory_id
    memory.remember("The parser was rewritten last week.")
    added = memory.remember("The office is in Paris.", find_similar=True)
    ((similar),) = added.similar
    assert (similar.memory_id, similar.kind, similar.text) == (old, "contradicts", "The office is in Berlin.")
    assert memory.get(added.memory_id).text == "The office is in Paris."
    again = memory.remember("The office is in Paris.", supersedes=[old], find_similar=True)
    assert (again.duplicate_of, again.similar) == (added.memory_id, ())
    later = memory.remember("Our office is in Paris.", find_similar=True)
    assert [(each.memory_id, each.kind) for each in later.similar] == [(added.memory_id, "repeats")]


@on_every_engine
def test_what_is_superseded_now_or_before_is_not_named(memory: Memory) -> None:
    first = memory.remember("The office is in Berlin.", find_similar=True)
    second = memory.remember("The office is in Paris.", supersedes=[first.memory_id], find_similar=True)
    third = memory.remember("The office is in Rome.", find_similar=True)
    assert first.similar == second.similar == ()
    assert [each.memory_id for each in third.similar] == [second.memory_id]


@on_every_engine
def test_code_is_never_named_and_long_texts_are_not_judged(memory: Memory, tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("The office is in Berlin.\n")
    memory.code.index(tmp_path)
    assert memory.remember("The office is in Paris.", find_similar=True).similar == ()
    long = "The office is in Rome.\n\n" + "\n\n".join("word " * 200 for _ in range(5))
    assert memory.remember(long, find_similar=True).similar == ()


@on_every_engine
def test_the_same_is_named_whether_the_new_memory_is_there_already_or_not(memory: Memory) -> None:
    """The look and the write run side by side."""
    cities = ["Berlin", "Rome", "Oslo", "Lima", "Cairo", "Delhi", "Quito", "Turin"]
    first, *_ = [memory.remember(f"The office is in {city}.").memory_id for city in cities]
    app, store = memory._access.app, memory._access.store
    (chunk,) = chunks_of(app.embedder, app.local_model, "The office is in Tartu.", new_id, ChunkSize())
    before = similar_to(store, chunk, "", [first], now())
    added = memory.remember(chunk.text, supersedes=[first], find_similar=True)
    afterwards = similar_to(store, chunk, added.memory_id, [first], now())
    assert before == added.similar == afterwards
    assert len(before) == 6


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork here")
def test_a_forked_child_finds_what_is_similar(memory: Memory) -> None:
    def remember_another() -> None:
        sys.exit(len(memory.remember("The office is in Rome.", find_similar=True).similar))

    memory.remember("The office is in Berlin.")
    memory.remember("The office is in Paris.", find_similar=True)
    child = multiprocessing.get_context("fork").Process(target=remember_another)
    child.start()
    child.join(30)
    child.kill()
    assert child.exitcode == 2


def test_a_thread_that_outlives_the_program_still_finds_what_is_similar(tmp_path: Path) -> None:
    program = f"""
import threading
from memsweep import open_memory
def late():
    threading.main_thread().join()
    with open_memory("w", home={str(tmp_path)!r}) as memory:
        memory.remember("The office is in Berlin.")
        print(len(memory.remember("The office is in Paris.", find_similar=True).similar))
threading.Thread(target=late).start()
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE, check=False
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_memory_that_was_written_is_not_lost_with_a_look_that_fails(memory: Memory) -> None:
    class Refusing(SqliteStore):
        def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> Candidates:
            raise StoreError("the disk refused to read.")

    memory.remember("The office is in Berlin.")
    store = memory._access.store
    assert isinstance(store, SqliteStore)
    store.__class__ = Refusing
    added = memory.remember("The office is in Paris.", find_similar=True)
    assert (added.similar, added.duplicate_of) == ((), None)
    assert memory.get(added.memory_id).text == "The office is in Paris."


def test_the_library_looks_only_when_it_is_asked(memory: Memory) -> None:
    memory.remember("The office is in Berlin.")
    assert memory.remember("The office is in Paris.").similar == ()


def test_the_command_line_says_what_to_do(run: Callable[..., Ran]) -> None:
    old = json.loads(run("remember", "The office is in Berlin.", "--json").out)["memory_id"]
    said_so = run("remember", "The office is in Paris.").out
    assert f"It seems to contradict {old}: The office is in Berlin." in said_so
    assert "remember it again with --supersedes ID" in said_so
    answer = json.loads(run("remember", "The office is in Rome.", "--json").out)
    assert {each["kind"] for each in answer["similar"]} == {"contradicts"}
    assert answer["similar"][0]["differs"]
