"""The graph, context windows and care in a real browser."""

from playwright.sync_api import expect

from tests.browser.conftest import NARROW


def test_two_names_are_merged_by_mouse_and_taken_apart(tab) -> None:
    here = tab()
    here.memory.graph.relate("ledger-service", "RUNS_IN", "Oregon", from_type="Service")
    kept = here.memory.graph.related("ledger", limit=1).start.id
    page = here.go("/graph")
    page.keyboard.press("/")
    page.keyboard.type("ledger", delay=5)
    expect(page.locator(".count")).to_contain_text("with that in it")
    page.locator(f'.rows a[href$="{kept}"]').click()
    expect(page.locator("h1")).to_have_text("ledger")
    page.get_by_role("link", name="Merge…").click()
    expect(page.locator("[data-final]")).to_be_disabled()
    page.locator("li", has_text="ledger-service").get_by_role("checkbox").check()
    expect(page.locator(".bar")).to_contain_text("1 of")
    page.get_by_role("button", name="Review").click()
    expect(page.locator("h1")).to_contain_text("takes in 1 name")
    page.get_by_role("button", name="Merge").click()
    expect(page.locator(".notice")).to_contain_text("Merged ledger-service into ledger")
    assert here.memory.graph.related("ledger-service", limit=1).start.id == kept
    page.get_by_role("button", name="Take apart").click()
    expect(page.locator("h1")).to_have_text("History")
    assert here.memory.graph.related("ledger-service", limit=1).start.id != kept


def test_a_neighbour_is_one_click_away_also_by_keyboard(tab) -> None:
    here = tab()
    page = here.go(f"/graph/{here.memory.graph.related('checkout', limit=1).start.id}?depth=1")
    names = page.locator(".net a:not(.start)")
    assert 1 <= names.count() <= 35
    wanted = names.first.locator("tspan").first.text_content()
    names.first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_contain_text(wanted.rstrip("…"))


def test_doubts_come_when_somebody_asks(tab) -> None:
    page = tab().go("/graph")
    page.get_by_role("link", name="Look for doubts").click()
    expect(page.locator("#doubts .lines li").first).to_be_visible()
    assert page.url.endswith("/graph")


def test_the_slider_shows_at_once_what_would_go(tab) -> None:
    here = tab()
    page = here.go("/context/checkout-rewrite")
    expect(page.locator(".sum")).to_contain_text("it fits")
    slider = page.locator("#budget")
    slider.focus()
    slider.press("Home")
    expect(page.locator("output")).to_have_text("0 tokens")
    expect(page.locator(".sum")).to_contain_text("segments would go")
    assert page.locator(".strip .going").count() > 5
    assert "budget=0" in page.url
    assert page.evaluate("document.activeElement.id") == "budget"
    slider.press("End")
    expect(page.locator(".sum")).to_contain_text("it fits")
    expect(page.locator(".strip .going")).to_have_count(0)


def test_a_segment_is_spared_the_rest_is_stashed_found_and_restored(tab) -> None:
    here = tab()
    window = here.memory.context("checkout-rewrite")
    before = len(window.strip().segments)
    page = here.go("/context/checkout-rewrite?budget=900")
    spared = page.locator("#going input[data-one]").first
    spared_id = spared.get_attribute("value")
    spared.press("Enter")
    assert len(window.strip().segments) == before, "Enter on a tick does nothing"
    spared.uncheck()
    expect(page.locator(".bar")).to_contain_text("1 spared")
    page.get_by_role("button", name="Move to the stash").click()
    expect(page.locator(".notice")).to_contain_text("Stashed")
    left = {each.segment_id for each in window.strip().segments}
    assert spared_id in left
    assert len(left) < before
    page.locator("#q").fill("incident")
    page.locator("#stash button").first.click()
    expect(page.locator(".notice")).to_contain_text("1 segment back in place")
    assert len(window.strip().segments) == len(left) + 1


def test_a_budget_can_be_chosen_without_a_script(tab) -> None:
    here = tab(java_script_enabled=False)
    page = here.go("/context/checkout-rewrite")
    page.locator("#budget").fill("600")
    page.get_by_role("button", name="Show").click()
    expect(page.locator(".sum")).to_contain_text("segments would go")
    page.get_by_role("button", name="Move to the stash").click()
    expect(page.locator(".notice")).to_contain_text("Stashed")


def test_a_phone_has_all_of_it(tab) -> None:
    here = tab(NARROW, is_mobile=True, has_touch=True)
    page = here.go("/")
    for name in ("Graph", "Context", "Code", "Care"):
        page.locator(".tabs summary").tap()
        page.locator(".sheet").get_by_text(name, exact=True).tap()
        page.wait_for_url(f"**/{name.lower()}")


def test_the_doctor_examines_in_place(tab) -> None:
    page = tab().go("/care")
    page.get_by_role("link", name="Examine").click()
    expect(page.locator("#doctor")).to_contain_text("Healthy")
    assert page.url.endswith("/care")
