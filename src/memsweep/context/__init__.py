"""A garbage collector for the context window: roots, mark, score, plan, stash, restore.

Pure: it needs no store, no clock (`now` is handed in) and no network.
"""

from memsweep.context.engine import Analysis, GCEngine
from memsweep.context.heap import ContextHeap, Pruned
from memsweep.context.messages import Swept, sweep_messages
from memsweep.context.plan import PruningPlan
from memsweep.context.roots import Focus, Roots, compute_roots
from memsweep.context.segment import (
    segment_from_dict,
    segment_to_dict,
    segments_from_json,
    segments_to_json,
)
from memsweep.context.stash import StashHit
from memsweep.context.step import Limits
from memsweep.context.weights import Weights
from memsweep.model.segment import ContextSegment, PruningCandidate
from memsweep.model.tokens import estimate_tokens

__all__ = [
    "Analysis",
    "ContextHeap",
    "ContextSegment",
    "Focus",
    "GCEngine",
    "Limits",
    "Pruned",
    "PruningCandidate",
    "PruningPlan",
    "Roots",
    "StashHit",
    "Swept",
    "Weights",
    "compute_roots",
    "estimate_tokens",
    "segment_from_dict",
    "segment_to_dict",
    "segments_from_json",
    "segments_to_json",
    "sweep_messages",
]
