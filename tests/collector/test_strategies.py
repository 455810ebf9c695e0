"""Every strategy by a table of cases."""

import sys
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from memsweep.app import App, Memory
from memsweep.collector import collect
from memsweep.collector.selection import missing_files
from memsweep.model.plan import Plan
from tests.collector.stores import NOW, Link, Note, Place, StoreSpec, Thing, store_with, verify, write_rows
from tests.support import store_files
from tests.support.commands import run
from tests.support.engines import on_every_engine


def found(place: Place, strategy: str, ttl_days: float | None = None, **settings: float) -> dict[str, str]:
    """What a plan would take, by text or name, and the reason."""
    plan = collect.plan(place.tools(**settings), strategy, ttl_days)
    views = collect.plan_items(place.tools(), plan.id, 0, 1000)
    return {str(view.relative_path or view.name): view.reason for view in views}


def protected(plan: Plan) -> dict[str, str]:
    return {item["name"]: item["reason"] for item in plan.protected}


@on_every_engine
def test_a_plan_begins_with_the_newest_memories(make: Callable[..., App], engine_kind: str) -> None:
    app = make()
    for days in (3, 1, 40, 2):
        app.clock = lambda days=days: NOW - timedelta(days=days)  # type: ignore[misc]
        app.memory().remember(f"{days} days old", expires_at=NOW)
    app.clock = lambda: NOW + timedelta(hours=1)
    plan = app.memory().sweep.plan("expired")
    shown = [item.name for item in app.memory().sweep.items(plan.id)]
    assert shown == ["1 days old", "2 days old", "3 days old", "40 days old"]


# stale_code


@pytest.mark.parametrize("strategy", ["stale_code", "stale_files"])
@pytest.mark.parametrize(
    ("note", "taken"),
    [
        (Note("a", path="a.py", stale=True), {"a.py": "stale_file"}),
        (Note("a", path="a.py"), {}),
        (Note("a", path="a.py", stale=True, pinned=True), {}),
        (Note("a"), {}),
        (Note("a", stale=True), {}),  # a note is never stale, whatever its row says
        (Note("a", path="a.py", stale=True, chunks=0), {"a.py": "stale_file"}),
        (Note("a", path="a.py", stale=True, age_days=0), {"a.py": "stale_file"}),
    ],
)
def test_stale_code(strategy: str, note: Note, taken: dict[str, str]) -> None:
    with store_with(StoreSpec(notes=(note,))) as place:
        assert found(place, strategy) == taken


def test_stale_code_of_one_root_is_nothing_to_another() -> None:
    notes = (Note("a", path="same.py", root=0, stale=True), Note("b", path="same.py", root=1))
    with store_with(StoreSpec(notes=notes)) as place:
        collect.plan_and_apply(place.tools(), "stale_code", confirm=True)
        assert place.live_ids() == ["mem_000000000002"]


# missing_files


def test_missing_files_are_those_that_are_certainly_gone(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    for name in ("there.py", "file.py", "was_folder", "sub/in.py"):
        (root / name).write_text("x")
    (root / "folder.py").mkdir()
    (root / "link.py").symlink_to(root / "there.py")
    empty, missing = tmp_path / "empty", tmp_path / "missing"
    empty.mkdir()
    cases = {
        (str(root), "there.py"): False,
        (str(root), "sub/in.py"): False,
        (str(root), "gone.py"): True,
        (str(root), "no/such/folder.py"): True,
        (str(root), "was_folder/inside.py"): True,
        (str(root), "folder.py"): True,
        (str(root), "link.py"): True,  # a link is not indexed
        (str(empty), "a.py"): False,
        (str(missing), "a.py"): False,
        (str(root / "there.py"), "a.py"): False,  # the root became a file
    }
    gone = missing_files([(key, *place) for key, place in enumerate(cases)])
    assert [key in gone for key in range(len(cases))] == list(cases.values())


def test_missing_files_under_what_cannot_be_read_are_unknown(tmp_path: Path) -> None:
    root, locked = tmp_path / "root", tmp_path / "locked"
    (root / "shut").mkdir(parents=True)
    locked.mkdir()
    (root / "a.py").write_text("x")
    (locked / "b.py").write_text("x")
    paths = [(1, str(root), "shut/a.py"), (2, str(locked), "gone.py"), (3, str(root), "gone.py")]
    code = f"from memsweep.collector.selection import missing_files; print(sorted(missing_files({paths!r})))"
    (root / "shut").chmod(0)
    locked.chmod(0)
    try:
        ran = run([sys.executable, "-c", code], home=None, as_ordinary_user=True)
    finally:
        (root / "shut").chmod(0o700)
        locked.chmod(0o700)
    assert ran.json == [3]


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / f"{name}.py").write_text(f"def {name}(): pass\n")
    return folder


