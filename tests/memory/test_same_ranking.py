"""The same content gives the same ranking, whatever was there before; of equals the newer comes first."""

from pathlib import Path
from typing import Any

import pytest

from memsweep.app import Memory, make_app
from memsweep.settings import load_settings
from tests.support import falkor
from tests.support.engines import Home

KEPT = [
    "The garden hose leaks at the tap near the shed.",
    "Water the garden every morning before the sun is up.",
    "The shed key hangs in the kitchen.",
    "Garden party on Saturday, the neighbours bring chairs.",
    "The invoice for the garden fence is due in May.",
]
GONE = [f"The garden tap number {number} drips, the shed is wet." for number in range(25)]
QUERIES = ["garden shed", "who waters the garden", "garden tap", "shed key", "invoice total", "fence due in May", "tap"]
ENGINES = [
    "sqlite",
    pytest.param("falkor", marks=pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")),
]


def files(folder: Path, *names: str) -> Path:
    folder.mkdir(exist_ok=True)
    for old in folder.glob("*.py"):
        old.unlink()
    for name in names:
        (folder / f"{name}.py").write_text(f"def {name}_total(garden):\n    return sum(garden.tap)\n")
    return folder


def long_history(memory: Memory, folder: Path) -> None:
    """Added, deleted, purged, superseded, and files that came and went: what is left is what a new one gets."""
    memory.code.index(files(folder, "old", "older", "invoice", "shed"))
    for text in GONE[:15]:
        memory.delete(memory.remember(text).memory_id, confirm=True)
    memory.sweep.purge(older_than_days=0, confirm=True)
    for text in GONE[15:20]:
        memory.delete(memory.remember(text).memory_id, confirm=True)
    replaced = [memory.remember(text).memory_id for text in GONE[20:]]
    for text in KEPT[:-1]:
        memory.remember(text)
    memory.remember(KEPT[-1], supersedes=replaced)
    memory.code.index(files(folder, "invoice", "fence"))


def no_history(memory: Memory, folder: Path) -> None:
    memory.code.index(files(folder, "invoice"))
    for text in KEPT:
        memory.remember(text)
    memory.code.index(files(folder, "invoice", "fence"))


def found(memory: Memory, query: str, **options: Any) -> list[tuple[str, float, float]]:
    hits = memory.search(query, limit=50, mode="deep", **options).hits
    return [(hit.passage.text, hit.score, hit.relevance) for hit in hits]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_a_long_history_ranks_as_none(tmp_path: Path, engine: str) -> None:
    home = Home(engine, tmp_path / "home")  # type: ignore[arg-type]
    app = make_app(load_settings(home.variables))
    long_history(app.memory("worn"), tmp_path / "shop")
    no_history(app.memory("new"), tmp_path / "shop")
    for query in QUERIES:
        worn, new = (found(app.memory(name), query) for name in ("worn", "new"))
        assert worn == new, query
        assert len(new) > 1
    app.close()
    home.close()


def test_of_equals_the_newer_comes_first(memory: Memory) -> None:
    for thread in ("first", "second", "third"):
        memory.remember("The spare key is with Mr Lindqvist.", thread_id=thread)
    assert [hit.passage.thread_id for hit in memory.search("spare key").hits] == ["third", "second", "first"]


def test_what_is_stale_is_found_where_it_is_asked_for(memory: Memory, tmp_path: Path) -> None:
    memory.code.index(files(tmp_path / "shop", "old", "invoice"))
    before = {text for text, *_ in found(memory, "old total")}
    memory.code.index(files(tmp_path / "shop", "invoice"))
    assert "old_total" not in str(found(memory, "old total"))
    assert {text for text, *_ in found(memory, "old total", filters={"include_stale": True})} == before
