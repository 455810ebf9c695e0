"""Every column of the registry, as `columns` has those of a workspace. Pure."""

from __future__ import annotations

from memsweep.store.file.forms import (
    Column,
    drop,
    flag,
    like,
    listed,
    lost,
    mapping,
    or_null,
    readable,
    text,
    time,
    to,
    whole,
    word,
)

_WORD = Column(word, drop)
_TEXT = Column(text, readable(""))
_NOW = Column(time, like())
_KEY = Column(whole(), drop)

REGISTRY_COLUMNS: dict[str, dict[str, Column]] = {
    "workspace": {
        "id": _KEY,
        "name": Column(word, lost("lost-{}")),
        "file": _WORD,
        "description": _TEXT,
        "created_at": _NOW,
        "deleted_at": Column(or_null(time), to(None)),
        "receipt": Column(or_null(text), readable(None)),
        "project": _TEXT,
    },
    "intent": {"file": _WORD, "action": _WORD, "owner": _WORD},
    "pending_event": {"id": _KEY, "file": _WORD, "event": Column(mapping, drop)},
    # Of a token nothing is guessed: what is damaged lets nobody in.
    "token": {
        "digest": _WORD,
        "name": _WORD,
        "workspaces": Column(listed(word), drop),
        "read_only": Column(flag, drop),
        "created_at": _NOW,
        "expires_at": Column(or_null(time), drop),
        "revoked_at": Column(or_null(time), drop),
    },
}
