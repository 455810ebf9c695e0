"""Answers about memories and workspaces."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal, Protocol

from memsweep.errors import BadInput
from memsweep.model.strategies import SECRETS
from memsweep.model.text import counted, excerpt, listed
from memsweep.model.times import iso
from memsweep.report import Answer, ItemCounts, amount, fields, filled, limits
from memsweep.secrets.find import redacted

if TYPE_CHECKING:
    from memsweep.model.care import Restored
    from memsweep.model.listing import ListedMemory, MemoryPage
    from memsweep.model.memory import Memory, Remembered, Stats, Workspace
    from memsweep.model.plan import Plan, Receipt
    from memsweep.model.revision import EarlierText, Updated
    from memsweep.model.search import Hit, Page, Passage


_CUT = 80
"""Where the store cuts a text of which it only shows the beginning."""
_SHOWN_OF_A_WORD = 12


def would(plan: Plan) -> str:
    """Return a sentence on what a plan would do."""
    if not plan.item_count:
        return "Nothing to collect."
    if plan.strategy == SECRETS:
        return f"Would redact secrets in {places(plan.totals, plan.item_count)}."
    return f"Would move {amount(plan.totals)} to the trash."


def done(receipt: Receipt) -> str:
    """Return a sentence on what the strategy did."""
    if not amount(receipt.totals) and receipt.skipped:
        return "Nothing was redacted."
    return (
        f"Redacted secrets in {places(receipt.totals)}. undo_prune with {receipt.id} brings them back until purge_trash"
        " frees them."
    )


def places(totals: ItemCounts, number: int = 1) -> str:
    """Return the number of places with secrets: of things that people know, or of records of the workspace."""
    return amount(totals) or counted(number, "record")


def masked(beginning: str) -> str:
    """Return the beginning of a text without its secrets. A word that was cut goes: no rule knows half a secret."""
    if len(beginning) < _CUT:
        return redacted(beginning)[0]
    return redacted(beginning.rpartition(" ")[0] or beginning[:_SHOWN_OF_A_WORD])[0]


class _Stored(Protocol):
    @property
    def redacted(self) -> tuple[str, ...]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


def secrets_met(result: _Stored) -> Answer:
    """The kinds that were redacted, and what was stored with a secret in it; nothing if there was none."""
    return filled(result, "redacted", "warnings")


def in_sentences(answer: Mapping[str, Any]) -> list[str]:
    """The same of an answer, for people."""
    kinds = answer.get("redacted")
    return [*([f"Redacted: {listed(kinds)}."] if kinds else []), *answer.get("warnings", [])]


Detail = Literal["concise", "full"]

# An answer stays near 5,000 tokens, whatever is asked for.
_ANSWER_CHARACTERS = 20_000
_CONCISE_CHARACTERS = 600
_SHORTEST = 80
_MISS_CHARACTERS = 120
_SHOWN_ENTITIES = 50
_ROOM_FOR_NOTES = 300
_SHORTENED = "Some texts were shortened to fit: get_memory has a whole text, and a smaller limit shows more of each."


def remembered(result: Remembered) -> Answer:
    similar = [{**fields(each, "memory_id", "kind", "text"), **filled(each, "differs")} for each in result.similar]
    return {
        **fields(result, "memory_id", "chunks_created", "entities_created", "duplicate_of"),
        **filled(result, "supersedes"),
        **({"similar": similar} if similar else {}),
        **secrets_met(result),
    }


def found(page: Page, detail: Detail = "concise") -> Answer:
    share = _ANSWER_CHARACTERS // max(1, len(page.hits))
    results = [_hit(hit, share, detail) for hit in page.hits]
    answer: Answer = {"results": results, "total": page.total, "next_cursor": page.next_cursor}
    if any(_is_shortened(hit, shown) for hit, shown in zip(page.hits, results, strict=True)):
        answer["note"] = _SHORTENED
    if page.note:
        answer["note"] = page.note
    if page.damaged:
        left_out = f"Left out {counted(page.damaged, 'damaged hit')}: run `memsweep doctor`."
        answer["note"] = f"{left_out} {answer.get('note', '')}".strip()
    if not page.hits and not page.total:
        answer["note"] = f"{answer.get('note', '')} {_nothing(page.nearest)}".strip()
    return answer


def _nothing(nearest: Hit | None) -> str:
    if nearest is None:
        return "Nothing relevant: nothing here has anything of this query. Try other words or fewer filters."
    own_id = nearest.passage.memory_id or nearest.passage.chunk_id
    text = excerpt(nearest.passage.text, _MISS_CHARACTERS)
    return (
        f"Nothing relevant. The nearest is {own_id} ({nearest.why}): {text!r}."
        " Try other words, or mode=deep for all that resembles the query."
    )


def memory_page(result: Memory, offset: int = 0) -> Answer:
    """A memory with as much of its text, from a character on, as an answer holds."""
    if not 0 <= offset <= len(result.text):
        raise BadInput(f"offset must be from 0 to {len(result.text):,}, the length of the text, not {offset}.")
    answer: Answer = {**memory(result), "text": ""}
    notes = []
    if len(answer["entities"]) > _SHOWN_ENTITIES:
        there = counted(len(answer["entities"]), "entity", "entities")
        notes.append(f"It has {there}, of which the first {_SHOWN_ENTITIES} are shown.")
        answer["entities"] = answer["entities"][:_SHOWN_ENTITIES]
    answer = limits.fitted(answer, limits.MOST_BYTES // 2)
    answer["text"] = limits.piece(result.text, offset, limits.MOST_BYTES - limits.size_of(answer) - _ROOM_FOR_NOTES)
    end = offset + len(answer["text"])
    if end < len(result.text):
        answer["next_offset"] = end
        notes.append(f"{end:,} of {len(result.text):,} characters so far; next_offset is where the rest begins.")
    if notes:
        answer["note"] = " ".join(filter(None, [answer.get("note", ""), *notes]))
    return answer


def memory(result: Memory) -> Answer:
    answer: Answer = {
        "memory_id": result.id,
        **fields(result, "text", "tags", "source", "metadata"),
        **fields(result, "created_at", "updated_at", "last_seen_at", "expires_at"),
        **fields(result, "thread_id", "stale", "pinned", "version", "chunk_count"),
        "entities": [fields(thing, "name", "type") for thing in result.entities],
        "origin": filled(result.origin),
    }
    if result.quarantine:
        answer["quarantine"] = f"Search leaves it out {result.quarantine}."
    if result.expired:
        answer["expired"] = f"It expired on {answer['expires_at']}: search and lists leave it out."
    if (code := result.code) is not None:
        answer |= fields(code, "path", "file_path", "language", "lines", "verified_at")
    if result.revised_at is not None:
        answer |= fields(result, "revisions", "revised_at")
    return answer | filled(result, "supersedes", "superseded_by")


def stats(result: Stats, schedule: Mapping[str, Any] | None = None) -> Answer:
    """`schedule`: when background collection ran last and runs next, where there is any."""
    answer: Answer = {
        **fields(result, "workspace_id", "total_memories", "total_chunks", "total_entities", "total_relations"),
        **fields(result, "stale_memories", "database_bytes", "vector_bytes", "engine"),
        "model": result.model.name if result.model else None,
        "dimension": result.model.dimension if result.model else None,
        **fields(result, "oldest", "newest"),
        **filled(result, "quarantined", "warnings"),
    }
    return {**answer, "schedule": dict(schedule)} if schedule else answer


def workspace(result: Workspace, message: str = "") -> Answer:
    answer = {"workspace_id": result.id, **fields(result, "description", "created_at")}
    return {**answer, "message": message} if message else answer


def workspaces(results: Iterable[Workspace], current: str) -> Answer:
    return {"workspaces": [workspace(item) for item in results], "current": current}


def workspaces_deleted(
    results: Iterable[Workspace], live: Iterable[Workspace], current: str, purge_days: float
) -> Answer:
    return {"workspaces": deleted_workspaces(results, {each.id for each in live}, purge_days), "current": current}


def deleted_workspaces(results: Iterable[Workspace], in_use: Collection[str], purge_days: float) -> list[Answer]:
    """Return how and until when each of them can be brought back; `in_use`: names of live ones."""

    def shown(item: Workspace) -> Answer:
        deleted_at = item.deleted_at or item.created_at
        times = {"deleted_at": iso(deleted_at), "kept_until": iso(deleted_at + timedelta(days=purge_days))}
        return {**workspace(item), **times, "receipt_id": item.receipt_id or "", "message": _way_back(item, in_use)}

    return [shown(item) for item in results]


def _way_back(deleted: Workspace, in_use: Collection[str]) -> str:
    if not deleted.receipt_id:
        return "It has no receipt, so it cannot be brought back."
    how = f"undo_prune with {deleted.receipt_id} brings it back."
    return f"Another workspace has its name; once that is deleted, {how}" if deleted.id in in_use else how


def workspace_deleted(result: Workspace) -> Answer:
    how = f"undo_prune with {result.receipt_id} brings it back"
    answer = workspace(result, f"Moved workspace {result.id!r} to the trash; {how}.")
    return {**answer, "receipt_id": result.receipt_id or ""}


def copied(restored: Restored) -> Answer:
    memories = counted(restored.seal.memories, "memory", "memories")
    return {
        "workspace_id": restored.workspace_id,
        "memories": restored.seal.memories,
        "receipt_id": restored.receipt_id,
        "notes": list(restored.notes),
        "message": " ".join(
            [
                f"Copied workspace {restored.workspace_id!r}: {memories}.{replaced(restored.receipt_id)}",
                *restored.notes,
            ]
        ),
    }


def replaced(receipt_id: str | None) -> str:
    """Return a sentence on the workspace that was in the way and is in the trash; empty if there was none."""
    if not receipt_id:
        return ""
    return f" The workspace it replaced is in the trash; undo_prune with {receipt_id} brings it back."


def _hit(hit: Hit, share: int, detail: Detail) -> dict[str, Any]:
    """A hit in about `share` characters; the text gets what the rest leaves."""
    passage = hit.passage
    shown: dict[str, Any] = {**_identity(passage), "text": "", "relevance": hit.relevance, "score": hit.score}
    shown |= {"why": hit.why, "source": passage.source}
    shown |= {"tags": _fitting(passage.tags, share // 4), "created_at": iso(passage.created_at)}
    shown["origin"] = passage.origin.brief
    if hit.scope:
        shown["scope"] = hit.scope
    if passage.stale:
        shown["stale"] = True
    if hit.expired:
        shown["expired"] = True
    if passage.code is not None:
        shown |= _place(passage)
    if detail == "full":
        shown |= {
            "thread_id": passage.thread_id,
            "lines": [passage.first_line, passage.last_line],
            "pinned": passage.pinned,
            "session": passage.origin.session,
        }
    room = share - len(json.dumps(shown, ensure_ascii=False))
    longest = max(_SHORTEST, min(room, _CONCISE_CHARACTERS) if detail == "concise" else room)
    shown["text"] = _excerpt(passage.text, hit.words, longest)
    return shown


def _identity(passage: Passage) -> dict[str, str]:
    match passage.kind:
        case "fact":
            return {"kind": "fact", "relation_id": passage.chunk_id}
        case "segment":
            return {"kind": "segment", "segment_id": passage.chunk_id}
        case kind:
            return {"kind": kind, "memory_id": passage.memory_id, "chunk_id": passage.chunk_id}


def _is_shortened(hit: Hit, shown: dict[str, Any]) -> bool:
    return bool(shown["text"] != hit.passage.text or len(shown["tags"]) < len(hit.passage.tags))


def _fitting(tags: Sequence[str], room: int) -> list[str]:
    ends = accumulate(len(tag) + 3 for tag in tags)
    return [tag for tag, end in zip(tags, ends, strict=True) if end <= room]


def _place(passage: Passage) -> dict[str, Any]:
    code = passage.code
    assert code is not None
    symbol = f" {code.symbol}" if code.symbol else ""
    return {
        "place": f"{code.path}:{passage.first_line}{symbol}",
        "path": code.path,
        "file_path": code.file_path,
        "lines": [passage.first_line, passage.last_line],
        "language": code.language,
        "symbol": code.symbol,
        "symbol_kind": code.kind,
        "verified_at": iso(code.verified_at) if code.verified_at else None,
    }


def _excerpt(text: str, words: Iterable[str], longest: int) -> str:
    """The whole text, or a stretch of it that begins shortly before the first word that matched."""
    if len(text) <= longest:
        return text
    folded = text.lower()
    spots = [spot for word in words if (spot := folded.find(word)) >= 0]
    start = max(0, min(min(spots, default=0) - longest // 4, len(text) - longest))
    end = start + longest
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")


def memory_list(page: MemoryPage) -> Answer:
    answer: Answer = {
        "memories": [_listed_memory(each) for each in page.memories],
        **fields(page, "first", "total", "next_cursor"),
    }
    if page.damaged:
        answer["note"] = (
            f"Left out {counted(page.damaged, 'damaged memory', 'damaged memories')}: run `memsweep doctor`."
        )
    return answer


def _listed_memory(each: ListedMemory) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "memory_id": each.id,
        **fields(each, "kind", "text"),
        "characters": each.length,
        **fields(each, "tags", "source", "created_at"),
        "origin": each.origin.brief,
    }
    if each.path is not None:
        shown |= fields(each, "path", "language")
    shown |= filled(each, "expires_at", "expired", "stale", "pinned", "superseded")
    return {**shown, "quarantine": f"Search leaves it out {each.quarantine}."} if each.quarantine else shown


def updated(result: Updated) -> Answer:
    return {
        **fields(result, "memory_id", "version", "receipt_id"),
        "message": _updated(result),
        **filled(result, "withdrawn"),
        **secrets_met(result),
    }


def _updated(result: Updated) -> str:
    if result.receipt_id is None:
        return f"{result.memory_id} is like that already; nothing was changed."
    lost = len(result.withdrawn)
    facts = f" It no longer states {counted(lost, 'fact')}, which left with the old text." if lost else ""
    return f"Updated {result.memory_id}.{facts} undo_prune with {result.receipt_id} brings back what it was."


def earlier(memory_id: str, found: Sequence[EarlierText]) -> Answer:
    """Return the earlier texts of a memory, the newest first."""
    return {"memory_id": memory_id, "earlier": [fields(each) for each in found]}


def released_fact(relation_id: str) -> Answer:
    message = f"Released {relation_id}: searches, queries and briefings find it from now on."
    return {"relation_id": relation_id, "message": message}


def released(memory: Memory) -> Answer:
    return {"memory_id": memory.id, "message": f"Released {memory.id}: search finds it from now on."}
