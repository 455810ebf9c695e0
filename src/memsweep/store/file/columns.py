"""Every column of every table: what may stand in it, and what takes the place of what may not. Pure.

A row keeps as much as can be kept: a memory whose time is lost is still a memory. Where something must be
chosen, it is what keeps more (pinned, not stale, not in the trash).
"""

from __future__ import annotations

from typing import Any, get_args

from memsweep.model.origin import TIERS
from memsweep.model.segment import Generation, Role, SegmentType
from memsweep.model.vocabulary import ACTS, ACTS_ON_MEMORIES, ItemKind
from memsweep.store.file.forms import (
    Column,
    Together,
    anything,
    bases,
    count,
    counts,
    data,
    digest,
    drop,
    flag,
    hash_of,
    key_of,
    like,
    listed,
    lost,
    mapping,
    model,
    one_of,
    or_null,
    pairs,
    readable,
    same_or_drop,
    share,
    summary,
    text,
    time,
    to,
    whole,
    word,
)

_KEY = Column(whole(), drop)
_LINK = Column(whole(0), drop)
_MAYBE_LINK = Column(or_null(whole(0)), to(None))
_TRASH = Column(or_null(whole(1)), to(None))
_VERSION = Column(whole(1), to(1))
_COUNT = Column(count, to(0))
_MAYBE_TIME = Column(or_null(time), to(None))
_NOW = Column(time, like())
_KEPT = Column(flag, to(1))
_NO = Column(flag, to(0))
_TEXT = Column(text, readable(""))
_MAYBE_TEXT = Column(or_null(text), readable(None))
WORD = Column(word, drop)
_OBJECT = Column(mapping, to("{}"))
_WORDS = Column(listed(text), to("[]"))
_SHARE = Column(or_null(share), to(None))

