"""The part of the tour about the context window: a session is analysed, swept and brought back."""

from __future__ import annotations

import json
from typing import Any

from mcp import Client

PROJECT = "checkout-bug"


def _segments() -> list[dict[str, Any]]:
    """A debugging session as an agent would record it: rules, questions, reads, logs, a decision."""
    test_run = "\n".join(f"tests/test_checkout.py::test_total[{n}] PASSED [{n:3}%]" for n in range(60))
    listing = "\n".join(f"{n:4} line of cart.py that nobody needs any more" for n in range(80))
    return [
        {"segment_id": "rules", "role": "system", "text": "Never write to the production database."},
        {"segment_id": "ask", "role": "user", "task_id": "CHK-42", "text": "Totals over $1,000 are off by a cent."},
        {"segment_id": "read-1", "role": "tool", "type": "code", "file_path": "cart.py", "text": listing},
        {"segment_id": "run-1", "role": "tool", "type": "log", "text": test_run},
        {"segment_id": "chat", "role": "assistant", "text": "Let me think about this for a moment. " * 12},
        {"segment_id": "read-2", "role": "tool", "type": "code", "file_path": "cart.py", "text": listing},
        {"segment_id": "money", "type": "code", "file_path": "money.py", "text": "def cents(x): return int(x * 100)"},
        {
            "segment_id": "why",
            "type": "decision",
            "references": ["money"],
            "text": "int(x * 100) truncates: 1131.41 becomes 113140. Use Decimal and round half even, in money.py.",
        },
        {"segment_id": "run-2", "role": "tool", "type": "log", "text": test_run},
    ]


async def sweep_the_window(client: Client) -> None:
    print("\nThe context window: see what would go and why, stash it, bring it back in one call.", flush=True)
    where = {"project_id": PROJECT, "workspace_id": "work"}
    await _call(client, "context_add", **where, segments=_segments())
    await _call(client, "context_gc_configure", **where, last_n=1)
    seen = await _call(client, "context_gc_analyze", **where, budget=400, task_id="CHK-42", max_candidates=5)
    types = ", ".join(f"{kind} {tokens:,}" for kind, tokens in seen["usage"]["by_type"].items())
    _say(f"{seen['usage']['current']:,} tokens by {seen['counted_by']}: {types}")
    for each in seen["candidates"]:
        verb = "would go" if each["planned"] else "would stay"
        score = f"{each['tokens']:5} tokens  keep {each['keep_score']:.2f}"
        _say(f"{each['segment_id']:7} {score}  {verb}: {each['reasons'][0]}")
    done = await _call(client, "context_gc_prune", **where, plan_id=seen["plan_id"])
    _say(f"{done['message']} {done['tokens_before']:,} → {done['tokens_after']:,} tokens")
    refused = (await _call(client, "context_gc_prune", **where, segment_ids=["rules", "ask"]))["refused"]
    _say("; ".join(f"{each['segment_id']} stays: {each['reason']}" for each in refused))
    back = await _call(client, "context_restore", **where, query="test_total 41 passed", budget=2500)
    _say(f"{back['message']} {', '.join(each['segment_id'] for each in back['restored'])}, word for word")


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    shown = ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in arguments.items())
    print(f"  > {tool}({shown if len(shown) <= 96 else shown[:93] + '...'})", flush=True)
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise SystemExit(result.content[0].text)  # type: ignore[union-attr]
    return dict(result.structured_content or {})


def _say(text: str) -> None:
    print(f"    {text}", flush=True)
