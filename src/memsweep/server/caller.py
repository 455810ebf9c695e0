"""Identify the caller from the connection, whatever the arguments say."""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver.context import Context

from memsweep.model.origin import Origin
from memsweep.model.token import Token

TOKEN = "memsweep.token"
"""Where the HTTP door leaves the token of a request, in its scope."""
_SESSION_LETTERS = 12


def token_of(request: Any) -> Token | None:
    """The token that an HTTP request came with; None over standard input and output."""
    found = getattr(request, "scope", {}).get(TOKEN)
    return found if isinstance(found, Token) else None


def caller_of(context: Context[Any, Any], tool: str, own_session: str) -> Origin:
    """`own_session`: of a connection that has no id, which is the only one of its server.

    Over HTTP a session is named by the token first: that is what we know, and the rest is what the client says.
    """
    asked = context.request_context
    client = asked.session.client_params
    name, version = (client.client_info.name, client.client_info.version) if client is not None else ("", "")
    token = token_of(asked.request)
    if token is None:
        return Origin("mcp", name, version or "", own_session, tool, "agent")
    session = (context.headers or {}).get("mcp-session-id", "")[:_SESSION_LETTERS]
    return Origin("http", name, version or "", f"{token.name}/{session}".rstrip("/"), tool, "agent")