def paths_of(memory: Memory, strategy: str) -> set[str | None]:
    plan = memory.sweep.plan(strategy)
    return {view.relative_path for view in memory.sweep.items(plan.id) if view.kind == "memory"}


def test_missing_files_needs_no_index_run(memory: Memory, repo: Path) -> None:
    memory.code.index(repo)
    (repo / "b.py").unlink()
    assert paths_of(memory, "stale_code") == set()
    assert paths_of(memory, "missing_files") == {"b.py"}
    repo.rename(repo.with_name("moved"))
    assert paths_of(memory, "missing_files") == set(), "the root is missing"
    repo.mkdir()
    assert paths_of(memory, "missing_files") == set(), "the root is empty, as a mount point is"
    (repo / "c.py").write_text("x")
    assert paths_of(memory, "missing_files") == {"a.py", "b.py"}


def test_missing_files_never_takes_a_note(memory: Memory, repo: Path) -> None:
    memory.remember("nowhere to be found on a disk")
    memory.code.index(repo)
    for file in repo.glob("[ab].py"):
        file.unlink()
    receipt = memory.sweep.prune("missing_files", confirm=True)
    assert receipt.totals.memories == 2
    assert memory.stats().total_memories == 2
    assert memory.search("nowhere").hits


# expired


@pytest.mark.parametrize(
    ("note", "ttl_days", "reason"),
    [
        (Note("n"), None, None),
        (Note("n", expires_days=-0.1), None, "expired"),
        (Note("n", expires_days=0.0), None, "expired"),
        (Note("n", expires_days=0.1), None, None),
        (Note("n", expires_days=-1, pinned=True), None, None),
        (Note("n", age_days=40), 30, "not_seen"),
        (Note("n", age_days=40, seen_days=29), 30, None),
        (Note("n", age_days=40, seen_days=31), 30, "not_seen"),
        (Note("n", age_days=40, never_seen=True), 30, "not_seen"),
        (Note("n", age_days=20, never_seen=True), 30, None),
        (Note("n", age_days=40), None, None),
        (Note("n", age_days=40, expires_days=5), 30, "not_seen"),
        (Note("n", age_days=40, expires_days=-5), 30, "expired"),
        (Note("n", age_days=30), 30, None),  # not more than 30 days
        (Note("n", path="n.py", age_days=40), 30, "not_seen"),
        (Note("n", age_days=1), 0, "not_seen"),
    ],
)
def test_expired(note: Note, ttl_days: float | None, reason: str | None) -> None:
    with store_with(StoreSpec(notes=(note,))) as place:
        assert list(found(place, "expired", ttl_days).values()) == ([reason] if reason else [])


def test_expired_leaves_a_file_alone_that_an_index_run_has_verified() -> None:
    """An index run writes nothing for a file that did not change; it was seen all the same."""
    spec = StoreSpec(notes=(Note("x", path="x.py", age_days=90), Note("y", path="y.py", age_days=90)))
    with store_with(spec) as place:
        verify(place.file, "x.py", NOW - timedelta(days=2))
        assert found(place, "expired", 30) == {"y.py": "not_seen"}


def test_expired_counts_a_file_that_left_from_the_run_that_saw_it_last(memory: Memory, repo: Path, home: Path) -> None:
    memory.code.index(repo)
    store_files.age(home, days=100)
    (repo / "a.py").unlink()
    memory.code.index(repo)
    plan = memory.sweep.plan("expired", ttl_days=30)
    assert plan.item_count == 0


# empty_memories


@pytest.mark.parametrize(("chunks", "pinned", "taken"), [(0, False, True), (0, True, False), (1, False, False)])
def test_empty_memories(chunks: int, pinned: bool, taken: bool) -> None:
    with store_with(StoreSpec(notes=(Note("n", chunks=chunks, pinned=pinned),))) as place:
        assert found(place, "empty_memories") == ({"n": "empty_memory"} if taken else {})


