"""One call before work begins; and a workspace that nothing was stored in yet."""

from datetime import timedelta
from pathlib import Path

import pytest

from memsweep.app import App
from memsweep.errors import BadInput, NotFound, UnknownWorkspace
from memsweep.report.graph import briefed
from tests.support.engines import on_every_engine

pytestmark = on_every_engine


@pytest.mark.slow
def test_it_shows_the_newest_memories_facts_contradictions_and_what_is_stale(app: App, tmp_path: Path) -> None:
    memory = app.memory()
    for number in range(8):
        memory.remember(f"Decision {number}: " + "because of reasons. " * 60, tags=["decision"])
    memory.graph.relate("Ada", "LIVES_IN", "Paris")
    memory.graph.relate("Ada", "LIVES_IN", "Rome")
    folder = tmp_path / "code"
    folder.mkdir()
    for number in range(90):
        (folder / f"part{number}.py").write_text(f"def part{number}():\n    return {number}\n")
    memory.code.index(str(folder))
    answer = briefed(memory.briefing(limit=3))
    assert [each["text"][:11] for each in answer["memories"]] == ["Decision 7:", "Decision 6:", "Decision 5:"]
    assert all(len(each["text"]) < 300 and each["tags"] == ["decision"] for each in answer["memories"])
    assert {(fact["from"], fact["to"]) for fact in answer["facts"]} >= {("Ada", "Paris"), ("Ada", "Rome")}
    assert "98 memories" in answer["summary"]
    assert answer["central"][0] == "Ada"
    assert answer["workspace_id"] == "default"


def test_what_is_stale_is_said_with_the_next_step(app: App, tmp_path: Path) -> None:
    folder = tmp_path / "code"
    folder.mkdir()
    for name in ("kept", "gone"):
        (folder / f"{name}.py").write_text(f"def {name}():\n    pass\n")
    memory = app.memory()
    memory.code.index(str(folder))
    (folder / "gone.py").unlink()
    memory.code.index(str(folder))
    answer = briefed(memory.briefing())
    assert "1 stale file." in answer["summary"]
    assert answer["memories"] == []
    assert any("prune_memory" in step for step in answer["next_steps"])


def test_old_facts_that_nobody_confirmed_are_stale(app: App) -> None:
    memory = app.memory()
    memory.graph.relate("Ada", "WORKS_ON", "Engine", weight=0.4)
    now = app.clock()
    later = App(app.settings, clock=lambda: now + timedelta(days=60))
    answer = briefed(later.memory().briefing())
    later.close()
    assert [(fact["from"], fact["relation"]) for fact in answer["stale_facts"]] == [("Ada", "WORKS_ON")]
    assert any("confirms it" in step for step in answer["next_steps"])


@pytest.mark.parametrize("limit", [0, 51, -1])
def test_a_limit_that_is_none_is_refused(app: App, limit: int) -> None:
    app.memory().remember("something")
    with pytest.raises(BadInput, match="limit"):
        app.memory().briefing(limit=limit)


def test_a_workspace_that_nobody_named_is_empty_until_something_is_stored(app: App) -> None:
    memory = app.memory()
    assert memory.search("anything").hits == ()
    assert memory.stats().total_memories == 0
    assert memory.contexts() == []
    assert memory.graph.entities() == ([], 0)
    assert memory.graph.status().entities == 0
    assert memory.graph.validate() == []
    assert memory.graph.communities().found == ()
    assert briefed(memory.briefing())["summary"] == "Nothing is stored here yet."
    for ask in (lambda: memory.graph.query("Ada"), lambda: memory.graph.related("Ada")):
        with pytest.raises(NotFound, match="entity 'Ada' is not known"):
            ask()
    assert app.workspaces() == [], "a read makes nothing"
    memory.remember("now there is something")
    assert memory.stats().total_memories == 1


def test_a_workspace_that_somebody_named_has_to_be_there(app: App) -> None:
    elsewhere = app.memory("elsewhere")
    for ask in (lambda: elsewhere.search("x"), elsewhere.stats, elsewhere.briefing, elsewhere.graph.status):
        with pytest.raises(UnknownWorkspace, match="'elsewhere' does not exist"):
            ask()


def test_one_that_was_deleted_says_how_to_bring_it_back(app: App) -> None:
    app.memory().remember("something")
    receipt = app.delete_workspace("default", confirm=True).receipt_id
    for ask in (lambda: app.memory().search("x"), app.memory().briefing):
        with pytest.raises(UnknownWorkspace, match=f"undo_prune with {receipt} brings it back"):
            ask()


def test_reading_before_anything_is_stored_touches_no_disk(app: App, home: Path) -> None:
    app.memory().search("x")
    app.memory().briefing()
    assert not list(home.glob("workspaces/*"))
