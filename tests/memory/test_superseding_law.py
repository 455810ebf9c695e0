"""Whatever is added, deleted, undone and purged: search shows what is live and nothing live supersedes."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import App, Memory, make_app
from memsweep.settings import load_settings
from tests.support import falkor
from tests.support.counts import rounds
from tests.support.engines import ENGINES, Home

ACTS = st.lists(
    st.tuples(
        st.sampled_from(["add", "add", "add", "delete", "undo", "purge", "recover"]),
        st.integers(0, 99),
        st.integers(0, 99),
    ),
    max_size=14,
)
_WORKSPACES = itertools.count()


@dataclass
class Model:
    """Which memories there are, where each is, and who was said to supersede whom."""

    texts: dict[str, str] = field(default_factory=dict)
    trash: dict[str, str] = field(default_factory=dict)
    said: dict[str, set[str]] = field(default_factory=dict)

    @property
    def live(self) -> list[str]:
        return [each for each in self.texts if each not in self.trash]

    def add(self, new: str, text: str, older: list[str]) -> None:
        self.texts[new] = text
        self.said[new] = {each for old in older for each in (old, *self.said.get(old, ()))}

    def free(self) -> None:
        for each in self.trash:
            del self.texts[each]
            self.said.pop(each, None)
        self.trash = {}

    def shown(self) -> list[str]:
        hidden = {old for new in self.live for old in self.said[new]}
        return sorted(self.texts[each] for each in self.live if each not in hidden)


@pytest.fixture(scope="module", params=ENGINES)
def app(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    home = Home(request.param, tmp_path_factory.mktemp("law") / "home")
    made = make_app(load_settings(home.variables))
    yield made
    made.close()
    home.close()


def act(memory: Memory, model: Model, what: str, one: int, two: int) -> None:
    if what == "add" or not model.texts:
        older = list(dict.fromkeys(model.live[at % len(model.live)] for at in (one, two))) if model.live else []
        older = older[: (one + two) % 3]
        text = f"Note number {len(model.said)} of {one}."
        model.add(memory.remember(text, supersedes=older).memory_id, text, older)
    elif what == "delete" and model.live:
        gone = model.live[one % len(model.live)]
        model.trash[gone] = memory.delete(gone, confirm=True).id
    elif what in ("undo", "recover") and model.trash:
        back = list(model.trash)[one % len(model.trash)]
        memory.sweep.undo(model.trash[back]) if what == "undo" else memory.sweep.recover(back)
        del model.trash[back]
    elif what == "purge":
        memory.sweep.purge(0, confirm=True)
        model.free()


@settings(max_examples=rounds(8, 40))
@given(ACTS)
def test_search_shows_what_is_live_and_not_superseded(app: App, acts: list[tuple[str, int, int]]) -> None:
    memory, model = app.memory(f"law-{next(_WORKSPACES)}"), Model()
    memory.remember("The first one.")
    (hit,) = memory.search("").hits
    model.add(hit.passage.memory_id, "The first one.", [])
    for what, one, two in acts:
        act(memory, model, what, one, two)
        assert sorted(hit.passage.text for hit in memory.search("", limit=50).hits) == model.shown()
    for each in model.live:
        links = {link.memory_id for link in memory.get(each).supersedes}
        assert links == model.said[each] & set(model.live)
    assert memory.care.doctor().findings == ()


@pytest.mark.skipif(not falkor.can_run(), reason="falkordblite needs Python 3.12")
def test_a_copy_to_another_engine_keeps_links_and_trash(tmp_path: Path) -> None:
    """The way of a backup: written by one engine, read by the other."""
    for number, (source, target) in enumerate((ENGINES, ENGINES[::-1])):
        places = [Home(kind, tmp_path / f"{number}-{kind}") for kind in (source, target)]
        apps = [make_app(load_settings(place.variables)) for place in places]
        memory = apps[0].memory()
        old = memory.remember("The heron stands in the lake.").memory_id
        middle = memory.remember("The heron stands in the river.", supersedes=[old]).memory_id
        new = memory.remember("The heron stands in the sea.", supersedes=[middle]).memory_id
        memory.delete(middle, confirm=True)
        memory.care.backup(tmp_path / f"{number}.backup")
        apps[1].restore(tmp_path / f"{number}.backup", "default")
        other = apps[1].memory()
        assert other.get(old).superseded_by == memory.get(old).superseded_by
        other.sweep.recover(middle)
        assert [link.memory_id for link in other.get(old).superseded_by] == [middle, new]
        assert [hit.passage.memory_id for hit in other.search("heron").hits] == [new]
        for each in (*apps, *places):
            each.close()
