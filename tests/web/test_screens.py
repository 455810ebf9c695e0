"""The screens in this process: what they show, what they do, on both engines; and what they refuse."""

from datetime import timedelta
from urllib.parse import quote

import pytest

from memsweep.app import App, Memory
from memsweep.clock import now
from memsweep.model.origin import Origin
from memsweep.web.login import Grant
from memsweep.web.screens import SCREENS
from tests.support.engines import on_every_engine

NAVIGATION = [screen.path for screen in SCREENS if screen.icon]
HOSTILE = "<script>alert(1)</script>\u202e\"'"


def expired(memory: Memory, *texts: str) -> list[str]:
    """Memories whose date has passed."""
    before = now() - timedelta(days=1)
    return [memory.remember(text, expires_at=before, tags=["old"]).memory_id for text in texts]


def planned(browser, strategy: str = "expired") -> str:
    """A plan that is open in the browser; its path."""
    browser.see("/collect")
    browser.do("/collect", strategy=strategy)
    return browser.page.url.path.removeprefix(f"/w/{browser.workspace}")


@on_every_engine
def test_a_collection_spares_what_was_unticked_and_can_be_undone(memory: Memory, browser) -> None:
    first, second = expired(memory, "Deploys were on Mondays.", "The pager was red.")
    memory.remember("We deploy on Tuesdays.")
    path = planned(browser)
    assert "2 of 2 memories" in browser.text
    browser.do(path, shown=[first, second], take=[second])
    assert "Moved 1 memory to the trash" in browser.text
    assert {each.id for each in memory.memories(filters={"tags": ["old"]}, state="expired").memories} == {first}
    receipt = browser.page.url.path.rpartition("/")[2]
    browser.do(f"/receipts/{receipt}/undo")
    assert "1 memory came back" in browser.text
    assert memory.get(second).text == "The pager was red."
    assert memory.sweep.audit(limit=1)[0].actor == "page:memsweep"


@on_every_engine
def test_every_screen_of_the_navigation_answers(memory: Memory, browser) -> None:
    memory.remember("Ada owns the ledger.", entities=["Ada"], tags=[HOSTILE], source=HOSTILE)
    memory.remember(HOSTILE)
    for path in [
        *NAVIGATION,
        "/collect/found",
        "/memories?q=ledger",
        "/forget?q=ledger",
        f"/memories?tag={quote(HOSTILE)}",
    ]:
        assert browser.see(path).status_code == 200, path
        assert "<script>alert" not in browser.page.text, path
        assert "\u202e" not in browser.page.text, path


@pytest.mark.parametrize("path", NAVIGATION)
def test_a_workspace_that_is_not_made_yet_says_what_to_do(browser, path: str) -> None:
    assert browser.see(path).status_code == 200
    assert "Nothing is remembered in default yet" in browser.text
    assert browser.see("//w/elsewhere" + path).status_code == 404


def test_a_plan_is_used_once_however_often_it_is_sent(memory: Memory, browser) -> None:
    expired(memory, "Old.")
    memory.remember("New.")
    path = planned(browser)
    form = browser.page
    assert browser.do(path).status_code == 200
    browser.page = form
    assert browser.do(path).status_code == 409
    assert "was applied already" in browser.text
    assert len([each for each in memory.sweep.audit(limit=20) if each.action == "prune"]) == 1


def test_what_was_unticked_on_one_page_of_a_plan_is_spared_on_the_next(memory: Memory, browser, monkeypatch) -> None:
    monkeypatch.setattr("memsweep.web.screens.collect.PER_PAGE", 2)
    ids = expired(memory, "One.", "Two.", "Three.")
    memory.remember("Four.")
    memory.remember("Five.")
    memory.remember("Six.")
    path = planned(browser)
    shown = [each for each in ids if f'value="{each}"' in browser.page.text]
    assert len(shown) == 2
    browser.do(f"{path}/turn", page="2", shown=shown, take=shown[:1])
    assert browser.page.url.params["page"] == "2"
    (last,) = set(ids) - set(shown)
    browser.do(path, shown=last, take=last)
    assert "Moved 2 memories" in browser.text
    assert memory.get(shown[1]).text in ("One.", "Two.", "Three.")


def test_what_is_not_in_a_plan_cannot_be_spared_and_nothing_happens(memory: Memory, browser) -> None:
    (old,) = expired(memory, "Old.")
    memory.remember("New.")
    browser.do(planned(browser), shown="mem_000000000000")
    assert browser.page.status_code == 400
    assert memory.get(old).text == "Old."


@pytest.mark.slow
def test_looking_at_everything_changes_nothing(memory: Memory, browser) -> None:
    """A GET is never destructive: no audit line, no plan, no change of any memory."""
    (own,) = expired(memory, "Old.")
    before = memory.sweep.audit(limit=50), memory.stats()
    for screen in SCREENS:
        for path in (*screen.shows, *screen.acts, *screen.notes):
            browser.see(path.replace("{memory}", own).replace("{item}", own))
    assert (memory.sweep.audit(limit=50), memory.stats()) == before


def test_forgetting_makes_an_ordinary_plan_of_what_was_ticked(memory: Memory, browser) -> None:
    ids = [memory.remember(f"Mallory paid invoice {number}.").memory_id for number in range(3)]
    memory.remember("Ada owns the ledger.")
    pinned = memory.remember("Mallory is on the deny list.", pinned=True).memory_id
    browser.see("/forget?q=mallory+invoice")
    assert browser.page.text.count('name="take"') >= 3
    assert browser.do("/forget").status_code == 400
    browser.see("/forget?q=mallory")
    browser.do("/forget", take=[*ids[:2], pinned])
    assert "Chosen by hand" in browser.text
    assert "2 of 2 memories" in browser.text
    assert "1 protected" in browser.text
    browser.do(browser.page.url.path.removeprefix("/w/default"), shown=ids[:2], take=ids[:2])
    assert memory.get(ids[2])
    assert memory.sweep.trash()[1] == 2


