"""The same page with a FalkorDB server behind it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from memsweep.app import make_app
from memsweep.settings import load_settings
from tests.browser.conftest import serving
from tests.support import falkor
from tests.support.engines import Home


@pytest.mark.skipif(not falkor.can_run(), reason="FalkorDB does not run on this Python")
def test_a_collection_on_falkordb(tmp_path: Path, chromium) -> None:
    home = Home("falkor", tmp_path / "home")
    app = make_app(load_settings(home.variables))
    memory = app.memory("default")
    for text in ("Ada owns the ledger.", "Deploys are on Tuesdays.", "The pager is blue."):
        memory.remember(text)
    gone = memory.remember("The pager was red.", expires_at="2020-01-01").memory_id
    context = chromium.new_context()
    page = context.new_page()
    with serving(app) as (address, link):
        page.goto(link)
        page.wait_for_url(f"{address}/w/default/")
        page.goto(f"{address}/w/default/memories?q=who+owns+the+ledger")
        expect(page.locator(".row").first).to_contain_text("Ada owns the ledger.")
        page.goto(f"{address}/w/default/collect")
        page.locator("form:has(input[value=expired]) button").click()
        page.get_by_role("button", name="Move to trash").click()
        expect(page.locator(".notice")).to_contain_text("Moved 1 memory")
        page.locator(".notice").get_by_role("button", name="Undo").click()
        expect(page.locator(".notice")).to_contain_text("1 memory came back")
    assert memory.get(gone).text == "The pager was red."
    context.close()
    app.close()
    home.close()
