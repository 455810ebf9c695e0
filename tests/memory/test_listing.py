"""Listing memories: every page together is what a plain filter of all memories gives, whatever is added meanwhile."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, Memory, called_by
from memsweep.errors import BadInput
from memsweep.model.counts import MadeOn, day_of, growth
from memsweep.model.listing import ListedMemory
from memsweep.model.origin import Origin
from memsweep.settings import load_settings
from tests.support import store_files
from tests.support.engines import ENGINES, Home, on_every_engine
from tests.support.paging import pages_of

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
ORIGINS = (
    Origin("cli", "", "", "s1", "", "person"),
    Origin("hook", "codex", "1", "s2", "", "tool"),
    Origin("mcp", "cl🌀ude", "1", "s3", "", "agent"),
)
IDS = dict[str, str]


class Filled:
    """A workspace with a memory in every state; `ids` by their names, the oldest first."""

    def __init__(self, kind: str, folder: Path) -> None:
        self._home = Home(kind, folder / "home")
        self.at = NOW
        settings = load_settings({**self._home.variables, "MEMSWEEP_QUARANTINE_TIERS": "tool"})
        self.app = App(settings, clock=lambda: self.at)
        self.memory = self.app.memory()
        self.ids: IDS = {}

    def add(self, name: str, origin: int = 0, **options: Any) -> str:
        self.at += timedelta(hours=7)
        with called_by(ORIGINS[origin]):
            self.ids[name] = self.memory.remember(f"The {name} lamp is in the cellar. {'x' * 500}", **options).memory_id
        return self.ids[name]

    def close(self) -> None:
        self.app.close()
        self._home.close()


@pytest.fixture(scope="module", params=ENGINES)
def filled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("listing")
    made = Filled(request.param, folder)
    made.add("plain", tags=["a", "b"], source="slack")
    made.add("pinned", pinned=True, tags=["a"])
    old = made.add("superseded", tags=["b"], source="slack")
    made.add("newer", supersedes=[old], origin=2)
    made.add("quarantined", origin=1, tags=["ünï 🙂"])
    made.add("released", origin=1)
    made.memory.release(made.ids["released"])
    made.add("expiring", expires_at="2027-01-01", source="slack")
    repo = folder / "repo"
    repo.mkdir()
    for name in ("one", "two"):
        (repo / f"{name}.py").write_text(f"def {name}():\n    return 1\n")
    made.memory.code.index(repo)
    (repo / "two.py").unlink()
    made.memory.code.index(repo)
    for listed in made.memory.memories(filters={"kind": "code"}).memories:
        made.ids[listed.path or ""] = listed.id
    made.at -= timedelta(days=30)  # the clock goes back, and the order stays
    made.add("late", tags=["a"])
    deleted = made.add("deleted", tags=["a"], source="slack")
    made.memory.delete(deleted, confirm=True)
    del made.ids["deleted"]
    yield made
    made.close()


def names(filled: Filled, found: list[ListedMemory]) -> list[str]:
    by_id = {uid: name for name, uid in filled.ids.items()}
    return [by_id[each.id] for each in found]


def walked(memory: Memory, limit: int, meanwhile: Callable[[], object] = lambda: None, **asked: Any) -> list[Any]:
    pages = []
    for page in pages_of(memory.memories, limit=limit, **asked):
        pages.append(page)
        meanwhile()
    assert [page.first for page in pages] == [sum(len(p.memories) for p in pages[:n]) for n in range(len(pages))]
    assert len({page.total for page in pages}) == 1
    return [each for page in pages for each in page.memories]


NOTES = ["late", "expiring", "released", "quarantined", "newer", "superseded", "pinned", "plain"]
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ["late", "two.py", "one.py", "expiring", "released", "quarantined", "newer", "superseded", "pinned", "plain"]),
    ({"filters": {"kind": "memory"}}, NOTES),
    ({"filters": {"kind": "code"}}, ["two.py", "one.py"]),
    ({"filters": {"language": "python", "path": "one.py"}}, ["one.py"]),
    ({"filters": {"tags": ["a"]}}, ["late", "pinned", "plain"]),
    ({"filters": {"tags": ["a", "b"]}}, ["plain"]),
    ({"filters": {"tags": ["ünï 🙂"]}}, ["quarantined"]),
    ({"filters": {"tags": ["none"]}}, []),
    ({"filters": {"source": "slack"}}, ["expiring", "superseded", "plain"]),
    ({"filters": {"source": "slack", "tags": ["b"]}, "state": "superseded"}, ["superseded"]),
    ({"filters": {"source": "", "kind": "memory"}}, ["late", "released", "quarantined", "newer", "pinned"]),
    ({"filters": {"tier": "tool"}}, ["released", "quarantined"]),
    ({"filters": {"client": "cl🌀ude"}}, ["newer"]),
    ({"filters": {"session": "s2"}, "state": "current"}, ["released"]),
    ({"door": "hook"}, ["released", "quarantined"]),
    ({"door": "index"}, ["two.py", "one.py"]),
    ({"filters": {"date_to": "2026-10-31"}}, ["late"]),
    ({"filters": {"date_from": "2026-11-02"}, "state": "superseded"}, ["superseded"]),
    ({"state": "current"}, ["late", "one.py", "expiring", "released", "newer", "pinned", "plain"]),
    ({"state": "stale"}, ["two.py"]),
    ({"state": "pinned"}, ["pinned"]),
    ({"state": "superseded"}, ["superseded"]),
    ({"state": "quarantined"}, ["quarantined"]),
    ({"state": "expiring"}, ["expiring"]),
]


@pytest.mark.parametrize(("asked", "wanted"), CASES)
def test_all_pages_together_are_what_was_asked_for(filled: Filled, asked: dict[str, Any], wanted: list[str]) -> None:
    for limit in (1, 3, 200):
        assert names(filled, walked(filled.memory, limit, **asked)) == wanted
    assert filled.memory.memories(**asked).total == len(wanted)


def test_a_listed_memory_says_what_it_is(filled: Filled) -> None:
    found = {name: each for each in walked(filled.memory, 200) for name in names(filled, [each])}
    plain = filled.memory.get(filled.ids["plain"])
    listed = found["plain"]
    assert (listed.text, listed.length) == (plain.text[:400], len(plain.text))
    assert (listed.tags, listed.source, listed.origin) == (plain.tags, plain.source, plain.origin)
    assert (listed.created_at, listed.updated_at) == (plain.created_at, plain.updated_at)
    assert {name for name, each in found.items() if each.superseded} == {"superseded"}
    assert {name for name, each in found.items() if each.quarantine} == {"quarantined"}
    assert {name for name, each in found.items() if each.stale} == {"two.py"}
    assert {name for name, each in found.items() if each.pinned} == {"pinned"}


@on_every_engine
def test_what_is_added_or_deleted_meanwhile_disturbs_no_page(memory: Memory) -> None:
    there = [memory.remember(f"Lamp {number} is broken.").memory_id for number in range(7)][::-1]
    count = iter(range(100))

    def meanwhile() -> None:
        number = next(count)
        memory.remember(f"Chair {number} is broken.")
        if number == 2:
            memory.delete(there[2], confirm=True)  # it was shown already

    found = walked(memory, 2, meanwhile)
    assert [each.id for each in found] == there


@on_every_engine
def test_nothing_is_listed_where_nothing_is_stored(app: App) -> None:
    page = app.memory("").memories()
    assert (page.memories, page.total, page.next_cursor) == ((), 0, None)


def test_a_damaged_memory_is_left_out_and_counted(memory: Memory, home: Path) -> None:
    ids = [memory.remember(f"Lamp {number} is broken.").memory_id for number in range(3)]
    store_files.damage_tags(home, ids[1])
    pages = [memory.memories(limit=2)]
    pages.append(memory.memories(limit=2, cursor=pages[0].next_cursor))
    assert [[each.id for each in page.memories] for page in pages] == [[ids[2]], [ids[0]]]
    assert [page.damaged for page in pages] == [1, 0]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"state": "dead"}, "state must be one of current"),
        ({"filters": {"kind": "fact"}}, "filters.kind must be memory or code"),
        ({"filters": {"as_of": "2026-01-01"}}, "filters.as_of is of searches"),
        ({"limit": 201}, "limit must be from 1 to 200"),
        ({"cursor": "AAAA"}, "does not belong to this listing"),
        ({"door": 3}, "door must be text"),
    ],
)
def test_a_mistake_is_named(memory: Memory, asked: dict[str, Any], said: str) -> None:
    memory.remember("Something to list.")
    with pytest.raises(BadInput, match=said):
        memory.memories(**asked)


def test_a_cursor_of_another_listing_is_refused(memory: Memory) -> None:
    for number in range(3):
        memory.remember(f"Lamp {number} is broken.")
    cursor = memory.memories(limit=1).next_cursor
    with pytest.raises(BadInput, match="does not belong to this listing"):
        memory.memories(limit=1, state="current", cursor=cursor)


def test_the_command_prints_pages(run: Callable[..., Any]) -> None:
    for number in range(3):
        run("remember", f"Lamp {number} is broken.", "--tag", "lamp")
    first = run("list", "-n", "2", "--tag", "lamp")
    cursor = first.out.split("--cursor ")[1].strip()
    assert "Lamp 2" in first.out
    assert "2 of 3" in first.out
    second = run("list", "-n", "2", "--tag", "lamp", "--cursor", cursor).out
    assert "Lamp 0" in second
    assert "Lamp 1" not in second
    assert "No memories." in run("list", "--state", "stale").out
    assert "state must be one of" in run("list", "--state", "x").err


def test_counts_are_those_of_the_listing(filled: Filled) -> None:
    """Whatever is counted is what a listing with the same filter has."""
    memory, counts = filled.memory, filled.memory.counts()

    def total(**asked: Any) -> int:
        return memory.memories(limit=1, **asked).total

    assert sum(counts.sources.values()) == sum(counts.tiers.values()) == total()
    for name, found in (("source", counts.sources), ("tier", counts.tiers), ("client", counts.clients)):
        assert found == {each: total(filters={name: each}) for each in found}, name
    assert counts.tags == {tag: total(filters={"tags": [tag]}) for tag in ("a", "b", "ünï 🙂")}
    assert counts.doors == {door: total(door=door) for door in ("cli", "hook", "mcp", "index")}
    assert counts.states == {state: total(state=state) for state in counts.states}
    assert counts.languages == {"python": 1}
    last = counts.days[-1]
    assert (last.total_notes, last.total_files) == (total(filters={"kind": "memory"}), total(filters={"kind": "code"}))


def test_indexed_folders_say_what_is_in_them_and_how_fresh_it_is(filled: Filled) -> None:
    found = filled.memory.code.overview()
    (root,) = found.roots
    assert (root.path.endswith("/repo"), root.languages, root.files, root.stale_files) == (True, {"python": 1}, 1, 1)
    assert [each.runs for each in root.scopes] == [2]
    assert root.verified_at == max(each.at for each in found.runs)
    assert [dict(each.counts)["stale"] for each in found.runs] == [1, 0]


@on_every_engine
def test_nothing_is_counted_where_nothing_is_stored(app: App) -> None:
    assert app.memory("").counts().days == ()
    assert app.memory("").code.overview().roots == ()


def test_growth_is_a_running_total_and_the_future_is_today() -> None:
    today = day_of(NOW)
    made = [
        MadeOn(today - 400, False, 5),
        MadeOn(today - 2, True, 3),
        MadeOn(today, False, 1),
        MadeOn(today + 9, False, 2),
    ]
    days = growth([MadeOn(*each) for each in made], NOW, 3)
    assert [(day.notes, day.files, day.total_notes, day.total_files) for day in days] == [
        (0, 3, 5, 3),
        (0, 0, 5, 3),
        (3, 0, 8, 3),
    ]
    assert days[-1].day == NOW.date()


def test_stats_show_growth_and_folders(run: Callable[..., Any], tmp_path: Path) -> None:
    run("remember", "Lamp 1 is broken.", "--tag", "lamp")
    (tmp_path / "a.py").write_text("def one():\n    return 1\n")
    run("index", str(tmp_path))
    history = run("stats", "--history").out
    assert "+1 memory, 1 file; 2 in all" in history
    assert "lamp 1" in history
    assert "1 file; verified" in run("stats", "--code").out
    assert len(run("stats", "--history", "--days", "7", "--json").json["days"]) == 7
    assert "days must be from 1 to" in run("stats", "--history", "--days", "0").err
