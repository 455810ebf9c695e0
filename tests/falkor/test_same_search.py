"""A search finds the same in FalkorDB as in SQLite, whatever its kind, and however sure."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, Memory, make_app
from memsweep.embed.protocol import quantise
from memsweep.model.search import Filters
from memsweep.settings import load_settings
from memsweep.store import views
from tests.support.engines import Home

Apps = tuple[App, App]


@pytest.fixture
def apps(tmp_path: Path) -> Iterator[Apps]:
    homes = [Home(engine, tmp_path / engine) for engine in ("sqlite", "falkor")]
    made = [make_app(load_settings(home.variables)) for home in homes]
    yield made[0], made[1]
    for app, home in zip(made, homes, strict=True):
        app.close()
        home.close()


def found(memory: Memory, query: str, **options: Any) -> list[tuple[str, str, float]]:
    page = memory.search(query, **options)
    return [(hit.passage.kind, hit.passage.text, round(hit.relevance, 2)) for hit in page.hits]


def same(apps: Apps, query: str, **options: Any) -> list[tuple[str, str, float]]:
    """What both engines find, in the same order."""
    here, there = (found(app.memory(), query, **options) for app in apps)
    assert here == there, query
    return here


def test_facts_notes_and_code_are_the_same_in_falkor(apps: Apps, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    (shop / "tests").mkdir(parents=True)
    for number in range(8):
        (shop / f"invoice_{number}.py").write_text(f"def invoice_total_{number}(lines):\n    return sum(lines)\n")
    (shop / "tests" / "test_invoice.py").write_text("def test_invoice_total():\n    assert invoice_total_1([1])\n")
    for app in apps:
        memory = app.memory()
        memory.remember("Invoices are due after 30 days, the total in euros.")
        memory.remember("Tom takes his coffee black, no sugar.")
        memory.graph.relate("build", "RUNS_ON", "Jenkins")
        memory.graph.relate("build", "RUNS_ON", "Buildkite", replaces=True)
        memory.graph.relate("build server", "STANDS_IN", "the basement")
        memory.remember(
            "The deploy is signed off.", relations=[{"from": "Priya", "relation": "SIGNS", "to": "deploys"}]
        )
        memory.code.index(shop)
    assert same(apps, "what became of `InvoiceTotal`", mode="deep")
    assert same(apps, "where does the build run")[0][:2] == ("fact", "build runs on Buildkite")
    assert ("fact", "Priya signs deploys") in [each[:2] for each in same(apps, "who signs deploys")]
    assert "build server stands in the basement" in [
        text for _, text, _ in same(apps, "where does the build server stand", filters={"kind": "fact"})
    ]
    assert same(apps, "invoice_total_3", filters={"kind": "fact"}, mode="deep") == []
    for kind in ("memory", "code"):
        for query in ("invoices total due", ""):
            assert {each[0] for each in same(apps, query, filters={"kind": kind}, mode="deep")} == {kind}
    assert {each[0] for each in same(apps, "invoice total", filters={"include_tests": False}, mode="deep")} > {"code"}
    assert same(apps, "what is the capital of France") == []


@pytest.mark.slow
@pytest.mark.parametrize("with_code", [False, True])
def test_what_only_words_find_is_the_same_in_falkor(apps: Apps, tmp_path: Path, with_code: bool) -> None:
    (tmp_path / "lamp.py").write_text("def lamp():\n    return 'broken'\n")
    for app in apps:
        memory = app.memory()
        for number in range(60):
            what = "A lamp" if number % 4 == 0 else "The window pane"
            memory.remember(f"{what} of room {number} is broken.", thread_id=f"t{number % 9}" if number % 2 else None)
        old = memory.remember("The lamp of the hall is repaired on Monday.")
        memory.remember("The lamp of the hall is repaired on Friday.", supersedes=[old.memory_id])
        if with_code:
            memory.code.index(tmp_path)
    for filters in (Filters(), Filters(include_stale=True), Filters(include_tests=False), Filters(kind="memory")):
        sqlite, falkor = (seen_by_words(app, "lamp", "a window pane of a room", filters) for app in apps)
        assert falkor == sqlite
        lamps = [text for text, (words, *_) in sqlite.items() if words]
        assert len(lamps) == 16 + (with_code and filters.kind is None)
        assert not any("Monday" in text for text in sqlite)


def seen_by_words(
    app: App, query: str, meaning: str, filters: Filters
) -> dict[str, tuple[bool, float, bool, bool, str]]:
    """By text: whether the words found it, its similarity, whether it has a place and is code, and its tier."""
    store = app.engine.open("default")
    (vector,) = quantise(app.embedder.embed([meaning]))
    found = store.candidates(query, vector, filters, 20)
    keys = [each.key for each in found]
    texts, owners = views.passages(store.rows, keys), views.owners(store.rows, keys)
    assert all(each.owner in (None, owners[each.key]) for each in found)
    return {
        texts[each.key].text: (
            each.words > 0,
            round(each.similarity, 4),
            each.place is not None,
            each.is_code,
            owners[each.key].tier,
        )
        for each in found
    }


def test_a_piece_of_code_is_not_found_by_what_stands_beside_it_in_either_engine(apps: Apps, tmp_path: Path) -> None:
    folder = tmp_path / "shop"
    (folder / "docs").mkdir(parents=True)
    filler = "\n    ".join(f"step_{number} = {number}" for number in range(20))
    names = ("open_drawer", "weigh_parcel", "print_label")
    (folder / "till.py").write_text("\n\n\n".join(f"def {name}():\n    {filler}\n    return step_3" for name in names))
    (folder / "docs" / "parcels.md").write_text(
        "# Before\n\nNothing.\n\n# Parcels\n\nHow to weigh one.\n\n# After\n\nRest.\n"
    )
    for app in apps:
        app.memory().code.index(folder)
        page = app.memory().search("weigh parcel", mode="deep")
        assert page.hits[0].passage.text.startswith("def weigh_parcel")
        assert not [hit.why for hit in page.hits if "neighbours" in hit.why]
    assert same(apps, "weigh parcel", mode="deep")
