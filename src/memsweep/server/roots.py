"""The project of a client that says which folders it works in, and does not start its servers there."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

from mcp.shared.exceptions import MCPError
from mcp_types import ListRootsRequest, ListRootsResult
from pydantic import ValidationError

from memsweep.app import App

_SECONDS = 3.0
_CHANGED = "notifications/roots/list_changed"


def find_project(app: App) -> Any:
    """Before its first call a client is asked for its roots, once; who cannot say is where the server was started."""
    asking = asyncio.Lock()
    asked = False

    async def middleware(context: Any, call_next: Any) -> Any:
        nonlocal asked
        if context.method == _CHANGED:
            asked = False
        if context.method in ("tools/call", "resources/read") and not asked and not app.resolver.is_given:
            async with asking:
                if not asked:
                    for folder in await _folders(context.session):
                        app.resolver.use(folder)
                        break
                asked = True
        return await call_next(context)

    return middleware


async def _folders(session: Any) -> list[str]:
    known = session.client_capabilities
    if known is None or known.roots is None or not session.can_send_request:
        return []
    try:
        async with asyncio.timeout(_SECONDS):
            answer: ListRootsResult = await session.send_request(ListRootsRequest(), ListRootsResult)
    except (MCPError, TimeoutError, ValidationError):
        return []
    return [folder for root in answer.roots if (folder := folder_of(str(root.uri)))]


def folder_of(uri: str) -> str:
    """A folder on this machine, or nothing."""
    parts = urlsplit(uri)
    if parts.scheme != "file" or parts.netloc not in ("", "localhost"):
        return ""
    return url2pathname(parts.path)
