"""A tour of a few seconds on throw-away data, through the real server, as a real client would use it."""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from facts import state_and_doubt
from window import sweep_the_window

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


async def index_and_sweep(client: Client, repo: Path) -> None:
    say("\nIndex code: exact, and cheap to refresh.")
    (repo / "billing.py").write_text("class Invoice:\n    def total(self):\n        return sum(self.lines)\n")
    (repo / "mailer.py").write_text("def send_receipt(address):\n    return deliver(address)\n")
    (repo / "old_tax.py").write_text("def flat_tax(amount):\n    return amount * 0.19\n")
    code = {"repo_path": str(repo), "workspace_id": "work"}
    shown(await call(client, "index_codebase", **code))
    say("  … edit billing.py, move mailer.py, delete old_tax.py")
    with (repo / "billing.py").open("a") as file:
        file.write("\n\ndef vat(amount):\n    return amount * 0.2\n")
    (repo / "mail").mkdir()
    (repo / "mailer.py").rename(repo / "mail" / "mailer.py")
    (repo / "old_tax.py").unlink()
    shown(await call(client, "index_codebase", **code))
    hit = (await call(client, "search_memory", query="value added tax", limit=1, workspace_id="work"))["results"][0]
    say(f"    {hit['path']}:{hit['lines'][0]}-{hit['lines'][1]} {hit['symbol']}, verified {hit['verified_at'][:19]}")

    say("\nSweep: plan → look → apply → undo.")
    plan = await call(client, "prune_memory", strategy="stale_code", workspace_id="work")
    for item in plan["preview"]:
        say(f"    would remove {item['type'].lower()} {item['relative_path'] or item['name']}: {item['why']}")
    refused = await call(client, "prune_memory", dry_run=False, plan_id=plan["plan_id"], workspace_id="work")
    say(f"    {refused['error']}")
    done = await call(client, "prune_memory", dry_run=False, confirm=True, plan_id=plan["plan_id"], workspace_id="work")
    say(f"    {done['message']}")
    back = await call(client, "undo_prune", receipt_id=done["receipt_id"], workspace_id="work")
    say(f"    {back['message']}")


def shown(answer: dict[str, Any]) -> None:
    counts = ("indexed", "unchanged", "moved", "removed")
    files = ", ".join(f"{answer[f'files_{what}']} {what}" for what in counts)
    say(f"    {files}; {answer['chunks_embedded']} chunks embedded, {answer['stale_memories']} stale")


async def tour(home: Path) -> None:
    started = time.perf_counter()
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "memsweep", "serve", "--profile", "full"],
        env={"MEMSWEEP_HOME": str(home / "data")},
    )
    async with Client(stdio_client(server)) as client:
        tools = (await client.list_tools()).tools
        say(f"A memsweep server over stdio: {len(tools)} tools, ready in {time.perf_counter() - started:.1f} s.")
        await remember_and_recall(client)
        await keep_apart(client)
        (home / "shop").mkdir()
        await index_and_sweep(client, home / "shop")
        await state_and_doubt(client)
        await sweep_the_window(client, home)
        stats = await call(client, "get_stats", workspace_id="work")
        say(f"    {stats['total_memories']} memories, {stats['total_chunks']} chunks, engine {stats['engine']}")
    say(f"\nDone in {time.perf_counter() - started:.1f} s; the data of this tour is gone with its folder.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="memsweep-tour-") as folder:
        asyncio.run(tour(Path(folder)))
