"""Reasons as plain sentences. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsweep.model.text import listed
from memsweep.model.times import from_micros, iso

_SENTENCES = {
    "stale_file": "Its file is no longer in the indexed folder.",
    "missing_file": "Its file does not exist on disk.",
    "orphaned_chunk": "It belongs to no memory.",
    "orphaned_entity": "Nothing mentions it and nothing is related to it.",
    "unreachable_entity": "No mention, pin or explicit fact keeps it or anything connected to it alive.",
    "left_without_root": "Only items in this plan keep it alive.",
    "faded_entity": "It has faded away: nothing mentions it, nothing is related to it, and nobody confirmed it.",
    "orphan_not_seen": "Nothing mentions it, nothing live is related to it, and it has not been seen for a long time.",
    "empty_memory": "It has no chunks, so no search can find it.",
    "deleted": "Somebody asked for its deletion.",
    "brought": "What is to be taken back brought it, and nothing else.",
    "stays_without": "Others say it, too: it stays, without what is taken back.",
    "earlier_text": "It stays and gets back the text that it had before.",
    "in_trash": "It is in the trash: should it come back, then without what is taken back.",
    "current_again": "It is current again: whoever said that another one supersedes it is taken back.",
    "holds_again": "It holds again: what ended it is taken back.",
    "cleared": "Somebody asked to clear the whole workspace.",
}


def why(reason: str, evidence: Mapping[str, Any]) -> str:
    match reason:
        case "expired":
            return f"It expired at {_moment(evidence['expires_at'])}."
        case "not_seen":
            return (
                f"It was last seen at {_moment(evidence['last_seen_at'])}, more than {evidence['ttl_days']:g} days ago."
            )
        case "faded_relation":
            return f"It weighs {evidence['weight']:g} now: nobody has confirmed it for a long time."
        case "secret":
            return (
                f"It holds {'a secret' if len(evidence['secrets']) == 1 else 'secrets'}: {listed(evidence['secrets'])}."
            )
        case "superseded":
            return f"Another fact has replaced it since {_moment(evidence['invalid_at'])}."
        case "superseded_memory":
            return f"{evidence['superseded_by']} has superseded it since {_moment(evidence['superseded_at'])}."
        case "falls_back":
            return f"It stays and falls back from {_weight(evidence['from'])} to {_weight(evidence['to'])}."
        case "duplicate":
            return f"It says the same as {evidence['kept']}, which is kept."
        case "near_duplicate":
            return f"It says nearly the same as {evidence['kept']}, which is kept."
    return _SENTENCES.get(reason, reason)


def _weight(value: float | None) -> str:
    return "an unknown weight" if value is None else f"{value:.2f}"


def _moment(micros: int) -> str:
    return iso(from_micros(micros))