def test_an_edit_of_what_somebody_else_has_changed_is_refused(memory: Memory, browser) -> None:
    own = memory.remember("First.").memory_id
    browser.see(f"/memories/{own}/edit")
    memory.update(own, text="Second.")
    browser.do(f"/memories/{own}/edit", text="Third.", tags="", version="1")
    assert browser.page.status_code == 409
    assert memory.get(own).text == "Second."


def test_an_edit_keeps_every_character_and_says_what_it_left_out(memory: Memory, browser) -> None:
    text = "  Line one \u202eturned\n\n<b>two</b> &amp; 'three'\t"
    own = memory.remember(text, tags=["a", "b c"]).memory_id
    browser.see(f"/memories/{own}/edit")
    assert "\u202eturned" in browser.page.text
    browser.do(f"/memories/{own}/edit", text=text.replace("\n", "\r\n") + " more", tags="a, b c", version="1")
    assert memory.get(own).text == f"{text} more"
    assert memory.get(own).tags == ("a", "b c")
    browser.see(f"/memories/{own}/edit")
    browser.do(f"/memories/{own}/edit", text="ghp_" + "aB3dE5fG7h" * 3 + "iJ1kL2", tags="", version="2")
    assert "A secret was left out" in browser.text
    assert "aB3dE5fG7h" not in browser.page.text


def test_a_memory_is_superseded_pinned_and_deleted(memory: Memory, browser) -> None:
    own = memory.remember("Deploys are on Tuesdays.", source="notes").memory_id
    browser.see(f"/memories/{own}/supersede")
    browser.do(f"/memories/{own}/supersede", text="Deploys are on Fridays.", tags="")
    new = browser.page.url.path.rpartition("/")[2]
    assert [each.memory_id for each in memory.get(own).superseded_by] == [new]
    browser.do(f"/memories/{new}/pin", pinned="yes")
    assert memory.get(new).pinned
    assert browser.do(f"/memories/{new}/delete").status_code == 409
    browser.see(f"/memories/{new}")
    browser.do(f"/memories/{new}/pin", pinned="no")
    browser.do(f"/memories/{new}/delete")
    assert "Moved to the trash" in browser.text
    assert memory.sweep.trash()[0][0].id == new


def test_what_the_page_remembers_is_a_persons(memory: Memory, browser) -> None:
    own = memory.remember("A.").memory_id
    browser.see(f"/memories/{own}/supersede")
    browser.do(f"/memories/{own}/supersede", text="B.", tags="")
    origin = memory.get(browser.page.url.path.rpartition("/")[2]).origin
    assert (origin.door, origin.tier) == ("page", "person")
    assert Origin("page").actor == "page"


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/memories/mem_000000000000", 404),
        ("/memories/%3Cscript%3E", 404),
        ("/plans/plan_000000000000", 404),
        ("/memories?since=yesterday-ish", 400),
        ("/memories?after=nonsense", 400),
        ("/memories?state=dead", 400),
        ("/memories?q=x&state=pinned", 400),
        ("/memories?tier=king", 400),
        ("/nope/%F0%9F%A6%84", 404),
        ("//w/UPPER/", 400),
        ("//w/elsewhere/", 404),
        ("//w/..%2F..%2Fetc/", 404),
    ],
)
def test_a_wrong_address_is_a_page_with_a_sentence(memory: Memory, browser, path: str, status: int) -> None:
    memory.remember("Something.")
    assert browser.see(path).status_code == status
    assert "<h1>" in browser.page.text
    assert "Traceback" not in browser.page.text


def test_a_reader_sees_everything_and_no_button_that_changes_something(memory: Memory, browse) -> None:
    own = memory.remember("Ada owns the ledger.").memory_id
    reader = browse(Grant(read_only=True))
    for path in (*NAVIGATION, f"/memories/{own}", "/collect/found"):
        assert reader.see(path).status_code == 200
    reader.see(f"/memories/{own}")
    assert "Move to trash" not in reader.text
    assert "read-only" in reader.page.text


def test_the_pulse_says_nothing_until_something_changes(memory: Memory, browser) -> None:
    memory.remember("One.")
    browser.see("/")
    at = browser.page.text.partition('data-pulse="/w/default')[2].partition('"')[0]
    assert browser.see(at).status_code == 204
    memory.remember("Two.")
    answer = browser.see(at)
    assert answer.status_code == 200
    assert browser.see(answer.text.removeprefix("/w/default")).status_code == 204


def test_another_workspace_is_one_click_away_and_nothing_mixes(app: App, browser) -> None:
    for name in ("ours", "theirs"):
        app.create_workspace(name)
        app.memory(name).remember(f"Only in {name}.")
    browser.see("//w/ours/memories")
    assert "Only in ours." in browser.text
    assert 'href="/w/theirs/memories"' in browser.page.text
    assert "Only in theirs." not in browser.see("//w/ours/memories?q=only").text


def test_a_memory_without_a_source_chooses_no_filter(memory: Memory, browser) -> None:
    memory.remember("Nobody said where this is from.")
    memory.remember("This is from a note.", source="notes")
    browser.see("/memories")
    assert "All sources" in browser.page.text
    assert " selected" not in browser.page.text
