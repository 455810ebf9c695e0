"""A graph on its way between workspaces: rows as they are carried, and what an import makes of what is known. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any

from memsweep.model.audit_event import AuditEvent
from memsweep.model.times import from_micros, to_micros
from memsweep.model.whole_graph import ExportedEntity, ExportedRelation, GraphDump, Imported

_moment = lru_cache(maxsize=100_000)(from_micros)  # a batch has one moment for all of its facts


def entity_row(row: Sequence[Any], aliases: str | None) -> ExportedEntity:
    """From the columns that every engine gives."""
    uid, name, kind, confidence, explicit, pinned, created, seen = row
    flags, times = (bool(explicit), bool(pinned)), (_moment(created), _moment(seen))
    return ExportedEntity(uid, name, kind, confidence, *flags, *times, aliases)


def relation_row(row: Sequence[Any]) -> ExportedRelation:
    uid, source, target, relation, weight, evidence, explicit, *times = row
    moments: Any = [None if each is None else _moment(each) for each in times]
    return ExportedRelation(uid, source, target, relation, weight, evidence, bool(explicit), *moments)


def later_confirmed(ours: float | None, our_time: int, theirs: float | None, their_time: int) -> float | None:
    """The weight that was confirmed later; the larger of two that were at the same moment."""
    if ours is not None and theirs is not None and f"{ours:.15g}" == f"{theirs:.15g}":
        return ours  # a server of graphs tells fifteen digits
    if our_time != their_time:
        return ours if our_time > their_time else theirs
    return max((each for each in (ours, theirs) if each is not None), default=None)


def entity_with(known: Any, thing: ExportedEntity) -> dict[str, Any]:
    """Return an entity after the same one was imported; `known` is its row."""
    seen = to_micros(thing.last_seen)
    return {
        "confidence": later_confirmed(known.confidence, known.last_seen, thing.confidence, seen),
        "explicit": bool(known.explicit or thing.handed_in),
        "pinned": bool(known.pinned or thing.pinned),
        "created_at": min(known.created_at, to_micros(thing.created_at)),
        "last_seen": max(known.last_seen, seen),
    }


def relation_with(known: Any, fact: ExportedRelation) -> dict[str, Any]:
    """Return a relation after the same one was imported."""
    seen = to_micros(fact.last_seen)
    return {
        "weight": later_confirmed(known.weight, known.last_seen, fact.weight, seen),
        "evidence": max(known.evidence, fact.evidence),
        "explicit": bool(known.explicit or fact.handed_in),
        "created_at": min(known.created_at, to_micros(fact.created_at)),
        "last_seen": max(known.last_seen, seen),
    }


def imported(dump: GraphDump, entities: int, relations: int) -> Imported:
    """So many of both are new."""
    return Imported(entities, len(dump.entities) - entities, relations, len(dump.relations) - relations)


def import_event(done: Imported, touched: Sequence[str], actor: str, now: datetime) -> AuditEvent:
    counts = {"entities": done.entities_created, "relations": done.relations_created}
    return AuditEvent(now, actor, "import_graph", "", counts, ids=tuple(touched))