COLUMNS: dict[str, dict[str, Column]] = {
    "meta": {"key": WORD, "value": Column(lambda value: True, drop)},  # what a value may be depends on the key
    "origin": {
        "id": _KEY,
        **dict.fromkeys(("door", "client", "client_version", "session", "tool"), _TEXT),
        "tier": Column(one_of(*TIERS), to("import")),
    },
    "thread": {"id": _KEY, "uid": Column(word, lost("lost thread {}"))},
    "memory": {
        "id": _KEY,
        "uid": Column(word, lost("mem_lost{}")),
        "text": Column(text, readable("")),
        "tags": _WORDS,
        "source": _TEXT,
        "metadata": _OBJECT,
        "thread": _MAYBE_LINK,
        "created_at": Column(time, like("updated_at", "last_seen_at")),
        "updated_at": Column(time, like("created_at", "last_seen_at")),
        "last_seen_at": Column(or_null(time), like("updated_at", "created_at")),
        "expires_at": _MAYBE_TIME,
        "stale": _NO,
        "pinned": _KEPT,
        "content_hash": Column(digest, hash_of("text")),
        "version": _VERSION,
        "trash": _TRASH,
        "origin": _MAYBE_LINK,
        "released_at": _MAYBE_TIME,
    },
    "memory_tag": {"tag": Column(text, drop), "memory": _LINK},
    "chunk": {
        "id": _KEY,
        "uid": Column(word, lost("chk_lost{}")),
        "memory": _LINK,
        **dict.fromkeys(("position", "start"), _COUNT),
        "text": Column(text, readable("")),
        "first_line": Column(count, to(1)),
        "last_line": Column(count, to(1)),
        "hash": Column(digest, hash_of("text")),
        "stream": Column(or_null(whole()), to(None)),
        "stream_position": Column(or_null(count), to(None)),
        **dict.fromkeys(("symbol", "symbol_kind", "words"), _TEXT),
        "trash": _TRASH,
    },
    "vector": {"chunk": _KEY, "data": Column(data, drop)},
    "entity": {
        "id": _KEY,
        "uid": Column(word, lost("ent_lost{}")),
        "name": Column(word, same_or_drop("name_key")),
        "name_key": Column(word, key_of("name")),
        "type": Column(word, same_or_drop("type_key")),
        "type_key": Column(word, key_of("type")),
        "confidence": Column(share, to(1.0)),
        "current": _SHARE,
        "handed_in": _KEPT,
        "pinned": _KEPT,
        "created_at": Column(time, like("last_seen")),
        "last_seen": Column(time, like("created_at")),
        "version": _VERSION,
        "trash": _TRASH,
        "origin": _MAYBE_LINK,
    },
    "relation": {
        "id": _KEY,
        "uid": Column(word, lost("rel_lost{}")),
        "subject": _LINK,
        "object": _LINK,
        "relation": Column(word, same_or_drop("relation_key")),
        "relation_key": Column(word, key_of("relation")),
        **dict.fromkeys(("weight", "current"), _SHARE),
        "evidence": Column(count, to(1)),
        "handed_in": _KEPT,
        "created_at": Column(time, like("last_seen")),
        "last_seen": Column(time, like("created_at")),
        **dict.fromkeys(("valid_at", "invalid_at", "released_at"), _MAYBE_TIME),
        "version": _VERSION,
        "trash": _TRASH,
        "origin": _MAYBE_LINK,
    },
    "mention": {"chunk": _LINK, "entity": _LINK, "trash": _TRASH, "origin": _MAYBE_LINK},
    # What is damaged counts no more than what was taken back: the fact stays as it is.
    "contribution": {
        "id": _KEY,
        "relation": _LINK,
        "act": Column(one_of(*ACTS), drop),
        "at": Column(time, drop),
        "rate": Column(share, drop),
        "value": Column(or_null(share), drop),
        "explicit": Column(flag, drop),
        "valid_at": _MAYBE_TIME,
        **dict.fromkeys(("origin", "memory"), _MAYBE_LINK),
        **dict.fromkeys(("before", "after"), Column(or_null(anything), drop)),
        "trash": _TRASH,
    },
    "relation_source": {"relation": _LINK, "memory": _LINK},
    "memory_act": {
        "id": _KEY,
        "memory": _LINK,
        "origin": _MAYBE_LINK,
        "receipt": _MAYBE_LINK,
        "trash": _TRASH,
        "act": Column(one_of(*ACTS_ON_MEMORIES), drop),
        "at": Column(time, drop),
        "said": Column(mapping, drop),
    },
    "supersession": {"old": _LINK, "new": _LINK, "at": _NOW, "origins": Column(bases, to("[]"))},
    "alias": {"name_key": WORD, "type_key": WORD, "name": WORD, "entity": _LINK, "receipt": _MAYBE_LINK},
    "merge_move": {
        "receipt": _LINK,
        "kind": WORD,
        "a": _LINK,
        "b": Column(or_null(whole()), drop),
        "c": Column(or_null(whole()), drop),
        "said": Column(anything, drop),
    },
    "revision": {
        "id": _KEY,
        "receipt": _LINK,
        "kind": WORD,
        "item": _LINK,
        "at": _NOW,
        "before": Column(mapping, drop),
    },
    "code_root": {"id": _KEY, "path": Column(word, lost("/lost folder {}")), "total_files": _COUNT},
    "code_scope": {
        "id": _KEY,
        "root": _LINK,
        "filters": Column(text, drop),
        "runs": _COUNT,
        "verified_at": _MAYBE_TIME,
    },
    "code_file": {
        "memory": _KEY,
        "root": Column(whole(0), to(0)),
        "path": Column(word, lost("lost file {}")),
        "language": _TEXT,
        "stamp": _TEXT,
        "digest": _TEXT,
        "read_at_ns": _COUNT,
        "lines": _COUNT,
        "functions": _COUNT,
        "classes": _COUNT,
        "encoding": _TEXT,
        "failure": _TEXT,
        "scope": _MAYBE_LINK,
        "verified_at": _MAYBE_TIME,
    },
    "code_skip": {
        "root": _LINK,
        "path": WORD,
        "language": Column(text, drop),
        "stamp": Column(text, drop),
        "digest": Column(text, drop),
        "read_at_ns": Column(count, drop),
    },
    # A plan that is not whole can be made again; a receipt is what undo needs.
    "plan": {
        "id": _KEY,
        "uid": WORD,
        "strategy": WORD,
        "created_at": Column(time, drop),
        "expires_at": Column(time, drop),
        "digest": WORD,
        "summary": Column(summary, drop),
        "receipt": Column(or_null(whole(1)), drop),
    },
    "plan_item": {
        "plan": _LINK,
        "position": Column(count, drop),
        "kind": Column(one_of(*get_args(ItemKind)), drop),
        "key": _LINK,
        "version": Column(count, drop),
        "reason": Column(text, drop),
        "evidence": Column(mapping, drop),
    },
    "receipt": {
        "id": _KEY,
        "uid": Column(word, lost("rcpt_lost{}")),
        "plan": _MAYBE_TEXT,
        "action": Column(word, to("lost")),
        "strategy": Column(word, to("lost")),
        "actor": _TEXT,
        "created_at": _NOW,
        "counts": Column(counts, to("{}")),
        "skipped": Column(pairs, to("[]")),
        "undone_at": _MAYBE_TIME,
        "purged_at": _MAYBE_TIME,
    },
    "audit": {
        "id": _KEY,
        "at": _NOW,
        "actor": _TEXT,
        "action": _TEXT,
        "subject": _TEXT,
        "counts": _OBJECT,
        "reason": _TEXT,
    },
    "tombstone": {"hash": Column(digest, drop), "at": _NOW, "memory": _TEXT, "reason": _TEXT},
    "name_seen": {
        "name_key": WORD,
        "name": WORD,
        "evidence": Column(count, drop),
        "chunks": Column(listed(whole()), drop),
    },
    "project": {
        "id": _KEY,
        "uid": Column(word, lost("lost-{}")),
        "created_at": _NOW,
        "tokens": _COUNT,
        "segments": _COUNT,
        "stashed": _COUNT,
        "changes": _COUNT,
        "full_from": _COUNT,
        "places": _COUNT,
        "turns": _COUNT,
        "counted_by": _TEXT,
        "config": _OBJECT,
        "focus": _OBJECT,
    },
    "segment": {
        "id": _KEY,
        "project": Column(whole(0), to(0)),
        "place": Column(count, lambda damaged, row: 1_000_000_000 + row["rowid"]),  # behind all others
        "turn": _COUNT,
        "uid": Column(word, lost("lost-{}")),
        "type": Column(one_of(*get_args(SegmentType)), to("note")),
        "created_at": Column(time, like("last_touched_at")),
        "last_touched_at": Column(time, like("created_at")),
        "pinned": _KEPT,
        "generation": Column(one_of(*get_args(Generation)), to("old")),
        "gc_survival_count": _COUNT,
        "refcount": _COUNT,
        "file_path": _MAYBE_TEXT,
        "first_line": Column(or_null(count), to(None)),
        "last_line": Column(or_null(count), to(None)),
        "tags": _WORDS,
        "topic_id": _MAYBE_TEXT,
        "tokens": _COUNT,
        "role": Column(or_null(one_of(*get_args(Role))), to(None)),
        "task_id": _MAYBE_TEXT,
        "refs": _WORDS,
        "version": _VERSION,
        "stash": _TRASH,
        "trash": _TRASH,
        "text": _TEXT,
        "origin": _MAYBE_LINK,
    },
    "segment_link": {"project": _LINK, "target": Column(text, drop), "source": _LINK},
}

