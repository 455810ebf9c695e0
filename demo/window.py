"""The part of the tour about the context window: a session that took place is analysed, swept and brought back."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from mcp import Client

from session import record

PROJECT = "checkout-bug"


async def sweep_the_window(client: Client, home: Path) -> None:
    print("\nThe context window: see what would go and why, stash it, bring it back in one call.", flush=True)
    (home / "bug").mkdir()
    _import(home, record(home / "bug"))
    where = {"project_id": PROJECT, "workspace_id": "work"}
    await _call(client, "context_gc_configure", **where, last_n=2)
    await _call(client, "context_gc_pin", **where, segment_ids=["line-1"])
    seen = await _call(client, "context_gc_analyze", **where, budget=500, max_candidates=6)
    types = ", ".join(f"{kind} {tokens:,}" for kind, tokens in seen["usage"]["by_type"].items())
    _say(f"{seen['usage']['current']:,} tokens by {seen['counted_by']}: {types}")
    for each in seen["candidates"]:
        verb = "would go" if each["planned"] else "would stay"
        score = f"{each['tokens']:4} tokens  keep {each['keep_score']:.2f}"
        _say(f"{each['segment_id']:7} {score}  {verb}: {each['reasons'][0]}")
    done = await _call(client, "context_gc_prune", **where, plan_id=seen["plan_id"])
    _say(f"{done['message']} {done['tokens_before']:,} → {done['tokens_after']:,} tokens")
    refused = (await _call(client, "context_gc_prune", **where, segment_ids=["line-1"]))["refused"]
    _say("; ".join(f"{each['segment_id']} stays: {each['reason']}" for each in refused))
    back = await _call(client, "context_restore", **where, query="free shipping in the cart", budget=200)
    _say(f"{back['message']} {', '.join(each['segment_id'] for each in back['restored'])}, word for word")


def _import(home: Path, session: Path) -> None:
    """What a person would type after a session."""
    command = ["context", "import", str(session), "--project", PROJECT, "--workspace", "work"]
    print(f"  $ memsweep context import {session.name} --project {PROJECT} --workspace work", flush=True)
    settings = {**os.environ, "MEMSWEEP_HOME": str(home / "data")}
    ran = subprocess.run(
        [sys.executable, "-m", "memsweep", *command], env=settings, capture_output=True, text=True, check=True
    )
    _say(ran.stdout.strip())


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    shown = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    print(f"  > {tool}({shown if len(shown) <= 96 else shown[:93] + '...'})", flush=True)
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise SystemExit(result.content[0].text)  # type: ignore[union-attr]
    return dict(result.structured_content or {})


def _say(text: str) -> None:
    print(f"    {text}", flush=True)
