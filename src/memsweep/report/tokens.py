"""Tokens in JSON; a secret is in one answer only, when it is made."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memsweep.model.token import Token
from memsweep.report import Answer, fields


def token(each: Token, now: datetime, secret: str = "") -> Answer:
    answer: Answer = {
        "name": each.name,
        "workspaces": list(each.workspaces) or None,
        "read_only": each.read_only,
        "state": each.state(now),
        **fields(each, "created_at", "expires_at", "revoked_at"),
    }
    return {**answer, "token": secret} if secret else answer


def tokens(known: Iterable[Token], now: datetime) -> Answer:
    return {"tokens": [token(each, now) for each in known]}


def in_words(each: Answer) -> str:
    """Return the reach of a token in words: `default, read-only, until 2026-12-01`."""
    where = "all workspaces" if each["workspaces"] is None else ", ".join(each["workspaces"])
    end = f", until {each['expires_at'][:10]}" if each["expires_at"] else ""
    state = "" if each["state"] == "active" else f" ({each['state']})"
    return f"{where}, {'read-only' if each['read_only'] else 'read-write'}{end}{state}"
