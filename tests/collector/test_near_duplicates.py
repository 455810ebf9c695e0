"""Two revisions of a text: the older one goes, and the preview shows both beside each other with what differs."""

from collections.abc import Callable

import pytest

from tests.support.commands import Ran
from tests.support.engines import on_every_engine

OLDER = " ".join(f"Step {n} of the checklist asks you to look at the dashboard and wait a while." for n in range(60))
Run = Callable[..., Ran]


@on_every_engine
def test_the_older_revision_goes_and_both_are_shown(run: Run) -> None:
    older = run("remember", OLDER, "--json").json["memory_id"]
    newer = run("remember", OLDER.replace("Step 41 of the", "Step 41 of the big", 1), "--json").json["memory_id"]
    preview = run("prune", "-s", "duplicates", "--json").json["preview"]
    assert [item["id"] for item in preview] == [older]
    (item,) = preview
    assert newer in item["why"]
    assert (item["text"][:20], item["kept_text"][:20]) == (OLDER[:20], OLDER[:20])
    assert item["differs"] == [
        {"text": "… Step 41 of checklist asks you …", "kept_text": "… Step 41 of big checklist asks you …"}
    ]
    shown = run("prune", "-s", "duplicates").out
    assert f"{older}\n  goes: Step 0 of the checklist" in shown
    assert "  differs: '… Step 41 of checklist asks you …' and '… Step 41 of big checklist asks you …'\n" in shown
    run("prune", "-s", "duplicates", "--yes", "--json")
    assert run("get", newer, "--json").json["memory_id"] == newer
    assert run("get", older, "--json").status != 0


@on_every_engine
@pytest.mark.parametrize(
    ("old", "new"),
    [("and wait a while. Step 30", "and NEVER wait a while. Step 30"), ("Step 30 of", "Step 300 of")],
)
def test_a_revision_that_states_something_else_is_no_duplicate(run: Run, old: str, new: str) -> None:
    run("remember", OLDER, "--json")
    run("remember", OLDER.replace(old, new), "--json")
    assert run("prune", "-s", "duplicates", "--json").json["preview"] == []


@on_every_engine
def test_short_notes_that_differ_in_a_sign_stay(run: Run) -> None:
    for text in ("C", "C++", "✅", "❌", "5", "x is -5", "x is 5", "a != b", "a == b", "दिन", "दान"):
        run("remember", "--json", "--", text)
    run("remember", "deploy day is Thursday", "--json")
    run("remember", "The deploy day is Thursday.", "--json")
    preview = run("prune", "-s", "duplicates", "--json").json["preview"]
    assert [item["text"] for item in preview] == ["deploy day is Thursday"]
    assert preview[0]["differs"] == []
