"""The answer of `briefing`: all that helps before work begins."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memsweep.model.text import clipped, counted
from memsweep.model.times import iso
from memsweep.report.graph import shown_edge
from memsweep.report.typed import TypedDict
from memsweep.report.whole_graph import shown_doubt

if TYPE_CHECKING:
    from memsweep.model.graph import WorkspaceBriefing
    from memsweep.model.search import Passage

_BEGINNING = 240  # characters of a memory


class BriefingAnswer(TypedDict):
    workspace_id: str
    summary: str
    memories: list[dict[str, Any]]
    facts: list[dict[str, Any]]
    central: list[str]
    contradictions: list[dict[str, Any]]
    stale_facts: list[dict[str, Any]]
    next_steps: list[str]


def briefed(found: WorkspaceBriefing) -> BriefingAnswer:
    graph = found.graph
    return {
        "workspace_id": found.stats.workspace_id,
        "summary": _summary(found),
        "memories": [_shown(each) for each in found.memories],
        "facts": [shown_edge(each, graph.names) for each in graph.recent],
        "central": [entity.name for entity, _ in graph.central],
        "contradictions": [shown_doubt(each) for each in graph.contradictory],
        "stale_facts": [shown_edge(each, graph.names) for each in graph.stale],
        "next_steps": _next_steps(found),
    }


def _summary(found: WorkspaceBriefing) -> str:
    stats, graph = found.stats, found.graph
    if not stats.total_memories and not graph.entities:
        return "Nothing is stored here yet."
    parts = [
        counted(stats.total_memories, "memory", "memories"),
        counted(graph.entities, "entity", "entities"),
        counted(graph.facts, "current fact"),
    ]
    return f"{', '.join(parts)}; {counted(stats.stale_memories, 'stale file')}."


def _shown(each: Passage) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "memory_id": each.memory_id,
        "text": clipped(" ".join(each.text.split()), _BEGINNING),
        "created_at": iso(each.created_at),
        "origin": each.origin.brief,
    }
    return {**shown, **({"tags": list(each.tags)} if each.tags else {}), **({"pinned": True} if each.pinned else {})}


def _next_steps(found: WorkspaceBriefing) -> list[str]:
    steps = []
    if found.graph.contradictory:
        steps.append("Ask which of the contradicting facts holds; graph_relate can state it in place of the others.")
    if found.graph.stale:
        steps.append("Stating a stale fact that still holds again, with graph_relate, confirms it.")
    if found.stats.stale_memories:
        steps.append("prune_memory shows what the stale files are, and can collect them.")
    return steps
