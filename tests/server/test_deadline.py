"""What is looked at for a question, and what a resource shows, has the time of a call like the call itself."""

from typing import Any

import anyio
import pytest
from mcp import Client
from mcp_types import ElicitResult

from memsweep import deadline
from memsweep.app import App
from memsweep.server.app import make_server

USED_UP = "used up its processor time"


def test_a_question_and_a_resource_have_no_more_time_than_a_call(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    note = app.memory().remember("The harbour opens at dawn.").memory_id
    monkeypatch.setattr(deadline, "CALL_SECONDS", 0.0)
    asked: list[Any] = []

    async def ask(_: Any, params: Any) -> ElicitResult:
        asked.append(params)
        return ElicitResult(action="decline")

    async def use() -> tuple[str, str]:
        async with Client(make_server(app, "full"), elicitation_callback=ask) as client:
            shown = await client.read_resource("memsweep://default/stats")
            called = await client.call_tool("delete_memory", {"memory_id": note, "confirm": True})
        return str(shown.contents), str(called.content)

    assert [USED_UP in said for said in anyio.run(use)] == [True, True]
    assert asked == []
