"""Rows that hold somebody's words beside memories: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

from memsweep.model.records import FIELDS

_LABELS = {
    "entity": "Entity",
    "segment": "Segment",
    "thread": "Thread",
    "project": "Project",
    "plan": "Plan",
    "receipt": "Receipt",
    "audit": "AuditEvent",
    "revision": "Revision",
    "memory_act": "MemoryAct",
    "origin": "Origin",
}
_BY_KEY = {"audit", "revision"}
"""Those that are not found by the text of their key."""
ALIASES = """
    MATCH (a:Alias) RETURN a.name_key, a.type_key, a.name, a.entity, a.receipt ORDER BY a.name_key, a.type_key"""
NAMES_SEEN = "MATCH (n:NameSeen) RETURN n.name ORDER BY n.name_key"
FORGET_NAME = "MATCH (n:NameSeen) WHERE n.name = row DELETE n"


def property_of(column: str) -> str:
    """What people see of a thread is its id here."""
    return "id" if column == "uid" else column


def _patterns(kind: str) -> list[str]:
    """What is live, and what is in the trash, if that can be."""
    if kind == "relation":
        return ["()-[n:RELATED_TO{}]->()", "()-[n:WAS_RELATED_TO{}]->()"]
    label = _LABELS[kind]
    return [f"(n:{label}{{}})", *([f"(n:Trashed{label}{{}})"] if FIELDS[kind].trashable else [])]


def _returned(kind: str) -> str:
    fields = FIELDS[kind]
    uid = "n.id" if fields.has_id else f"'{kind} ' + toString(n.key)"
    version = "n.version" if fields.versioned else "0"
    trash = "n.trash" if fields.trashable else "NULL"
    return ", ".join(["n.key", uid, version, trash, *(f"n.{property_of(name)}" for name in fields.all)])


def pages(kind: str) -> list[str]:
    tail = f"WHERE n.key > $after RETURN {_returned(kind)} ORDER BY n.key LIMIT $limit"
    return [f"MATCH {pattern.format('')} {tail}" for pattern in _patterns(kind)]


def at(kind: str) -> list[str]:
    named = "{key: key}" if kind in _BY_KEY else "{ref: toString(key)}"
    return [
        f"UNWIND $keys AS key MATCH {pattern.format(' ' + named)} RETURN {_returned(kind)}"
        for pattern in _patterns(kind)
    ]


def writes(kind: str) -> list[str]:
    named = "{key: row.key}" if kind in _BY_KEY else "{ref: toString(row.key)}"
    version = " SET n.version = n.version + 1" if FIELDS[kind].versioned else ""
    return [f"MATCH {pattern.format(' ' + named)} SET n += row.set{version}" for pattern in _patterns(kind)]
