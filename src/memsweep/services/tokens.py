"""`app.tokens`: who has access over HTTP."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable
from typing import TYPE_CHECKING

from memsweep.errors import AlreadyExists, NotAllowed, NotFound
from memsweep.model.ids import check_name
from memsweep.model.token import SECRET_BYTES, Token, digest_of, is_secret, make_secret, make_token

if TYPE_CHECKING:
    from memsweep.app import App


class TokenService:
    """The tokens of a home, which every server on it shares."""

    def __init__(self, app: App) -> None:
        self._app = app

    def create(
        self, name: str, workspaces: Iterable[str] = (), *, read_only: bool = False, days: float | None = None
    ) -> tuple[Token, str]:
        """A new token for these workspaces, or for all, and its secret, which is kept nowhere."""
        token, secret = self.draft(name, workspaces, read_only=read_only, days=days)
        self.add(token)
        return token, secret

    def draft(
        self, name: str, workspaces: Iterable[str] = (), *, read_only: bool = False, days: float | None = None
    ) -> tuple[Token, str]:
        """The same, but nobody is let in with it before it is added."""
        secret = make_secret(secrets.token_bytes(SECRET_BYTES))
        return make_token(name, secret, workspaces, read_only=read_only, now=self._app.clock(), days=days), secret

    def add(self, token: Token) -> None:
        if not self._app.engine.tokens.add(token):
            raise AlreadyExists(
                f"a token {token.name!r} is in use already.",
                hint=f"Choose another name, or revoke it first: memsweep token revoke {token.name}",
            )

    def all(self, *, revoked: bool = False) -> list[Token]:
        """Return the tokens in use, expired ones among them; on request also those that were revoked."""
        return [each for each in self._app.engine.tokens.all() if revoked or each.revoked_at is None]

    def has_active(self) -> bool:
        now = self._app.clock()
        return any(each.state(now) == "active" for each in self._app.engine.tokens.all())

    def revoke(self, name: str) -> Token:
        """From this moment on no server lets it in."""
        revoked = self._app.engine.tokens.revoke(check_name(name, "token name"), self._app.clock())
        if revoked is None:
            known = ", ".join(repr(each.name) for each in self.all()) or "none"
            raise NotFound(f"there is no token {name!r} in use; those in use: {known}.")
        return revoked

    def admit(self, secret: str) -> Token:
        """The token that belongs to a secret, if it is good now."""
        digest = digest_of(secret)
        found = self._app.engine.tokens.find(digest) if is_secret(secret) else None
        if found is None or not hmac.compare_digest(found.digest, digest):
            raise NotAllowed("this token is unknown here.", hint="`memsweep token create` makes one.")
        found.refuse_unusable(self._app.clock())
        return found
