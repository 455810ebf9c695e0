"""What the queries of the first design get wrong on FalkorDB, done right on a real server, each through its door."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import make_app
from memsweep.collector import collect
from memsweep.services.memory import Memory
from memsweep.settings import load_settings
from tests.collector.stores import Link, Note, StoreSpec, Thing
from tests.falkor.both_engines import Side, both_engines
from tests.support.engines import Home
from tests.support.inside import store_of

CODE = "def {0}():\n    return 1\n\n\ndef {0}_too():\n    return {0}()\n"
ODD = 'naïve "x" \\ 漢.py'
# A live note with a pinned, a told and a loose thing; two dead things that know each other; pieces of no memory.
SPEC = StoreSpec(
    notes=(Note("alpha beta", chunks=3), Note("empty one", chunks=0)),
    things=(Thing("Loose"), Thing("Pinned", pinned=True), Thing("Told", explicit=True), Thing("One"), Thing("Two")),
    links=(Link(3, 4), Link(4, 3)),
    strays=((), ()),
)


@dataclass
class IndexedFolders:
    """A workspace on FalkorDB, and folders of code to index into it."""

    memory: Memory
    folder: Path

    def repo(self, name: str, *files: str) -> Path:
        root = self.folder / name
        root.mkdir(exist_ok=True)
        for file in files:
            (root / file).write_text(CODE.format(re.sub(r"\W", "_", f"{name}_{file[:-3]}")))
        return root

    def stale(self) -> set[str]:
        return {path for path, stale, _, _ in self.files() if stale}

    def files(self) -> list[tuple[str, bool, str, int]]:
        graph: Any = store_of(self.memory).graph
        rows = graph._graph.ask("MATCH (m:Memory) WHERE m.path IS NOT NULL RETURN m.path, m.stale, m.id, m.version")
        return [tuple(row) for row in rows]

    def gone(self) -> Path:
        """Two repositories, and a file that has left the first."""
        one, other = self.repo("one", "a.py", "b.py", "d.py"), self.repo("other", "c.py")
        self.memory.code.index(one)
        self.memory.code.index(other)
        (one / "b.py").unlink()
        self.memory.code.index(one)
        return one


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[IndexedFolders]:
    home = Home("falkor", tmp_path / "home")
    app = make_app(load_settings(home.variables))
    yield IndexedFolders(app.memory(), tmp_path)
    app.close()
    home.close()


@pytest.fixture
def side() -> Iterator[Side]:
    with both_engines(SPEC) as pair:
        yield pair.falkor


def test_what_left_the_scope_is_stale_and_nothing_else(folders: IndexedFolders) -> None:
    folders.gone()
    assert folders.stale() == {"b.py"}  # the other repository is untouched
    folders.memory.code.index(folders.folder / "one", languages=["go"])
    assert folders.stale() == {"b.py"}  # a narrower filter is no deletion


def test_a_file_that_comes_back_is_the_same_memory_whatever_its_name(folders: IndexedFolders) -> None:
    root = folders.repo("one", "a.py", ODD)
    folders.memory.code.index(root)
    before = {path: uid for path, _, uid, _ in folders.files()}
    text = (root / ODD).read_text()
    (root / ODD).unlink()
    folders.memory.code.index(root)
    assert folders.stale() == {ODD}
    (root / ODD).write_text(text)
    folders.memory.code.index(root)
    assert folders.stale() == set()  # found by its path, not by a part of some JSON
    assert {path: uid for path, _, uid, _ in folders.files()} == before


def test_a_preview_is_a_saved_plan_with_the_chunks_of_each(folders: IndexedFolders) -> None:
    folders.gone()
    plan = folders.memory.sweep.plan("stale_code")
    (item,) = [each for each in folders.memory.sweep.items(plan.id) if each.kind == "memory"]
    assert (item.relative_path, item.chunk_count, plan.totals.memories) == ("b.py", plan.totals.chunks, 1)
    assert item.chunk_count > 1
    assert folders.stale() == {"b.py"}  # looking changes nothing
    (folders.folder / "one" / "a.py").unlink()
    folders.memory.code.index(folders.folder / "one")
    receipt = folders.memory.sweep.apply(plan.id, confirm=True)
    assert (receipt.totals.memories, folders.stale()) == (1, {"a.py"})  # what was shown is what goes


def test_what_is_stale_goes_to_the_trash_with_its_chunks_and_comes_back(folders: IndexedFolders) -> None:
    folders.gone()
    before = folders.memory.stats()
    receipt = folders.memory.sweep.prune("stale_code", confirm=True)
    after = folders.memory.stats()
    assert before.total_memories - after.total_memories == receipt.totals.memories == 1
    assert before.total_chunks - after.total_chunks == receipt.totals.chunks > 1
    folders.memory.sweep.undo(receipt.id)  # a prune is not final
    restored = folders.memory.stats()
    assert (restored.total_memories, restored.total_chunks) == (before.total_memories, before.total_chunks)
    assert folders.stale() == {"b.py"}


def test_chunks_of_no_memory_are_found(side: Side) -> None:
    plan = collect.plan(side.tools(), "orphaned_chunks")
    items = collect.plan_items(side.tools(), plan.id, 0, 20)
    assert [(each.kind, each.text_length) for each in items] == [("chunk", len("stray piece 0 of nothing"))] * 2


def test_chunks_of_no_memory_go_and_those_of_one_in_the_trash_are_none(side: Side) -> None:
    collect.delete(side.tools(), "mem_000000000001", confirm=True)
    receipt = collect.plan_and_apply(side.tools(), "orphaned_chunks", confirm=True, allow_large=True)
    assert (receipt.totals.chunks, receipt.totals.memories) == (2, 0)
    assert side.store.stats().total_chunks == 0
    collect.undo(side.tools(), receipt.id)
    assert side.store.stats().total_chunks == 2


def test_things_that_nothing_speaks_of_are_found_but_for_roots(side: Side) -> None:
    plan = collect.plan(side.tools(), "orphaned_entities")
    assert [each.name for each in collect.plan_items(side.tools(), plan.id, 0, 20)] == ["Loose"]
    assert [(each["name"], each["reason"]) for each in plan.protected] == [("Pinned", "pinned")]


def test_things_that_nothing_keeps_go_though_they_know_each_other(side: Side) -> None:
    receipt = collect.plan_and_apply(side.tools(), "unreachable_entities", confirm=True, allow_large=True)
    assert (receipt.totals.entities, receipt.totals.relations) == (3, 2)  # Loose, and the dead circle
    assert {name for (name,) in _ask(side, "MATCH (e:Entity) RETURN e.name")} == {"Pinned", "Told"}
    collect.undo(side.tools(), receipt.id)
    assert len(_ask(side, "MATCH (e:Entity)-[r:RELATED_TO]->() RETURN r.id")) == 2


def test_memories_without_chunks_are_found(side: Side) -> None:
    plan = collect.plan(side.tools(), "empty_memories")
    assert [each.id for each in collect.plan_items(side.tools(), plan.id, 0, 20)] == ["mem_000000000002"]


def test_a_file_that_is_not_on_the_disk_is_found_but_not_under_a_missing_root(folders: IndexedFolders) -> None:
    one, other = folders.repo("one", "a.py", "b.py"), folders.repo("other", "c.py")
    folders.memory.code.index(one)
    folders.memory.code.index(other)
    (one / "b.py").unlink()
    (other / "c.py").unlink()
    other.rmdir()
    plan = folders.memory.sweep.plan("missing_files")
    shown = [each for each in folders.memory.sweep.items(plan.id) if each.kind == "memory"]
    assert [each.relative_path for each in shown] == ["b.py"]  # a vanished mount is not a deletion


def test_a_memory_of_several_chunks_is_one_memory(side: Side) -> None:
    receipt = collect.delete(side.tools(), "mem_000000000001", confirm=True)
    assert (receipt.totals.memories, receipt.totals.chunks) == (1, 3)  # not three


def test_a_run_that_breaks_off_marks_nothing(folders: IndexedFolders) -> None:
    root = folders.repo("one", "a.py", "b.py")
    folders.memory.code.index(root)
    (root / "a.py").unlink()
    folders.repo("one", "new.py")

    class Break(Exception):
        pass

    def stop(done: int, total: int) -> None:
        raise Break

    with pytest.raises(Break):
        folders.memory.code.index(root, progress=stop)
    assert folders.stale() == set()  # marks are written at the end of a run
    folders.memory.code.index(root)
    assert folders.stale() == {"a.py"}


def test_an_edited_file_is_read_anew_and_an_unchanged_one_is_not_written(folders: IndexedFolders) -> None:
    root = folders.repo("one", "a.py", "b.py")
    folders.memory.code.index(root)
    before = {path: (uid, version) for path, _, uid, version in folders.files()}
    folders.memory.code.index(root)
    assert {path: (uid, version) for path, _, uid, version in folders.files()} == before  # no change, no writes
    (root / "b.py").write_text(CODE.format("changed"))
    folders.memory.code.index(root)
    after = {path: (uid, version) for path, _, uid, version in folders.files()}
    assert after["a.py"] == before["a.py"]
    assert (after["b.py"][0], after["b.py"][1] > before["b.py"][1]) == (before["b.py"][0], True)
    assert "changed" in folders.memory.get(after["b.py"][0]).text  # an edit is read


def test_what_changed_since_it_was_shown_is_skipped(folders: IndexedFolders) -> None:
    root = folders.gone()
    plan = folders.memory.sweep.plan("stale_code")
    folders.repo("one", "b.py")
    folders.memory.code.index(root)
    receipt = folders.memory.sweep.apply(plan.id, confirm=True)
    assert (receipt.totals.memories, len(receipt.skipped) >= 1, folders.stale()) == (0, True, set())  # it came back


def test_what_would_go_is_counted_once_each(folders: IndexedFolders) -> None:
    folders.gone()
    assert folders.memory.stats().stale_memories == 1
    totals = folders.memory.sweep.plan("stale_code").totals
    assert (totals.memories, totals.chunks > 1) == (1, True)  # rows are not memories


def test_a_preview_pages_through_everything(folders: IndexedFolders) -> None:
    root = folders.repo("one", "stays.py", *(f"f{number}.py" for number in range(22)))
    folders.memory.code.index(root)
    for number in range(22):
        (root / f"f{number}.py").unlink()
    folders.memory.code.index(root)
    plan = folders.memory.sweep.plan("stale_code")
    pages = [folders.memory.sweep.items(plan.id, offset=at, limit=20) for at in range(0, plan.item_count, 20)]
    paths = [each.relative_path for page in pages for each in page if each.kind == "memory"]
    assert sorted(path or "" for path in paths) == sorted(f"f{number}.py" for number in range(22))


def _ask(side: Side, query: str) -> list[Any]:
    graph: Any = side.store.graph
    return graph._graph.ask(query)  # type: ignore[no-any-return]