@on_every_engine
@pytest.mark.parametrize("how", ["missing", "empty", "there"])
def test_missing_files_says_which_folders_it_left_out(app: App, engine_kind: str, tmp_path: Path, how: str) -> None:
    other, folder = tmp_path / "other", tmp_path / "🎉 code"
    for each in (other, folder):
        each.mkdir()
        for name in ("a.py", "b.py"):
            (each / name).write_text(f"def {name[0]}(): pass  # {each.name}\n")
        app.memory().code.index(str(each))
    (other / "a.py").unlink()
    for file in folder.iterdir() if how != "there" else ():
        file.unlink()
    if how == "missing":
        folder.rmdir()
    plan = app.memory().sweep.plan("missing_files")
    assert [item.relative_path for item in app.memory().sweep.items(plan.id) if item.kind == "memory"] == ["a.py"]
    left_out = f"2 files of {folder} left out: the folder is missing, empty or unreadable."
    assert (left_out in plan.warnings) is (how != "there")
    assert app.memory().sweep.get_plan(plan.id).warnings == plan.warnings


# orphaned_chunks


def test_orphaned_chunks_are_those_without_a_memory_not_those_whose_memory_is_in_the_trash() -> None:
    with store_with(StoreSpec(notes=(Note("one"), Note("two")), strays=((), ()))) as place:
        collect.delete(place.tools(), "mem_000000000001", confirm=True)
        plan = collect.plan(place.tools(), "orphaned_chunks")
        assert (plan.totals.memories, plan.totals.chunks) == (0, 2)
        receipt = collect.apply(place.tools(), plan.id, confirm=True)
        assert receipt.totals.chunks == 2
        shown, total = place.memory.sweep.trash()
        assert total == 3
        assert {(item.kind, item.reason) for item in shown} == {("memory", "deleted"), ("chunk", "orphaned_chunk")}


# orphaned and unreachable entities


