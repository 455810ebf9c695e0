"""What a survey reads of the graph for what the rules need. Pure."""

from __future__ import annotations

from collections.abc import Collection

_EVERY_ENTITY = {"graph", "relations"}
_UNSPOKEN = "unspoken graph"


def reads_entities(needs: Collection[str]) -> bool:
    return _UNSPOKEN in needs or not _EVERY_ENTITY.isdisjoint(needs)


def reads_edges(needs: Collection[str]) -> bool:
    return _UNSPOKEN in needs or "graph" in needs


def reads_unspoken_only(needs: Collection[str]) -> bool:
    """Whether the components that no live memory speaks of are enough."""
    return _UNSPOKEN in needs and _EVERY_ENTITY.isdisjoint(needs)
