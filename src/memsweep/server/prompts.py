"""Commands for a person in the client (`/mcp__memsweep__brief_me`): they show how the tools work together."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from pydantic import Field

from memsweep.model.visible import visible

About = Annotated[str, Field(description="a person, a project, a file, a decision, …")]


def brief_me() -> str:
    """Show what is known about this project: recent memories, facts, contradictions, what is stale"""
    return (
        "Call the tool briefing. Tell me in a few sentences what is known about this project and what was decided"
        " recently, then the open contradictions and what is stale, with what you would do about it. Change nothing."
    )


def what_do_you_know(about: About) -> str:
    """Everything that is remembered about something"""
    return (
        f"What do you know about this: {visible(about)}\n\nCall search_memory for it, in other words too, and"
        " graph_query for the names in it, if that tool is available. Tell me what is known, since when and from where,"
        " and what is contradictory or out of date. Name the memory_id of each statement. If nothing is known, say so."
    )


def clean_up() -> str:
    """Find garbage, look at it together, collect it; everything can be undone"""
    return (
        "Clean up this memory. Call prune_memory with strategy=all, and with strategy=duplicates, as a dry run, and"
        " show me what would go and why, by kind, with a few examples of each. Ask me. Only after I have agreed, apply"
        " exactly the plans that I agreed to, by their plan_id with dry_run=false and confirm=true, and tell me the"
        " receipt_id of each, with which undo brings everything back."
    )


def forget(what: About) -> str:
    """Find what is remembered about something, and remove what you agree to"""
    return (
        f"Forget this: {visible(what)}\n\nCall search_memory for it, in other words too, and list every memory about it"
        " with its memory_id and text. Ask me which ones to remove. Only after I have agreed, call delete_memory with"
        " confirm=true for each of these and no others, and tell me the receipt_id of each, with which undo brings it"
        " back."
    )


PROMPTS: dict[Callable[..., str], str] = {
    brief_me: "briefing",
    what_do_you_know: "search_memory",
    clean_up: "prune_memory",
    forget: "delete_memory",
}
"""Each with the tool that it cannot do without."""


def add_prompts(server: MCPServer[Any], tools: Collection[str]) -> None:
    """Add the prompts whose tools this server offers."""
    for prompt, tool in PROMPTS.items():
        if tool in tools:
            server.prompt()(prompt)
