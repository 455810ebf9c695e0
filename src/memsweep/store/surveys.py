"""Read the part of the graph that the rules need. Pure."""

from __future__ import annotations

from collections.abc import Collection

_EVERY_ENTITY = {"graph", "relations"}
_UNMENTIONED = "unmentioned graph"


def reads_entities(needs: Collection[str]) -> bool:
    return _UNMENTIONED in needs or not _EVERY_ENTITY.isdisjoint(needs)


def reads_edges(needs: Collection[str]) -> bool:
    return _UNMENTIONED in needs or "graph" in needs


def reads_unmentioned_only(needs: Collection[str]) -> bool:
    """Return whether the components that no live memory speaks of are enough."""
    return _UNMENTIONED in needs and _EVERY_ENTITY.isdisjoint(needs)
