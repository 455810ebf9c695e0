"""The public names of the context collector."""

import subprocess
import sys

import memsweep.context


def test_the_public_names_are_these():
    assert memsweep.context.__all__ == [
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
    assert all(hasattr(memsweep.context, name) for name in memsweep.context.__all__)


def test_importing_it_loads_nothing_heavy():
    code = "import sys, memsweep.context; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pydantic", "apsw", "httpx", "langchain_core"} & set(loaded)