REGISTRY_COLUMNS: dict[str, dict[str, Column]] = {
    "workspace": {
        "id": _KEY,
        "name": Column(word, lost("lost-{}")),
        "file": WORD,
        "description": _TEXT,
        "created_at": _NOW,
        "deleted_at": _MAYBE_TIME,
        "receipt": _MAYBE_TEXT,
        "project": _TEXT,
    },
    "intent": {"file": Column(word, drop), "action": Column(word, drop), "owner": Column(word, drop)},
    "pending_event": {"id": _KEY, "file": WORD, "event": Column(mapping, drop)},
    # Of a token nothing is guessed: what is damaged lets nobody in.
    "token": {
        "digest": WORD,
        "name": WORD,
        "workspaces": Column(listed(word), drop),
        "read_only": Column(flag, drop),
        "created_at": _NOW,
        "expires_at": Column(or_null(time), drop),
        "revoked_at": Column(or_null(time), drop),
    },
}

META: dict[str, Column] = {
    "workspace": Column(word, drop),
    "description": _TEXT,
    "created_at": _NOW,
    "deleted_at": _MAYBE_TIME,
    "model": Column(model, drop),
    "staged_model": Column(text, drop),
    "vector_generation": Column(or_null(count), lambda damaged, row: row["now"]),  # one that no vector file has
}

TOGETHER: dict[str, tuple[Together, ...]] = {
    "chunk": (
        Together(
            ("stream", "stream_position"), lambda row: (row["stream"] is None) == (row["stream_position"] is None)
        ),
    ),
    "segment": (Together(("first_line", "last_line"), lambda row: _is_range(row["first_line"], row["last_line"])),),
}


def _is_range(first: Any, last: Any) -> bool:
    return first is last is None or (first is not None and last is not None and first <= last)
