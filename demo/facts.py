"""The part of the tour about the knowledge graph: facts are read, replaced, doubted and carried away."""

from __future__ import annotations

import json
from typing import Any

from mcp import Client

TEXT = """\
Priya (Person) -[OWNS]-> checkout (Project)
In March the team moved, and now checkout depends on Postgres and PgBouncer.
Last week Priya met Kenji about Postgres."""


async def state_and_doubt(client: Client) -> None:
    print("\nThe knowledge graph: facts that strengthen, fade, and can be doubted.", flush=True)
    where = {"workspace_id": "facts"}
    built = await _call(client, "build_graph", **where, text=TEXT)
    for fact in built["relations"]:
        print(f"    {fact['from']} {fact['relation']} {fact['to']}", flush=True)
    await _call(client, "graph_relate", **where, from_entity="Kenji", relation="LIVES_IN", to_entity="Osaka")
    move = {"from_entity": "Kenji", "relation": "LIVES_IN", "to_entity": "Kyoto"}
    moved = await _call(client, "graph_relate", **where, **move, replaces=True)
    print(f"    closed, not deleted: {moved['superseded'][0]}", flush=True)
    await _call(client, "graph_relate", **where, **{**move, "to_entity": "Tokyo"}, weight=0.4)
    told = await _call(client, "graph_context", **where, limit=2)
    print(f"    {told['summary']} {told['contradictory'][0]['why']}", flush=True)
    near = await _call(client, "graph_query", **where, entities=["Priya"], hops=2)
    print(f"    within two steps of Priya: {', '.join(each['name'] for each in near['related'])}", flush=True)
    saved = await _call(client, "export_graph", **where, format="graphml")
    print(f"    {saved['entities']} entities and {saved['relations']} relations, {saved['bytes']:,} bytes", flush=True)


async def _call(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    shown = ", ".join(f"{name}={json.dumps(value)}" for name, value in arguments.items() if name != "workspace_id")
    print(f"  > {tool}({shown if len(shown) <= 96 else shown[:93] + '...'})", flush=True)
    result = await client.call_tool(tool, arguments)
    if result.is_error:
        raise RuntimeError(result.content[0].text)  # type: ignore[union-attr]
    return dict(result.structured_content or {})
