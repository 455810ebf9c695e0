"""The review of a plan as an MCP App: a document, a plan in `_meta` for hosts that show it, and text for all others."""

import re
from base64 import b64encode
from datetime import timedelta
from hashlib import sha256
from typing import Any

import anyio
import pytest
from mcp.client import advertise
from mcp.client.client import Client
from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID

from memsweep.app import App, Memory
from memsweep.clock import now
from memsweep.server.app import make_server
from memsweep.server.resources import HTML, PLAN_URI
from tests.support.engines import on_every_engine

HOSTILE = "<img src=x onerror=alert(1)>\u202e\"'"
SHOWS_APPS = [advertise(EXTENSION_ID, {"mimeTypes": [APP_MIME_TYPE]})]
ONLY_OTHERS = [advertise(EXTENSION_ID, {"mimeTypes": ["text/uri-list"]})]


def expired(memory: Memory, *texts: str) -> list[str]:
    memory.remember("This one stays, and so does the next.")
    memory.remember("The next.")
    return [memory.remember(text, expires_at=now() - timedelta(days=1)).memory_id for text in texts]


def asked(app: App, call: Any, **options: Any) -> Any:
    """What a client of this kind gets."""

    async def run() -> Any:
        async with Client(make_server(app, "full"), **options) as client:
            return await call(client)

    return anyio.run(run)


def pruning(**arguments: Any) -> Any:
    async def call(client: Client) -> Any:
        return await client.call_tool("prune_memory", {"strategy": "expired", **arguments})

    return call


@on_every_engine
@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_host_that_shows_apps_gets_the_plan_to_look_at(app: App, memory: Memory, mode: str) -> None:
    first, second = expired(memory, f"Ada {HOSTILE}", "Old.")
    result = asked(app, pruning(), extensions=SHOWS_APPS, mode=mode)
    html = result.meta[HTML]
    assert f'data-plan="{result.structured_content["plan_id"]}" data-workspace="default"' in html
    assert all(f'name="take" value="{each}"' in html for each in (first, second))
    assert "<img" not in html
    assert "\u202e" not in html
    assert HTML not in result.content[0].text
    done = asked(
        app, pruning(plan_id=result.structured_content["plan_id"], dry_run=False, confirm=True, exclude=[first])
    )
    assert done.structured_content["deleted_memories"] == 1
    assert memory.get(first)


@pytest.mark.parametrize("extensions", [None, ONLY_OTHERS], ids=["none", "others"])
def test_everybody_else_gets_text_alone(app: App, memory: Memory, extensions: Any) -> None:
    expired(memory, "Old.")
    result = asked(app, pruning(), extensions=extensions)
    assert HTML not in (result.meta or {})
    assert result.structured_content["nodes_to_delete"] == 1


def test_what_was_applied_or_failed_is_told_in_words(app: App, memory: Memory) -> None:
    expired(memory, "Old.")
    applied = asked(app, pruning(dry_run=False, confirm=True), extensions=SHOWS_APPS)
    assert HTML not in (applied.meta or {})
    assert "in the trash" in applied.structured_content["message"]
    failed = asked(app, pruning(plan_id="plan_000000000000"), extensions=SHOWS_APPS)
    assert failed.is_error
    nothing = asked(app, pruning(), extensions=SHOWS_APPS)
    assert "Nothing to take" in nothing.meta[HTML]


def test_a_long_plan_has_pages(app: App, memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memsweep.web.plan_view.IN_CHAT", 2)
    ids = set(expired(memory, "One.", "Two.", "Three."))
    first = asked(app, pruning(), extensions=SHOWS_APPS)
    plan_id, html = first.structured_content["plan_id"], first.meta[HTML]
    cursor = re.search(r'data-after="([^"]+)"', html).group(1)
    second = asked(app, pruning(plan_id=plan_id, cursor=cursor), extensions=SHOWS_APPS).meta[HTML]
    seen = [re.findall(r'name="take" value="(mem_\w+)"', page) for page in (html, second)]
    assert [len(page) for page in seen] == [2, 1]
    assert {each for page in seen for each in page} == ids
    assert 'data-after=""' in second
    back = re.search(r'data-before="([^"]+)"', second).group(1)
    assert asked(app, pruning(plan_id=plan_id, cursor=back), extensions=SHOWS_APPS).meta[HTML].count('name="take"') == 2


def test_the_document_allows_itself_and_nothing_else(app: App) -> None:
    async def call(client: Client) -> Any:
        return (await client.read_resource(PLAN_URI)).contents[0], (await client.list_tools()).tools

    document, tools = asked(app, call)
    assert document.mime_type == APP_MIME_TYPE
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', document.text).group(1)
    for kind in ("style", "script"):
        (inlined,) = re.findall(rf"<{kind}>(.*?)</{kind}>", document.text, re.DOTALL)
        digest = b64encode(sha256(inlined.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert not re.search(r"https?://|\ssrc=|<link", document.text)
    shown = {tool.name: (tool.meta or {}).get("ui", {}) for tool in tools}
    assert [name for name, ui in shown.items() if "resourceUri" in ui] == ["prune_memory"]
    destructive = {tool.name for tool in tools if tool.annotations.destructive_hint}
    assert {name for name, ui in shown.items() if ui.get("visibility") == ["model"]} == destructive - {"prune_memory"}
    assert {"purge_trash", "delete_memory", "clear_all"} <= destructive
