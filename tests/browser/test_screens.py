"""Every screen, light and dark, wide and narrow: nothing fails, nothing overflows, axe finds nothing."""

import re

import pytest
from playwright.sync_api import expect

from memsweep.web.screens import SCREENS
from tests.browser.conftest import NARROW, ROOT, WIDE

AXE = ROOT / ".browser/node_modules/axe-core/axe.min.js"
KINDS = [(WIDE, "light"), (WIDE, "dark"), (NARROW, "light"), (NARROW, "dark")]


def places(here) -> dict[str, str]:
    """One path for each screen that a person can see, and some states of them."""
    memory = here.memory
    note = memory.memories(limit=1, filters={"source": "slack"}).memories[0].id
    file = memory.memories(limit=1, filters={"kind": "code"}).memories[0].id
    known = {screen.name: screen.path for screen in SCREENS if screen.icon}
    checkout = memory.graph.related("checkout", limit=1).start.id
    return known | {
        "entity": f"/graph/{checkout}",
        "near": f"/graph/{checkout}?depth=1",
        "merge": f"/graph/{checkout}/merge?q=a",
        "split": f"/graph/{checkout}/split",
        "doubts": "/graph/doubts",
        "budget": "/context/checkout-rewrite?budget=600",
        "doctor": "/care/doctor",
        "search": "/memories?q=checkout+incident",
        "nothing": "/memories?q=zzzzqqq",
        "hostile": "/memories?source=hostile",
        "memory": f"/memories/{note}",
        "file": f"/memories/{file}",
        "edit": f"/memories/{note}/edit",
        "plan": f"/plans/{memory.sweep.plan('stale_code').id}",
        "expired": f"/plans/{memory.sweep.plan('expired').id}",
        "forgetting": "/forget?q=postgres",
        "not found": "/nope",
    }


@pytest.mark.parametrize(
    ("size", "theme"), KINDS, ids=lambda value: value if isinstance(value, str) else str(value["width"])
)
def test_every_screen_is_sound(tab, size, theme) -> None:
    here = tab(size, theme)
    axe, found = AXE.read_text("utf-8"), []
    for name, path in places(here).items():
        page = here.go(path)
        page.evaluate(axe)
        result = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        found += [(name, each["id"], each["nodes"][0]["html"][:200]) for each in result["violations"]]
        if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
            found.append((name, "overflows", ""))
    assert found == []
    assert [said for said in here.errors if "404" not in said] == [], "but for the page that is not there"
    here.errors.clear()


def test_an_empty_workspace_says_what_to_do_next(tab, app) -> None:
    app.create_workspace("empty")
    here = tab()
    here.workspace = "empty"
    for screen in SCREENS:
        if screen.icon:
            page = here.go(screen.path)
            assert page.locator("main .empty, main .card, main .clean").count(), screen.name
    page = here.go("/")
    expect(page.locator(".empty")).to_contain_text("Nothing is remembered in empty yet")
    app.delete_workspace("empty", confirm=True)


def test_the_search_follows_what_is_typed(tab) -> None:
    here = tab()
    page = here.go("/memories")
    page.keyboard.press("/")
    page.keyboard.type("deploys of ledger", delay=10)
    expect(page.locator(".count")).to_contain_text("that answer")
    expect(page).to_have_url(re.compile(r"q=deploys\+of\+ledger$"))
    assert page.evaluate("document.activeElement.id") == "q"
    page.locator("h1").click()
    page.keyboard.press("j")
    assert "text" in page.evaluate("document.activeElement.className")
    page.keyboard.press("Enter")
    page.wait_for_url("**/memories/mem_*")


def test_a_memory_is_edited_pinned_and_deleted(tab) -> None:
    here = tab()
    memory_id = here.memory.memories(limit=1, filters={"source": "slack"}).memories[0].id
    page = here.go(f"/memories/{memory_id}")
    page.get_by_role("link", name="Edit").click()
    page.locator("textarea").fill("Deploys are on Fridays now.\nSecond line.")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice")).to_contain_text("Saved")
    assert here.memory.get(memory_id).text == "Deploys are on Fridays now.\nSecond line."
    page.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("button", name="Move to trash")).to_be_disabled()
    page.get_by_role("button", name="Unpin").click()
    page.get_by_role("button", name="Move to trash").click()
    expect(page.locator(".notice")).to_contain_text("Moved to the trash")
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_contain_text("1 memory came back")


def test_what_others_do_shows_up_by_itself(tab) -> None:
    here = tab()
    page = here.go("/")
    before = here.memory.stats().total_memories
    here.memory.remember("Something new that another agent learned.")
    expect(page.locator("#sizes .tile b").first).to_have_text(str(before + 1), timeout=15_000)


def test_colours_are_chosen_and_stay(tab) -> None:
    here = tab(theme="light")
    page = here.go("/trash")
    page.locator(".side").get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    assert page.url.endswith("/trash")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(16, 18, 20)"


def test_the_keys_are_listed(tab) -> None:
    page = tab().go("/")
    page.keyboard.press("?")
    expect(page.locator("dialog")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("dialog")).to_be_hidden()
