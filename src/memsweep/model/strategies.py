"""The names of the strategies, for everybody who has to check one: `collector/planner.py` has the rules behind them."""

from __future__ import annotations

RULES = (
    "stale_code",
    "missing_files",
    "orphaned_chunks",
    "orphaned_entities",
    "unreachable_entities",
    "expired",
    "empty_memories",
    "duplicates",
    "decayed",
    "superseded",
)
ALIASES = {"stale_files": "stale_code"}
ALL = ("stale_code", "orphaned_chunks", "orphaned_entities", "unreachable_entities")
QUICK = tuple(name for name in RULES if name not in ("missing_files", "duplicates", "orphaned_entities"))
"""Those that neither look at the disk nor compare texts, nor find what another one finds, too."""
WITHOUT_QUESTION = (*RULES, *ALIASES, "all")
"""Those that need nobody to say whose things they are about."""
COLLECTED = (*RULES, "origin", *ALIASES, "all")
"""Those that name garbage."""
DEFAULT = "stale_code"
CHOSEN = "chosen"
"""Of a plan of what somebody named one by one; no strategy finds it."""
SECRETS = "secrets"
"""The one that redacts in place."""
NAMES = (*COLLECTED, SECRETS)


class Unsaid(str):
    """A strategy that is meant because nobody named one."""