GRAPHS: dict[str, tuple[StoreSpec, set[str], set[str]]] = {
    # what it is: (the store, what orphaned_entities takes, what unreachable_entities takes)
    "nothing at all": (StoreSpec(), set(), set()),
    "alone": (StoreSpec(things=(Thing("A"),)), {"A"}, {"A"}),
    "mentioned": (StoreSpec(notes=(Note("n"),), things=(Thing("A"),), mentions=((0, 0, 0),)), set(), set()),
    "mentioned by a stale file": (
        StoreSpec(notes=(Note("n", path="a", stale=True),), things=(Thing("A"),), mentions=((0, 0, 0),)), set(), set()
    ),
    "mentioned by a stray chunk": (StoreSpec(things=(Thing("A"),), strays=((0,),)), {"A"}, {"A"}),
    "pinned": (StoreSpec(things=(Thing("A", pinned=True),)), set(), set()),
    "explicit": (StoreSpec(things=(Thing("A", explicit=True),)), set(), set()),
    "of a permanent type": (StoreSpec(things=(Thing("A", type="Rule"),)), set(), set()),
    "two that know each other": (
        StoreSpec(things=(Thing("A"), Thing("B")), links=(Link(0, 1), Link(1, 0))), set(), {"A", "B"}
    ),
    "itself": (StoreSpec(things=(Thing("A"),), links=(Link(0, 0),)), set(), {"A"}),
    "a ring": (
        StoreSpec(things=tuple(map(Thing, "ABC")), links=(Link(0, 1), Link(1, 2), Link(2, 0))), set(), {"A", "B", "C"}
    ),
    "a chain from a mention, against the arrows": (
        StoreSpec(
            notes=(Note("n"),),
            things=tuple(Thing(n) for n in "ABC"),
            links=(Link(1, 0), Link(2, 1)),
            mentions=((0, 0, 0),),
        ),
        set(),
        set(),
    ),
    "a ring beside one that lives": (
        StoreSpec(
            notes=(Note("n"),),
            things=tuple(Thing(n) for n in "ABCD"),
            links=(Link(0, 1), Link(1, 0), Link(2, 3), Link(3, 2)),
            mentions=((0, 0, 0),),
        ),
        set(),
        {"C", "D"},
    ),
    "a ring around a pin": (
        StoreSpec(things=(Thing("A"), Thing("B", pinned=True)), links=(Link(0, 1), Link(1, 0))), set(), set()
    ),
    "related without a weight": (
        StoreSpec(
            notes=(Note("n"),),
            things=(Thing("A"), Thing("B")),
            links=(Link(0, 1, weight=None),),
            mentions=((0, 0, 0),),
        ),
        set(),
        set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_orphaned_and_unreachable_entities(name: str) -> None:
    spec, orphaned, unreachable = GRAPHS[name]
    with store_with(spec) as place:
        assert found(place, "orphaned_entities") == dict.fromkeys(orphaned, "orphaned_entity")
        assert found(place, "unreachable_entities") == dict.fromkeys(unreachable, "unreachable_entity")


def test_a_plan_says_which_entities_only_a_pin_or_their_type_protects() -> None:
    spec = StoreSpec(
        notes=(Note("n"),),
        things=(
            Thing("Pinned", pinned=True),
            Thing("Ruled", type="Rule"),
            Thing("Needless", pinned=True),
            Thing("Dead"),
        ),
        links=(Link(0, 1),),
        mentions=((0, 0, 2),),
    )
    with store_with(spec) as place:
        plan = collect.plan(place.tools(), "unreachable_entities")
        assert protected(plan) == {"Pinned": "pinned", "Ruled": "permanent type"}
        assert plan.totals.entities == 1


# all


def test_all_is_one_plan_of_four_strategies_with_a_reason_each() -> None:
    spec = StoreSpec(
        notes=(Note("stale", path="stale.py", stale=True), Note("old", expires_days=-1), Note("empty", chunks=0)),
        things=(Thing("Fallen"), Thing("Alone"), Thing("Ring"), Thing("Ring2")),
        links=(Link(2, 3), Link(3, 2)),
        mentions=((0, 0, 0),),
        strays=((),),
    )
    with store_with(spec) as place:
        assert found(place, "all") == {
            "stale.py": "stale_file",
            "stray piece 0 of nothing": "orphaned_chunk",
            "Alone": "orphaned_entity",
            "Ring": "unreachable_entity",
            "Ring2": "unreachable_entity",
            "Fallen": "left_without_root",
        }


# duplicates

LONG = "the deploy goes out on tuesday after the smoke test and priya signs it off in the morning"
NEARLY = LONG + " always"
MANUAL = " ".join(
    f"Step {n} of the checklist asks you to look at the dashboard and to wait a while." for n in range(60)
)
DUPLICATES: dict[str, tuple[list[Note], dict[int, tuple[str, int]]]] = {
    # what it is: (the notes, which of them go: their number, the reason and the number of the one that is kept)
    "different": ([Note("one thing"), Note("another thing")], {}),
    "the same in two threads": (
        [Note("yes", thread="a", age_days=2), Note("yes", thread="b", age_days=1)], {1: ("duplicate", 0)}
    ),
    "the same, the older is kept": (
        [Note("yes", age_days=1), Note("yes", thread="b", age_days=2)], {0: ("duplicate", 1)}
    ),
    "the same, the pinned is kept": (
        [Note("yes", age_days=2), Note("yes", thread="b", age_days=1, pinned=True)], {0: ("duplicate", 1)}
    ),
    "both are pinned": ([Note("yes", pinned=True), Note("yes", thread="b", pinned=True)], {}),
    "the one that does not expire is kept": (
        [Note("yes", age_days=2, expires_days=1), Note("yes", thread="b", age_days=1)], {0: ("duplicate", 1)}
    ),
    "but for case, spaces and signs": (
        [Note("Hello, World!", age_days=2), Note("hello   world", age_days=1)], {0: ("near_duplicate", 1)}
    ),
    "nearly the same, the newer is kept": (
        [Note(LONG, age_days=2), Note(NEARLY, age_days=1)], {0: ("near_duplicate", 1)}
    ),
    "nearly the same, whichever came first in the store": (
        [Note(NEARLY, age_days=1), Note(LONG, age_days=2)], {1: ("near_duplicate", 0)}
    ),
    "nearly the same, and the older one is pinned": (
        [Note(LONG, age_days=2, pinned=True), Note(NEARLY, age_days=1)], {}
    ),
    "nearly the same, and the newer one expires": (
        [Note(LONG, age_days=2), Note(NEARLY, age_days=1, expires_days=3)], {}
    ),
    "nearly the same, and the older one was said again": (
        [Note(LONG, age_days=3), Note(NEARLY, age_days=2), Note(LONG, thread="b", age_days=1)],
        {1: ("near_duplicate", 0), 2: ("duplicate", 0)},
    ),
    "a negation": ([Note(MANUAL, age_days=2), Note(MANUAL.replace("and to", "and NEVER to", 1), age_days=1)], {}),
    "a number": ([Note(MANUAL, age_days=2), Note(MANUAL.replace("Step 31", "Step 301"), age_days=1)], {}),
    "two revisions behind another fact": (
        [Note(MANUAL.replace("Step 31", "Step 301"), age_days=3), Note(MANUAL, age_days=2),
         Note(MANUAL + " always", age_days=1)],
        {1: ("near_duplicate", 2)},
    ),
    "a language": ([Note("C"), Note("C++")], {}),
    "a symbol": ([Note("✅"), Note("❌")], {}),
    "a sign": ([Note("-5"), Note("5")], {}),
    "an operator": ([Note("a != b"), Note("a == b")], {}),
    "a vowel sign": ([Note("दिन"), Note("दान")], {}),
    "an article and a full stop": (
        [Note("deploy day is Thursday", age_days=2), Note("The deploy day is Thursday.", age_days=1)],
        {0: ("near_duplicate", 1)},
    ),
    "too short to be nearly the same": ([Note("we met on monday at noon"), Note("we met on monday at night")], {}),
    "code never": ([Note("x = 1", path="a.py"), Note("x = 1", path="b.py")], {}),
    "code and a note never": ([Note("x = 1", path="a.py"), Note("x = 1")], {}),
    "three of a kind": (
        [Note("yes", age_days=1), Note("yes", thread="b", age_days=3), Note("Yes!", age_days=2)],
        {0: ("duplicate", 1), 2: ("near_duplicate", 1)},
    ),
    "only signs": ([Note("!!!"), Note("???")], {}),
    "one without chunks is found by no search": ([Note("yes", age_days=2, chunks=0), Note("yes")], {}),
    "an invisible character inside a word is a difference": ([Note("all old"), Note("all o\u00adld", age_days=1)], {}),
    "one beside a word is none": (
        [Note("all old", age_days=2), Note("\ufeffall old\u200b", age_days=1)], {0: ("near_duplicate", 1)}
    ),
    "other letters": (
        [Note("ÄRGER im BÜRO", age_days=2), Note("ärger im büro", age_days=1)], {0: ("near_duplicate", 1)}
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", DUPLICATES)
def test_duplicates(name: str) -> None:
    notes, taken = DUPLICATES[name]
    with store_with(StoreSpec(notes=tuple(notes))) as place:
        plan = collect.plan(place.tools(), "duplicates")
        views = collect.plan_items(place.tools(), plan.id, 0, 100)
        shown = {int(view.id[4:]) - 1: (view.reason, int(view.evidence["kept"][4:]) - 1) for view in views}
        assert shown == taken


def test_a_chain_of_near_duplicates_does_not_carry_away_what_is_far_from_the_kept_one() -> None:
    """Each says nearly the same as the one before it, and the last something else than the first."""
    plain = [
        "".join(chr(97 + (n * factor + step) % 26) for step in range(6)) + "a" for n in range(120) for factor in (7,)
    ]
    texts = [
        " ".join(f"{word} even" if at < step else word for at, word in enumerate(plain)) for step in range(0, 60, 1)
    ]
    runs = {f"mem_{n + 1:012}": _runs(text.split()) for n, text in enumerate(texts)}
    with store_with(StoreSpec(notes=tuple(Note(text, age_days=100 - n) for n, text in enumerate(texts)))) as place:
        plan = collect.plan(place.tools(), "duplicates")
        views = collect.plan_items(place.tools(), plan.id, 0, 100)
        assert 10 < len(views) < 50
        for view in views:
            mine, kept = runs[view.id], runs[view.evidence["kept"]]
            assert len(mine & kept) >= 0.9 * len(mine | kept)


def _runs(words: list[str]) -> set[tuple[str, ...]]:
    return set(zip(words, words[1:], words[2:], strict=False))


def test_a_hundred_copies_leave_one() -> None:
    notes = tuple(Note("the same old story told once more in full", thread=str(n), age_days=n + 1) for n in range(100))
    with store_with(StoreSpec(notes=notes)) as place:
        receipt = collect.plan_and_apply(place.tools(), "duplicates", confirm=True, allow_large=True)
        assert receipt.totals.memories == 99
        assert place.live_ids() == ["mem_000000000100"], "the oldest"


# guards that every strategy shares


@pytest.mark.parametrize(
    ("grace_days", "age_days", "taken"), [(0, 0.01, True), (1, 0.5, False), (1, 1.5, True), (30, 10, False)]
)
def test_grace_days_protect_what_is_younger(grace_days: float, age_days: float, taken: bool) -> None:
    spec = StoreSpec(
        notes=(Note("s", path="s.py", stale=True, age_days=age_days),), things=(Thing("E", age_days=age_days),)
    )
    with store_with(spec) as place:
        plan = collect.plan(place.tools(grace_days=grace_days), "all")
        assert (plan.totals.memories, plan.totals.entities) == ((1, 1) if taken else (0, 0))
        wanted = {} if taken else {"s.py": "within the grace period", "E": "within the grace period"}
        assert protected(plan) == wanted


def test_a_young_entity_holds_its_component_while_it_is_protected() -> None:
    spec = StoreSpec(things=(Thing("Old"), Thing("Young", age_days=0.5)), links=(Link(0, 1),))
    with store_with(spec) as place:
        plan = collect.plan(place.tools(grace_days=1), "unreachable_entities")
        assert plan.totals.entities == 0
        assert protected(plan) == {"Young": "within the grace period"}
        assert collect.plan(place.tools(), "unreachable_entities").totals.entities == 2


@pytest.mark.parametrize(("ages", "warning"), [((2, 3), None), ((0.5, 3), "1 nodes are less than 24h old"),
                                               ((0.5, 0.1), "2 nodes are less than 24h old")])  # fmt: skip
def test_young_things_are_warned_of_and_stay_in_the_plan(ages: tuple[float, float], warning: str | None) -> None:
    notes = (Note("a", path="a.py", stale=True, age_days=ages[0]),)
    with store_with(StoreSpec(notes=notes, things=(Thing("E", age_days=ages[1]),))) as place:
        plan = collect.plan(place.tools(), "all")
        assert (plan.totals.memories, plan.totals.entities) == (1, 1)
        assert [text for text in plan.warnings if "24h" in text] == ([warning] if warning else [])


def test_the_default_workspace_is_warned_of_and_no_other() -> None:
    spec = StoreSpec(notes=(Note("a", path="a.py", stale=True),))
    with store_with(spec) as place:
        assert "WARNING: Deleting from default workspace" in collect.plan(place.tools(), "stale_code").warnings
        assert collect.plan(place.tools(), "expired").warnings == (), "nothing is deleted"
        place.app.create_workspace("other")
        write_rows(store_files.file_of(place.home, "other"), spec)
        assert collect.plan(Place(place.home, place.app, "other").tools(), "stale_code").warnings == ()


@pytest.mark.parametrize(("stale", "fresh", "share"), [(0, 0, 0.0), (0, 4, 0.0), (1, 3, 0.25), (3, 0, 1.0)])
def test_the_share_is_of_the_live_memories(stale: int, fresh: int, share: float) -> None:
    notes = [Note(f"s{n}", path=f"s{n}.py", stale=True) for n in range(stale)]
    notes += [Note(f"f{n}", path=f"f{n}.py") for n in range(fresh)] + [Note("in the trash")]
    with store_with(StoreSpec(notes=tuple(notes), things=(Thing("E"),))) as place:
        collect.delete(place.tools(), f"mem_{len(notes):012}", confirm=True)
        plan = collect.plan(place.tools(), "all")
        assert (plan.share, plan.workspace_memories) == (share, stale + fresh)


SAFETY: dict[str, tuple[str, list[str], bool, list[str], list[str]]] = {
    "all there": ("other", ["mem_000000000001"], True, [], []),
    "one is not": ("other", ["mem_000000000001", "mem_9"], False, ["Memory mem_9 not found"], ["mem_9"]),
    "the default workspace": ("default", [], True, ["WARNING: Deleting from default workspace"], []),
    "no such workspace": ("nowhere", ["mem_1"], False, ["Workspace 'nowhere' does not exist"], ["mem_1"]),
}


@pytest.mark.parametrize("name", SAFETY)
def test_validate_deletion_safety(name: str) -> None:
    workspace, ids, is_safe, warnings, blocked = SAFETY[name]
    with store_with(StoreSpec()) as place:
        place.app.create_workspace("other")
        write_rows(store_files.file_of(place.home, "other"), StoreSpec(notes=(Note("here"),)))
        safety = place.app.memory(workspace).sweep.check_deletion(ids)
        assert (safety.is_safe, list(safety.warnings), list(safety.blocked_ids)) == (is_safe, warnings, blocked)
