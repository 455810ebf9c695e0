"""A tour of a few seconds on throw-away data, through the real server, as a real client would use it."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

NOTES = (
    "Deploys go out on Tuesdays after the smoke test; Priya signs them off.",
    "The payments service talks to Postgres through PgBouncer, never directly.",
    "Users in Japan reported garbled receipts: 領収書の文字化け, fixed by sending UTF-8.",
    "We decided against Redis for sessions because of the failover gap in March.",
)


def say(text: str = "") -> None:
    print(text, flush=True)


async def call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    shown = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    say(f"  > {tool}({shown if len(shown) <= 96 else shown[:93] + '...'})")
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        return {"error": result.content[0].text}  # type: ignore[union-attr]
    return dict(result.structured_content or {})


async def remember_and_recall(client: Client) -> None:
    say("\nRemember: text becomes chunks, vectors and names, in one transaction.")
    for note in NOTES:
        await call(client, "add_memory", text=note, tags=["team"], workspace_id="work")
    again = await call(client, "add_memory", text=NOTES[0], tags=["deploy"], workspace_id="work")
    say(f"    the same text again is no twin: duplicate_of {again['duplicate_of']}")

    say("\nRecall: by words and by meaning; every hit says why.")
    for query in ("why don't we use redis", "on which day do we deploy", "文字化け"):
        found = await call(client, "search_memory", query=query, limit=1, workspace_id="work")
        hit = found["results"][0]
        say(f"    {hit['text'][:72]}  ({hit['why']})")


async def keep_apart(client: Client) -> None:
    say("\nWorkspaces are isolated: an id of one is not found in another.")
    secret = await call(client, "add_memory", text="My locker code is 4711.", workspace_id="private")
    leaked = await call(client, "get_memory", memory_id=secret["memory_id"], workspace_id="work")
    say(f"    {leaked['error']}")
    unknown = await call(client, "search_memory", query="locker", workspace_id="nowhere")
    say(f"    {unknown['error']}")


async def tour(home: str) -> None:
    started = time.perf_counter()
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "memsweep", "serve"], env={"MEMSWEEP_HOME": home}
    )
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        say(f"A memsweep server over stdio: {len(tools)} tools, ready in {time.perf_counter() - started:.1f} s.")
        await remember_and_recall(client)
        await keep_apart(client)
        stats = await call(client, "get_stats", workspace_id="work")
        say(f"    {stats['total_memories']} memories, {stats['total_chunks']} chunks, engine {stats['engine']}")
    say(f"\nDone in {time.perf_counter() - started:.1f} s; the data of this tour is gone with its folder.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="memsweep-tour-") as folder:
        asyncio.run(tour(folder))
