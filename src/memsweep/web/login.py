"""Log in to the page: a one-time link becomes a session, which a cookie names until it ends."""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from memsweep.errors import MemsweepError, NotAllowed
from memsweep.operation import granted_by

if TYPE_CHECKING:
    from memsweep.app import App

HOURS = 12
LINK_SECONDS = 15 * 60
_MOST_SESSIONS = 200
_MOST_NOTICES = 20


@dataclass(frozen=True, slots=True)
class Grant:
    """The rights of a session."""

    read_only: bool = False
    workspaces: tuple[str, ...] | None = None
    """None: all of them."""
    is_owner: bool = True
    """Whether this is whoever runs memsweep here, rather than somebody with a token: the home is theirs to see."""
    still_holds: Callable[[], bool] = lambda: True
    """Asked on every request: a token may have been revoked since."""
    within: Callable[[], AbstractContextManager[None]] = nullcontext
    """Around everything that is done for the session: the bounds of a token hold below the page, too."""

    def covers(self, workspace_id: str) -> bool:
        return self.workspaces is None or workspace_id in self.workspaces


@dataclass(frozen=True, slots=True)
class Notice:
    """A message on the page that follows; a receipt can be undone from there."""

    said: str
    receipt_id: str = ""


@dataclass(slots=True)
class Session:
    """One browser that has logged in."""

    id: str
    csrf: str
    grant: Grant
    ends_at: float
    notices: OrderedDict[str, Notice] = field(default_factory=OrderedDict)
    spared: OrderedDict[str, frozenset[str]] = field(default_factory=OrderedDict)
    """By plan: what somebody unticked on the pages of it that they have seen."""

    def note(self, notice: Notice) -> str:
        """Keep a notice for the next page; what finds it again."""
        key = secrets.token_urlsafe(6)
        _put(self.notices, key, notice)
        return key

    def spare(self, plan_id: str, items: frozenset[str]) -> None:
        _put(self.spared, plan_id, items)


Redeem = Callable[[str], Grant | None]


class OneTimeLink:
    """A token that opens one session, for the first browser that shows it in time, and then nothing more."""

    def __init__(self, grant: Grant | None = None, clock: Callable[[], float] = time.time) -> None:
        self.token = secrets.token_urlsafe(24)
        self.on_use: Callable[[], object] = lambda: None
        self._grant, self._clock, self._lock = grant or Grant(), clock, threading.Lock()
        self._ends_at, self._used_at = clock() + LINK_SECONDS, 0.0

    def redeem(self, given: str) -> Grant | None:
        """Return what the session may do; None for another token. Raises NotAllowed where it is too late."""
        if not is_same(given, self.token):
            return None
        with self._lock:
            now = self._clock()
            if self._used_at:
                at = time.strftime("%H:%M:%S", time.localtime(self._used_at))
                raise NotAllowed(
                    f"A browser logged in with this link at {at}, and it works once.",
                    hint="If that was not yours, end the page with Ctrl-C at once. memsweep ui makes a new link.",
                )
            if now > self._ends_at:
                raise NotAllowed("This link was not used in time.", hint="Run memsweep ui again for a new one.")
            self._used_at = now
        self.on_use()
        return self._grant


class Logins:
    """The sessions of one process; they end with it, so that no cookie outlives the server."""

    def __init__(self, redeem: Redeem, clock: Callable[[], float]) -> None:
        self._redeem, self._clock = redeem, clock
        self._sessions: OrderedDict[str, Session] = OrderedDict()

    def open(self, token: str) -> Session | None:
        grant = self._redeem(token)
        if grant is None:
            return None
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(16), grant, self._clock() + HOURS * 3600)
        _put(self._sessions, session.id, session, _MOST_SESSIONS)
        return session

    def find(self, cookie: str) -> Session | None:
        session = self._sessions.get(cookie)
        if session is None or session.ends_at < self._clock() or not session.grant.still_holds():
            return None
        return session

    def close(self, session: Session) -> None:
        self._sessions.pop(session.id, None)


def is_same(given: object, known: str) -> bool:
    return isinstance(given, str) and hmac.compare_digest(given.encode(), known.encode())


def _put(kept: OrderedDict[str, Any], key: str, value: Any, most: int = _MOST_NOTICES) -> None:
    """The newest, and no more than so many: a session does not grow for ever."""
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > most:
        kept.popitem(last=False)


def redeem_tokens(app: App) -> Redeem:
    """A session may do what its token may, for as long as that is good."""

    def redeem(secret: str) -> Grant | None:
        try:
            token = app.tokens.admit(secret)
        except NotAllowed:
            return None
        return Grant(
            read_only=token.read_only,
            workspaces=token.workspaces or None,
            is_owner=False,
            still_holds=lambda: _is_good(app, secret),
            within=partial(granted_by, token),
        )

    return redeem


def _is_good(app: App, secret: str) -> bool:
    try:
        return bool(app.tokens.admit(secret))
    except MemsweepError:  # revoked, or nobody can say: then nobody is let in
        return False
