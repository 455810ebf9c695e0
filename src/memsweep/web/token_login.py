"""Logging in to the page with a token of the HTTP door."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from memsweep.caller import granted_by
from memsweep.errors import MemsweepError, NotAllowed
from memsweep.web.login import Grant, Redeem

if TYPE_CHECKING:
    from memsweep.app import App


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
