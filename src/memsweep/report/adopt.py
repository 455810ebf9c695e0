"""Answers about the memory that clients keep themselves. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from memsweep.model.adopt import (
    ABSENT,
    Applied,
    ClientLook,
    ClientStore,
    FileChange,
    FileVersion,
    Item,
    LostFile,
    MirrorPurged,
    NoteFinding,
    NotePlace,
)
from memsweep.model.text import counted, listed
from memsweep.model.times import iso
from memsweep.report import Answer, fields, filled
from memsweep.secrets.find import redacted


def looked(look: ClientLook) -> Answer:
    plan = look.plan
    return {
        "client": look.client,
        "folder": look.root,
        "stores": [_store(each) for each in look.stores],
        **fields(look, "files", "mirrored"),
        "lost": [_lost(each) for each in look.lost],
        "plan_id": plan.id,
        "expires_at": iso(plan.expires_at) if plan.id else "",
        "items": [_item(each) for each in plan.items],
        "findings": [_finding(each) for each in plan.findings],
        "message": _summary(look),
    }


def changed(result: Applied, done: str) -> Answer:
    """`done`: what happened to the files, such as "brought back"."""
    many = counted(len(result.changes), "file")
    verb = "was" if len(result.changes) == 1 else "were"
    said = f"{many} {verb} {done}." if result.changes else "Nothing was changed."
    if result.skipped:
        said += f" {counted(len(result.skipped), 'item')} skipped."
    return {
        "receipt_id": result.receipt_id,
        "changed": [{**fields(each.place), "change": _what(each)} for each in result.changes],
        "skipped": [{**fields(each.place), "reason": each.reason} for each in result.skipped],
        "message": said,
    }


def versions(rows: Sequence[tuple[NotePlace, FileVersion]]) -> Answer:
    return {
        "versions": [
            {
                **fields(place),
                "at": iso(each.at),
                "version": each.digest[:12],
                "size_bytes": each.size,
                "state": "deleted" if each.digest == ABSENT else "there",
                "receipt_id": each.receipt,
            }
            for place, each in rows
        ]
    }


def mirror_purged(result: MirrorPurged) -> Answer:
    gone = f"{counted(result.versions, 'version')} and {counted(result.receipts, 'receipt')}"
    return {
        "purged_versions": result.versions,
        "purged_receipts": result.receipts,
        "bytes_freed": result.bytes_freed,
        "message": f"Permanently deleted {gone} ({result.bytes_freed:,} bytes).",
    }


def why(item: Item | NoteFinding) -> str:
    """The reason of a finding, in a sentence."""
    beside = item.beside.name if item.beside else ""
    match item.kind:
        case "duplicate":
            return f"says {item.details[0]} as {beside}"
        case "missing_paths":
            what = "its paths are gone" if isinstance(item, Item) else "names paths that are gone"
            return f"{what}: {', '.join(item.details)}"
        case "dead_entry":
            return f"the index names {item.details[0]}, which is not there"
        case "unlisted":
            return "no line of the index names it, so no session finds it"
        case "stranded":
            return _stranded(item)
        case "long_index":
            return f"it has {item.details[0]} lines, of which the first {item.details[1]} are loaded"
        case "contradiction":
            return _contradiction(item, beside)
        case "left_alone":
            return item.details[0]


def _stranded(item: Item | NoteFinding) -> str:
    folder = item.details[0] or "an unknown folder"
    if not isinstance(item, Item):
        return f"its folder {folder} is gone, and its repository is not known"
    goal = f"{item.beside.store}/{item.beside.name}" if item.beside else ""
    if item.action == "move":
        return f"no session reads the memory of {folder}; it goes to {goal}"
    return f"no session reads the memory of {folder}, and {goal} is the same"


def _contradiction(item: Item | NoteFinding, beside: str) -> str:
    pairs = [f"{redacted(mine)[0]!r} and {redacted(yours)[0]!r}" for mine, yours in _pairs(item.details)]
    return f"contradicts {beside}" + (f": {'; '.join(pairs)}" if pairs else "")


def _pairs(flat: Sequence[str]) -> list[tuple[str, str]]:
    return list(zip(flat[::2], flat[1::2], strict=False))


def _summary(look: ClientLook) -> str:
    many = counted(look.files, "file")
    said = [f"{many} in {counted(len(look.stores), 'memory folder')}"]
    if look.mirrored:
        said.append(f"{counted(look.mirrored, 'new version')} in the mirror")
    if look.lost:
        said.append(f"{counted(len(look.lost), 'file')} deleted by others")
    said.append(f"{counted(len(look.plan.items), 'change')} planned")
    return f"{listed(said)}."


def _store(store: ClientStore) -> Answer:
    project = store.project
    return {
        "store": store.name,
        "project": project.folder,
        "project_gone": project.is_gone,
        "repository": project.repository,
        "files": len(store.files),
    }


def _lost(each: LostFile) -> Answer:
    return {**fields(each.place), "size_bytes": each.size, "lost_at": iso(each.lost_at)}


def _item(item: Item) -> Answer:
    return {**fields(item, "kind", "action"), **fields(item.place), **filled(item, "beside"), "why": why(item)}


def _finding(finding: NoteFinding) -> Answer:
    return {"kind": finding.kind, **fields(finding.place), **filled(finding, "beside"), "why": why(finding)}


def _what(change: FileChange) -> str:
    if change.before == ABSENT:
        return "added"
    return "removed" if change.after == ABSENT else "changed"
