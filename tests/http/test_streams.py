"""Which answers may become streams."""

import pytest

from memsweep.server.http.door import is_quick_call

NEWER = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "add_memory"}


@pytest.mark.parametrize(
    ("changed", "is_quick"),
    [
        ({}, True),
        ({"mcp-name": " add_memory "}, True),
        ({"mcp-name": "index_codebase"}, False),
        ({"mcp-name": ""}, False),
        ({"mcp-name": "\xff"}, False),
        ({"mcp-method": "tools/list"}, False),
        ({"mcp-method": "subscriptions/listen"}, False),
        ({"mcp-protocol-version": "2025-11-25"}, False),
        ({"mcp-protocol-version": ""}, False),
    ],
)
def test_only_a_named_tool_of_the_newer_protocol_is_answered_at_once(changed: dict[str, str], is_quick: bool) -> None:
    headers = [(name.encode(), value.encode("latin-1")) for name, value in (NEWER | changed).items()]
    assert is_quick_call(headers, {"add_memory"}) == is_quick
