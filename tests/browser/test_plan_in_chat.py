"""A plan in the chat of a host that does as the specification of MCP Apps says: its sandbox, policy and messages."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client import advertise
from mcp.client.client import Client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID
from playwright.sync_api import expect

from memsweep.app import App
from memsweep.server.app import make_server
from memsweep.server.resources import PLAN_URI

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:;"
    " connect-src 'none'"
)
HOST = Path(__file__).with_name("host.html").read_text("utf-8")


class Host:
    """A chat with one server, and a page that shows what a tool answered."""

    def __init__(self, portal: Any, client: Client, page: Any) -> None:
        self._portal, self._client, self.page = portal, client, page
        self.calls: list[dict[str, Any]] = []
        self.refuses = False
        page.expose_function("callTool", self._from_the_app)
        page.set_content(HOST)

    def call(self, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        result = self._portal.call(self._client.call_tool, name, arguments)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)

    def show(self, result: dict[str, Any]) -> Any:
        document = self._portal.call(self._client.read_resource, PLAN_URI).contents[0].text
        meta = f'<head><meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        self.page.evaluate(
            "([page, result]) => { window.result = result; frame.srcdoc = page }",
            [document.replace("<head>", meta), result],
        )
        return self.page.frame_locator("#frame")

    def _from_the_app(self, params: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(params)
        if self.refuses:
            raise RuntimeError("refused")
        return self.call(params["name"], params["arguments"])


@pytest.fixture
def host(app: App, tab) -> Iterator[tuple[Host, Any]]:
    here = tab()
    with start_blocking_portal() as portal:
        shows_apps = [advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})]
        client = Client(make_server(app, "full"), extensions=shows_apps)
        with portal.wrap_async_context_manager(client):
            yield Host(portal, client, here.page), here


def test_a_person_spares_an_item_applies_the_rest_and_takes_it_back(host) -> None:
    chat, here = host
    frame = chat.show(chat.call("prune_memory", {"workspace_id": here.workspace}))
    expect(frame.locator(".bar")).to_contain_text("3 of 3 memories")
    expect(frame.locator("html")).to_have_attribute("data-theme", "dark")
    spared = frame.locator("input[data-one]").nth(1)
    spared_id = spared.get_attribute("value")
    spared.uncheck()
    expect(frame.locator(".bar")).to_contain_text("2 of 3 memories 1 spared")
    frame.get_by_role("button", name="Move to trash").click()
    expect(frame.locator(".said")).to_contain_text("Moved 2 memories")
    assert chat.calls[0]["arguments"]["exclude"] == [spared_id]
    assert [each.id for each in here.memory.memories(state="stale").memories] == [spared_id]
    assert "ui/update-model-context" in chat.page.evaluate("log")
    frame.get_by_role("button", name="Undo").click()
    expect(frame.locator(".undo")).to_have_count(0)
    assert here.memory.stats().stale_memories == 3


def test_a_host_that_refuses_changes_nothing_and_it_says_so(host) -> None:
    chat, here = host
    chat.refuses = True
    frame = chat.show(chat.call("prune_memory", {"workspace_id": here.workspace}))
    frame.get_by_role("button", name="Move to trash").click()
    expect(frame.locator(".failed")).to_contain_text("the host refused it")
    expect(frame.locator(".bar")).to_be_visible()
    assert here.memory.stats().stale_memories == 3


def test_a_plan_that_was_used_meanwhile_is_told(host) -> None:
    chat, here = host
    result = chat.call("prune_memory", {"workspace_id": here.workspace})
    frame = chat.show(result)
    expect(frame.locator(".bar")).to_be_visible()
    here.memory.sweep.apply(result["structuredContent"]["plan_id"], confirm=True)
    frame.get_by_role("button", name="Move to trash").click()
    expect(frame.locator(".failed")).to_contain_text("applied already")


def test_markup_runs_nothing_in_the_frame(host) -> None:
    chat, here = host
    own = [each.id for each in here.memory.memories(filters={"source": "hostile"}, limit=50).memories]
    plan = here.memory.sweep.plan_chosen(own)
    frame = chat.show(chat.call("prune_memory", {"workspace_id": here.workspace, "plan_id": plan.id}))
    expect(frame.locator(".bar")).to_be_visible()
    strays = "main script, main img, main style, main iframe, main [onload], main [onerror], main [href]"
    assert frame.locator(strays).count() == 0
    injected = '<div data-plan="x"><img src=x onerror="parent.postMessage(1)"><svg onload="window.pwned=1"></svg></div>'
    frame = chat.show({"content": [], "_meta": {"memsweep/html": injected + "<script>window.pwned=2</script>"}})
    expect(frame.locator("[data-plan]")).to_be_attached()
    assert frame.locator("main").evaluate("() => window.pwned") is None
    assert frame.locator(strays).count() == 0
    here.errors.clear()


def test_the_model_s_own_apply_is_told_with_its_way_back(host) -> None:
    chat, here = host
    done = chat.call("prune_memory", {"workspace_id": here.workspace, "dry_run": False, "confirm": True})
    frame = chat.show(done)
    expect(frame.locator(".said")).to_contain_text("Moved 3 memories")
    expect(frame.get_by_role("button", name="Undo")).to_be_visible()
