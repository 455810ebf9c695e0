"""What an agent should know of a workspace before it begins."""

from __future__ import annotations

from dataclasses import dataclass

from memsweep.model.memory import Stats
from memsweep.model.search import Passage
from memsweep.model.whole_graph import Briefing


@dataclass(frozen=True, slots=True)
class WorkspaceBriefing:
    """How much there is, how the newest memories begin, and the graph; both without what was indexed."""

    stats: Stats
    memories: tuple[Passage, ...]
    graph: Briefing
