"""The next page of a listing comes from the ranking of the first, as long as nothing has changed."""

from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App, make_app
from memsweep.memory import recall as recalling
from memsweep.memory.recall import MOST, Listings, RankedListing, Ranking
from memsweep.settings import load_settings
from tests.memory.test_same_ranking import ENGINES
from tests.support.engines import Home
from tests.support.paging import pages_of


@pytest.fixture(params=ENGINES)
def app(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    home = Home(request.param, tmp_path / "home")
    app = make_app(load_settings(home.variables))
    for number in range(30):
        app.memory().remember(f"Lamp {number} in the cellar is broken.")
    yield app
    app.close()
    home.close()


@pytest.fixture
def rankings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every query that was ranked."""
    ranked: list[str] = []
    rank = recalling.rank

    def noting(store: Any, embedder: Any, judge: Any, query: str, *more: Any, **named: Any) -> Ranking:
        ranked.append(query)
        return rank(store, embedder, judge, query, *more, **named)

    monkeypatch.setattr(recalling, "rank", noting)
    return ranked


@pytest.mark.parametrize("mode", ["precise", "deep"])
def test_every_page_comes_from_one_ranking(app: App, rankings: list[str], mode: Any) -> None:
    whole = [hit.passage.text for hit in app.memory().search("lamp cellar", limit=50, mode=mode).hits]
    rankings.clear()
    pages = pages_of(app.memory().search, query="lamp cellar", limit=7, mode=mode)
    assert [hit.passage.text for page in pages for hit in page.hits] == whole
    assert len(whole) > 14
    assert rankings == ["lamp cellar"]


def test_a_listing_is_ranked_anew_when_something_was_added_or_deleted(app: App, rankings: list[str]) -> None:
    memory = app.memory()
    first = memory.search("lamp cellar", limit=7)
    added = memory.remember("The lamp over the cellar door is fine.").memory_id
    memory.search("lamp cellar", limit=7, cursor=first.next_cursor)
    assert len(rankings) == 2
    memory.delete(added, confirm=True)
    memory.search("lamp cellar", limit=7, cursor=first.next_cursor)
    assert len(rankings) == 3


def test_the_longest_unused_ranking_goes_first() -> None:
    listings, ranking = Listings(), Ranking([], {})
    made = [RankedListing("w", "1", f"query {number}", "m") for number in range(MOST + 1)]
    for listing in made[:-1]:
        listings.keep(listing, ranking)
    assert listings.find(made[0]) is ranking
    listings.keep(made[-1], ranking)
    assert listings.find(made[0]) is ranking
    assert listings.find(made[1]) is None
