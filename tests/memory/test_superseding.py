"""A memory takes the place of another: that leaves recall, and is back when nothing supersedes it any more."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memsweep.app import App, Memory
from memsweep.errors import BadInput, MemsweepError, NotFound
from memsweep.model.superseding import bases_from, bases_text, new_links, without
from tests.support.commands import Ran
from tests.support.engines import ENGINES

BERLIN = "The office is in Berlin."
PARIS = "The office is in Paris."
ROME = "The office is in Rome."


@pytest.fixture(params=ENGINES)
def engine_kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def clock(app: App, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], datetime]]:
    """Sets the clock to a day of March, and says when that is."""

    def at(day: int) -> datetime:
        moment = datetime(2026, 3, 1, 12, tzinfo=UTC) + timedelta(days=day - 1)
        app.clock = lambda: moment
        return moment

    at(1)
    return at


def found(memory: Memory, query: str = "where is the office", **filters: object) -> list[str]:
    """The texts that a search shows, in the order of the alphabet."""
    return sorted(hit.passage.text for hit in memory.search(query, filters=filters, limit=50).hits)


def test_what_is_superseded_leaves_every_search_and_can_be_read(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    new = memory.remember(PARIS, supersedes=[old])
    assert new.supersedes == (old,)
    for query in ("where is the office", "office Berlin", "", "   "):
        assert found(memory, query) == [PARIS]
    assert found(memory, "office", source="") == [PARIS]
    assert memory.get(old).text == BERLIN
    assert [link.memory_id for link in memory.get(old).superseded_by] == [new.memory_id]
    assert [link.memory_id for link in memory.get(new.memory_id).supersedes] == [old]


def test_the_pieces_of_a_long_memory_leave_together(memory: Memory) -> None:
    old = memory.remember("\n\n".join(f"The office, part {n}: " + "word " * 150 for n in range(6))).memory_id
    assert memory.get(old).chunk_count > 1
    memory.remember(PARIS, supersedes=[old])
    assert found(memory) == [PARIS]


def test_as_of_finds_what_was_current_then(memory: Memory, clock: Callable[[int], datetime]) -> None:
    old = memory.remember(BERLIN).memory_id
    clock(10)
    middle = memory.remember(PARIS, supersedes=[old]).memory_id
    clock(20)
    memory.remember(ROME, supersedes=[middle])
    days = {"2026-02-27": [], "2026-03-05": [BERLIN], "2026-03-15": [PARIS], "2026-03-25": [ROME]}
    assert {day: found(memory, as_of=day) for day in days} == days
    assert found(memory, as_of="2026-03-10") == [PARIS]  # a date is its last moment
    assert found(memory, as_of="2026-03-10T11:59:59Z") == [BERLIN]
    assert found(memory) == [ROME]
    assert found(memory, "", as_of="2026-03-05") == [BERLIN]


def test_deleting_the_new_one_brings_the_old_one_back_and_undo_hides_it_again(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    new = memory.remember(PARIS, supersedes=[old]).memory_id
    receipt = memory.delete(new, confirm=True)
    assert found(memory) == [BERLIN]
    assert memory.get(old).superseded_by == ()
    memory.sweep.undo(receipt.id)
    assert found(memory) == [PARIS]
    memory.delete(new, confirm=True)
    memory.sweep.purge(0, confirm=True)
    assert found(memory) == [BERLIN]


def test_a_chain_holds_whatever_leaves_its_middle(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    middle = memory.remember(PARIS, supersedes=[old]).memory_id
    new = memory.remember(ROME, supersedes=[middle]).memory_id
    assert [link.memory_id for link in memory.get(old).superseded_by] == [middle, new]
    assert [link.memory_id for link in memory.get(new).supersedes] == [middle, old]
    memory.delete(middle, confirm=True)
    assert found(memory) == [ROME]
    memory.sweep.purge(0, confirm=True)
    assert found(memory) == [ROME]
    assert [link.memory_id for link in memory.get(old).superseded_by] == [new]
    memory.delete(new, confirm=True)
    assert found(memory) == [BERLIN]


def test_the_links_of_what_is_in_the_trash_come_back_with_it(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    middle = memory.remember(PARIS, supersedes=[old]).memory_id
    gone = memory.delete(old, confirm=True)
    memory.remember(ROME, supersedes=[middle])
    memory.delete(middle, confirm=True)
    memory.sweep.undo(gone.id)
    assert found(memory) == [ROME]


def test_two_may_be_superseded_by_one_and_one_by_two(memory: Memory) -> None:
    one, two = (memory.remember(text).memory_id for text in (BERLIN, PARIS))
    first = memory.remember(ROME, supersedes=[one, two, one])
    assert first.supersedes == (one, two)
    second = memory.remember("The office is in Oslo.", supersedes=[one]).memory_id
    memory.delete(first.memory_id, confirm=True)
    assert found(memory) == sorted([PARIS, "The office is in Oslo."])
    memory.delete(second, confirm=True)
    assert found(memory) == sorted([BERLIN, PARIS])


def test_what_was_superseded_can_be_said_again(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    away = memory.remember(PARIS, supersedes=[old]).memory_id
    back = memory.remember(BERLIN, supersedes=[away])
    assert back.duplicate_of is None
    assert back.memory_id != old
    assert found(memory) == [BERLIN]
    assert [link.memory_id for link in memory.get(old).superseded_by] == [away, back.memory_id]
    assert memory.remember(BERLIN).duplicate_of == back.memory_id
    assert memory.sweep.plan("duplicates").item_count == 0


def test_what_was_superseded_returns_from_the_trash_beside_the_same_text(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    away = memory.remember(PARIS, supersedes=[old]).memory_id
    memory.remember(BERLIN, supersedes=[away])
    receipt = memory.delete(old, confirm=True)
    undone = memory.sweep.undo(receipt.id)
    assert undone.conflicts == ()
    assert memory.get(old).text == BERLIN


def test_a_text_that_is_known_may_supersede_another(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    known = memory.remember(PARIS).memory_id
    again = memory.remember(PARIS, supersedes=[old])
    assert (again.duplicate_of, again.supersedes) == (known, (old,))
    assert found(memory) == [PARIS]
    newest = memory.remember(ROME, supersedes=[known]).memory_id
    assert [link.memory_id for link in memory.get(newest).supersedes] == [known, old]


def test_a_pinned_memory_may_be_superseded_and_is_never_collected(
    memory: Memory, clock: Callable[[int], datetime]
) -> None:
    old = memory.remember(BERLIN, pinned=True).memory_id
    memory.remember(PARIS, supersedes=[old])
    assert found(memory) == [PARIS]
    clock(60)
    plan = memory.sweep.plan("superseded")
    assert plan.item_count == 0
    assert [(each["id"], each["reason"]) for each in plan.protected] == [(old, "pinned")]


def contents(memory: Memory) -> tuple[object, ...]:
    stats = memory.stats()
    return stats.total_memories, stats.total_chunks, stats.total_entities, len(memory.sweep.audit(limit=1000))


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        (["mem_0000000000zz"], "memory 'mem_0000000000zz', named in supersedes, does not exist"),
        (["ünbekannt 🤷"], "does not exist in this workspace; nothing was stored."),
        ([""], "memory '', named in supersedes, does not exist"),
        (["x" * 4000], "does not exist in this workspace"),
        ("mem_0000000000zz", "supersedes must be a list, not str."),
        ([7], "supersedes must be a list of memory ids, and 7 is none."),
        ([["mem_0000000000zz"]], "supersedes must be a list of memory ids"),
        (["mem_0000000000zz"] * 101, "supersedes has 101 ids; at most 100 are accepted."),
    ],
)
def test_what_cannot_be_superseded_stores_nothing(memory: Memory, wanted: object, sentence: str) -> None:
    memory.remember(BERLIN)
    before = contents(memory)
    with pytest.raises(MemsweepError, match=r".*") as refused:
        memory.remember(PARIS, entities=["Paris"], supersedes=wanted)  # type: ignore[arg-type]
    assert sentence in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300
    assert contents(memory) == before
    assert found(memory) == [BERLIN]


def test_one_unknown_id_among_known_ones_stores_nothing(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    before = contents(memory)
    with pytest.raises(NotFound):
        memory.remember(PARIS, supersedes=[old, "mem_0000000000zz"])
    assert contents(memory) == before
    assert found(memory) == [BERLIN]


def test_what_is_in_the_trash_cannot_be_superseded(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    memory.delete(old, confirm=True)
    with pytest.raises(NotFound):
        memory.remember(PARIS, supersedes=[old])


def test_a_memory_cannot_supersede_itself(memory: Memory) -> None:
    old = memory.remember(BERLIN).memory_id
    version = memory.get(old).version
    with pytest.raises(BadInput, match="cannot supersede itself"):
        memory.remember(BERLIN, supersedes=[old])
    assert memory.get(old).version == version
    assert found(memory) == [BERLIN]


def test_an_indexed_file_cannot_be_superseded_by_hand(memory: Memory, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("code")
    (folder / "office.py").write_text("def office():\n    return 'Berlin'\n")
    memory.code.index(folder)
    (hit,) = memory.search("office").hits
    with pytest.raises(BadInput, match=f"{hit.passage.memory_id} is an indexed file"):
        memory.remember(PARIS, supersedes=[hit.passage.memory_id])
    assert memory.stats().total_memories == 1


def test_no_circle_can_be_made() -> None:
    with pytest.raises(BadInput):
        new_links(1, {1}, {})
    with pytest.raises(BadInput):
        new_links(1, {2}, {(1, 2): ALWAYS})
    with pytest.raises(BadInput):
        new_links(1, {3}, {(2, 3): ALWAYS, (1, 3): ALWAYS})
    assert list(new_links(4, {3}, {(1, 3): ALWAYS, (2, 3): ALWAYS})) == [(1, 4), (2, 4), (3, 4)]
    assert list(new_links(2, {1}, {(2, 5): ALWAYS})) == [(1, 2), (1, 5)]


ALWAYS = (frozenset[int](),)


def test_a_link_knows_everybody_who_says_that_it_is_so() -> None:
    ada, bob = (frozenset({7}),), (frozenset({8}),)
    chain = new_links(3, {2}, {(1, 2): ada}, 8)
    assert chain == {(1, 3): (frozenset({7, 8}),), (2, 3): bob}
    both = new_links(2, {1}, {(1, 2): ada}, 8)
    assert both == {(1, 2): (*ada, *bob)}
    assert new_links(2, {1}, both, 7) == {}, "said already"
    assert (without(both[1, 2], {7}), without(both[1, 2], {7, 8})) == (bob, ())
    assert without(chain[1, 3], {7}) == without(chain[1, 3], {8}) == ()
    assert without(bases_from("[]"), {7}) == bases_from(bases_text(ALWAYS)) == ALWAYS, "nobody takes back what is older"
    assert new_links(2, {1}, {(1, 2): ALWAYS}, 7) == {}


def test_the_log_and_the_explanation_name_both(memory: Memory, clock: Callable[[int], datetime]) -> None:
    old = memory.remember(BERLIN).memory_id
    clock(5)
    new = memory.remember(PARIS, supersedes=[old]).memory_id
    verdict, _, history = memory.sweep.explain(old)
    assert f"Search leaves it out: {new} superseded it at 2026-03-05T12:00:00Z." in verdict.because
    assert [event.action for event in history] == ["add", "supersede"]
    assert history[-1].subject == new
    assert set(history[-1].ids) == {old, new}
    verdict, _, _ = memory.sweep.explain(new)
    assert any(said.startswith("It supersedes 1 live memory: " + old) for said in verdict.because)


def test_the_command_line_supersedes_and_looks_back(run: Callable[..., Ran]) -> None:
    old = json.loads(run("remember", BERLIN, "--json").out)["memory_id"]
    said = run("remember", PARIS, "--supersedes", old)
    assert f"It supersedes {old}." in said.out
    assert "Berlin" not in run("search", "office").out
    shown = json.loads(run("get", old, "--json").out)
    assert [set(link) for link in shown["superseded_by"]] == [{"memory_id", "at"}]
    assert "superseded_by" in run("get", old).out
    assert run("search", "office", "--as-of", "yesterday").status != 0
    assert "Berlin" not in run("search", "office", "--as-of", "2020-01-01").out
    unknown = run("remember", ROME, "--supersedes", "mem_0000000000zz")
    assert unknown.status != 0
    assert "does not exist" in unknown.err
