"""Find the secrets in stored values: by their form or context, or by a value that is known from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from memsweep.collector.masking import masked_memory, masked_record
from memsweep.collector.revert_edits import DESCRIPTION
from memsweep.model.plan import Kind, PlanItem
from memsweep.model.revision import MemoryText, is_redaction
from memsweep.secrets.find import redacted
from memsweep.secrets.known import Known, secrets_of
from memsweep.store.plans import BARE, SECRET
from memsweep.store.records import KINDS, Record

if TYPE_CHECKING:
    from memsweep.store.changes import WorkspaceReads

_PAGE = 500
_KINDS: dict[str, Kind] = {"entity": "entity", "relation": "relation", "segment": "segment"}
"""Rows that people know; all others are records of the workspace about itself."""


def count(rows: WorkspaceReads) -> int:
    """In how many places there is a secret."""
    return sum(1 for _ in found(rows))


def kind_of(item: PlanItem) -> str:
    return str(item.evidence.get("in", item.kind))


def known_in(rows: WorkspaceReads) -> Known:
    """The secrets of all texts, live, stashed, in the trash or earlier: what shows in one of them is one elsewhere.

    Also of texts that wait redacted for the purge: a name may have been left by who redacted them.
    """
    secrets: dict[str, str] = {}
    for memory in _memories(rows):
        secrets |= secrets_of(memory.text)
    for segment in _records(rows, "segment"):
        secrets |= secrets_of(segment.values["text"])
    for revision in _records(rows, "revision"):
        secrets |= secrets_of(revision.values["before"].get("text", ""))
    return Known(secrets)


def found(rows: WorkspaceReads) -> Iterator[PlanItem]:
    """Everything that holds a secret; the kinds of it are the evidence, never the value."""
    known = known_in(rows)
    for memory in _memories(rows):
        if kinds := masked_memory(memory, (), known).kinds:
            bare = {BARE: True} if known.bare(redacted(memory.text)[0])[1] else {}
            yield PlanItem("memory", memory.key, memory.version, SECRET, {"secrets": list(kinds), **bare})
    for kind in KINDS:
        for record in _records(rows, kind):
            if is_redaction(record.values.get("before")):
                continue  # it waits for the purge
            if kinds := masked_record(record, known)[1]:
                evidence = {"secrets": list(kinds), **_where(record, known)}
                yield PlanItem(_KINDS.get(kind, "record"), record.key, record.version, SECRET, evidence)
    yield from _named(rows, known)


def _where(record: Record, known: Known) -> dict[str, Any]:
    """Return further evidence of a place, so that it can be shown without the secret."""
    if record.kind == "entity":
        name = record.values["name"]
        return {BARE: True} if known.name(name) != redacted(name) else {}
    if record.kind == "segment":
        return {"id": record.id}
    return {} if record.kind in _KINDS else {"in": record.kind}


def _named(rows: WorkspaceReads, known: Known) -> Iterator[PlanItem]:
    """Yield the secrets without a row of their own: in the description, other names and counted names."""
    if kinds := known.redacted(rows.records.description())[1]:
        yield PlanItem("record", 0, 0, SECRET, {"secrets": list(kinds), "in": DESCRIPTION})
    for alias in rows.records.aliases():
        if kinds := known.name(alias.name)[1]:
            yield PlanItem("record", alias.entity, 0, SECRET, {"secrets": list(kinds), "in": "alias"})
    for name in rows.records.names_seen():
        if kinds := known.name(name)[1]:
            yield PlanItem("record", 0, 0, SECRET, {"secrets": list(kinds), "in": "name_seen"})


def _memories(rows: WorkspaceReads) -> Iterator[MemoryText]:
    after = 0
    while page := rows.texts.page(after, _PAGE):
        yield from page
        after = page[-1].key


def _records(rows: WorkspaceReads, kind: str) -> Iterator[Record]:
    after = 0
    while page := rows.records.page(kind, after, _PAGE):
        yield from page
        after = page[-1].key
