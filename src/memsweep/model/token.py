"""Tokens: who has access over HTTP, to which workspaces, and until when. Pure.

A token is 256 random bits, so its plain SHA-256 cannot be searched for: stores keep that, and never the token.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from memsweep.errors import BadInput, NotAllowed
from memsweep.model.ids import check_name
from memsweep.model.text import counted
from memsweep.model.times import iso

SECRET_BYTES = 32
MOST_DAYS = 36_500
MOST_WORKSPACES = 100
_PREFIX = "msw_"
_SECRET = re.compile(rf"{_PREFIX}[A-Za-z0-9_-]{{43}}")

State = Literal["active", "expired", "revoked"]


@dataclass(frozen=True, slots=True)
class Token:
    """A token as a store knows it."""

    name: str
    digest: str
    workspaces: tuple[str, ...]
    """Empty: all of them. Of several, the first is what an empty workspace id means."""
    read_only: bool
    created_at: datetime
    expires_at: datetime | None = None
    revoked_at: datetime | None = None

    def state(self, now: datetime) -> State:
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and now >= self.expires_at else "active"

    def allows(self, workspace_id: str) -> bool:
        return not self.workspaces or workspace_id in self.workspaces

    def refuse_unusable(self, now: datetime) -> None:
        """Refuse a token that was good once, and say so: whoever holds it may know."""
        match self.state(now):
            case "revoked":
                assert self.revoked_at is not None
                raise NotAllowed(f"token {self.name!r} was revoked on {iso(self.revoked_at)[:10]}.", hint=_NEW)
            case "expired":
                assert self.expires_at is not None
                raise NotAllowed(f"token {self.name!r} expired on {iso(self.expires_at)[:10]}.", hint=_NEW)

    def refusal(self, workspace_id: str) -> NotAllowed:
        """Why a call to another workspace is refused; whether there is one of that name is not said."""
        bound = ", ".join(map(repr, self.workspaces))
        return NotAllowed(
            f"token {self.name!r} is not for workspace {workspace_id!r:.80}, only for {bound}.",
            hint="Leave workspace_id empty, or use a token for that workspace.",
        )


_NEW = "Whoever runs the server makes a new one with `memsweep token create`."


def make_secret(entropy: bytes) -> str:
    """The token itself, from `SECRET_BYTES` random bytes."""
    return _PREFIX + base64.urlsafe_b64encode(entropy).decode().rstrip("=")


def is_secret(text: str) -> bool:
    """Return whether this can be a token of ours; anything else is not looked for."""
    return _SECRET.fullmatch(text) is not None


def digest_of(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def make_token(
    name: str,
    secret: str,
    workspaces: Iterable[str],
    *,
    read_only: bool,
    now: datetime,
    days: float | None = None,
) -> Token:
    """A new token, checked."""
    named = tuple(dict.fromkeys(check_name(each) for each in workspaces))
    if len(named) > MOST_WORKSPACES:
        raise BadInput(f"a token names at most {counted(MOST_WORKSPACES, 'workspace')}, not {len(named)}.")
    return Token(check_name(name, "token name"), digest_of(secret), named, read_only, now, _expiry(now, days))


def _expiry(now: datetime, days: float | None) -> datetime | None:
    if days is None:
        return None
    if not 0 < days <= MOST_DAYS:
        raise BadInput(f"days must be more than 0 and at most {MOST_DAYS:,}, not {days:g}.")
    return now + timedelta(days=days)
