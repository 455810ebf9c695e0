"""Reasons as plain sentences. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsweep.model.times import from_micros, iso

_SENTENCES = {
    "stale_file": "Its file has left the folder that was indexed.",
    "missing_file": "Its file does not exist on disk.",
    "orphaned_chunk": "It belongs to no memory.",
    "orphaned_entity": "Nothing mentions it and nothing is related to it.",
    "unreachable_entity": "No mention, pin or fact handed in keeps it or anything it is connected to.",
    "left_without_root": "Only what this plan removes keeps it alive.",
    "empty_memory": "It has no chunks, so no search can find it.",
    "deleted": "Its deletion was asked for.",
    "cleared": "The whole workspace was to be cleared.",
}


def why(reason: str, evidence: Mapping[str, Any]) -> str:
    match reason:
        case "expired":
            return f"It expired at {_moment(evidence['expires_at'])}."
        case "not_seen":
            return (
                f"It was last seen at {_moment(evidence['last_seen_at'])}, more than {evidence['ttl_days']:g} days ago."
            )
        case "duplicate":
            return f"It says the same as {evidence['kept']}, which is kept."
        case "near_duplicate":
            return f"It says nearly the same as {evidence['kept']}, which is kept."
    return _SENTENCES.get(reason, reason)


def _moment(micros: int) -> str:
    return iso(from_micros(micros))
