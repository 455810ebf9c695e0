"""Plan, look, spare, apply, undo: by mouse, by keyboard, in two tabs, and with a server that was started anew."""

from playwright.sync_api import expect

from tests.browser.conftest import NARROW, serving


def review(tab, strategy: str = "stale_code"):
    """A plan of a strategy, by mouse."""
    page = tab.go("/collect")
    page.locator(f"form:has(input[value={strategy}]) button").click()
    page.wait_for_url("**/plans/*")
    return page


def test_a_collection_by_mouse_and_its_undo(tab) -> None:
    here = tab()
    page = review(here)
    expect(page.locator(".bar b")).to_have_text("3")
    page.get_by_role("button", name="Move to trash").click()
    expect(page.locator(".notice")).to_contain_text("Moved 3 memories")
    assert here.memory.stats().stale_memories == 0
    page.locator(".notice").get_by_role("button", name="Undo").click()
    expect(page.locator(".notice")).to_contain_text("came back")
    assert here.memory.stats().stale_memories == 3


def test_a_collection_by_keyboard_spares_what_was_unticked(tab) -> None:
    here = tab()
    page = here.go("/")
    page.keyboard.press("g")
    page.keyboard.press("c")
    page.wait_for_url("**/collect")
    button = page.locator("form:has(input[value=stale_code]) button")
    button.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/plans/*")
    page.keyboard.press("j")
    page.keyboard.press("j")
    spared = page.evaluate("document.activeElement.closest('li').querySelector('.name').textContent")
    page.keyboard.press("Space")
    expect(page.locator(".bar")).to_contain_text("2 of 3 memories 1 spared")
    assert page.evaluate("[...document.querySelectorAll('[data-all]')].filter((box) => box.indeterminate).length") <= 1
    page.locator("[data-final]").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".notice")).to_contain_text("Moved 2 memories")
    left = [each.path for each in here.memory.memories(state="stale").memories]
    assert [path.endswith(spared) for path in left] == [True]


def test_a_box_ticks_its_whole_group_and_nothing_can_be_moved_without_a_tick(tab) -> None:
    page = review(tab())
    for box in page.locator("[data-all]").all():
        box.uncheck()
    expect(page.locator(".bar")).to_contain_text("0 of 3 memories 3 spared")
    expect(page.locator("[data-final]")).to_be_disabled()
    page.locator("[data-all]").first.check()
    expect(page.locator("[data-final]")).to_be_enabled()


def test_two_tabs_of_one_plan_use_it_once(tab) -> None:
    first, second = tab(), tab()
    page = review(first)
    other = second.page
    other.goto(page.url)
    page.get_by_role("button", name="Move to trash").click()
    expect(page.locator(".notice")).to_contain_text("Moved 3 memories")
    other.get_by_role("button", name="Move to trash").click()
    expect(other.locator("main")).to_contain_text("was applied already")
    assert second.memory.stats().stale_memories == 0
    second.errors.clear()  # the browser notes the answer 409


def test_a_double_click_moves_once(tab) -> None:
    here = tab()
    page = review(here)
    page.get_by_role("button", name="Move to trash").dblclick()
    expect(page.locator(".notice")).to_contain_text("Moved 3 memories")
    assert len([each for each in here.memory.sweep.audit(limit=20) if each.action == "prune"]) == 1


def test_it_all_works_without_a_script(tab) -> None:
    here = tab(java_script_enabled=False)
    page = here.go("/collect/found")
    page.locator("form:has(input[value=stale_code]) button").click()
    page.locator("input[data-one]").first.uncheck()
    page.get_by_role("button", name="Move to trash").click()
    expect(page.locator(".notice")).to_contain_text("Moved 2 memories")


def test_it_all_works_on_a_phone(tab) -> None:
    here = tab(NARROW, is_mobile=True, has_touch=True)
    page = here.go("/")
    page.locator(".tabs").get_by_text("Collect").tap()
    page.wait_for_url("**/collect")
    page.locator("form:has(input[value=stale_code]) button").tap()
    page.wait_for_url("**/plans/*")
    page.get_by_role("button", name="Move to trash").tap()
    expect(page.locator(".notice")).to_contain_text("Moved 3 memories")
    page.locator(".tabs summary").tap()
    page.locator(".sheet").get_by_text("Trash").tap()
    page.wait_for_url("**/trash")


def test_a_server_that_was_started_anew_asks_for_its_new_link(app, tab, chromium) -> None:
    here = tab()
    context = chromium.new_context()
    page = context.new_page()
    with serving(app) as (address, link):
        port = int(address.rpartition(":")[2])
        page.goto(link)
        page.wait_for_url(f"{address}/w/**")
        page.goto(f"{address}/w/{here.workspace}/collect")
        page.locator("form:has(input[value=stale_code]) button").click()
        page.wait_for_url("**/plans/*")
        plan = page.url
    with serving(app, port) as (address, link):
        page.get_by_role("button", name="Move to trash").click()
        expect(page.locator("h1")).to_have_text("Open the page")
        assert here.memory.stats().stale_memories == 3
        page.goto(link)
        page.wait_for_url(f"{address}/w/**")
        page.goto(plan)
        page.get_by_role("button", name="Move to trash").click()
        expect(page.locator(".notice")).to_contain_text("Moved 3 memories")
    context.close()


def test_the_trash_gives_back_one_or_all_and_is_purged_with_a_tick(tab) -> None:
    here = tab()
    page = review(here)
    page.get_by_role("button", name="Move to trash").click()
    page = here.go("/trash")
    page.locator(".heap").first.locator("li button").first.click()
    expect(page.locator(".notice")).to_contain_text("came back")
    page.locator(".heap").first.get_by_role("button", name="Restore all").click()
    expect(page.locator(".notice")).to_contain_text("came back")
    assert here.memory.stats().stale_memories == 3
    page = here.go("/trash/purge?days=0")
    button = page.get_by_role("button", name="Purge")
    button.click()
    assert page.url.endswith("/trash/purge?days=0"), "the tick is required"
    page.get_by_label("I understand").check()
    button.click()
    expect(page.locator(".notice")).to_contain_text("for good")
    assert here.memory.sweep.trash()[1] == 0


def test_the_history_undoes_and_compares_two_plans(tab) -> None:
    here = tab()
    here.memory.sweep.plan("stale_code")
    review(here).get_by_role("button", name="Move to trash").click()
    page = here.go("/history")
    page.get_by_role("link", name="what changed since the one before").first.click()
    expect(page.locator("h1")).to_have_text("Stale code, then and now")
    page = here.go("/history")
    page.locator(".time form button").first.click()
    expect(page.locator(".notice")).to_contain_text("came back")
    page.get_by_label("Action").select_option("undo")
    expect(page.locator(".time li")).to_have_count(1)


def test_forgetting_by_description(tab) -> None:
    here = tab()
    page = here.go("/forget")
    page.locator("#q").fill("postgres upgrade note")
    expect(page.locator(".count")).to_contain_text("resemble it")
    boxes = page.locator("input[data-one]:enabled")
    boxes.nth(0).check()
    boxes.nth(1).check()
    expect(page.locator(".bar b")).to_have_text("2")
    page.get_by_role("button", name="Review").click()
    page.wait_for_url("**/plans/*")
    expect(page.locator("h1")).to_have_text("Chosen by hand")
    page.get_by_role("button", name="Move to trash").click()
    expect(page.locator(".notice")).to_contain_text("Moved 2 memories")
