"""Tokens of a home, by the hash of their secret: rows of its registry."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from memsweep.model.token import Token
from memsweep.store.things.registry import TokenRow

if TYPE_CHECKING:
    from memsweep.store.workspaces import Engine


class Tokens:
    def __init__(self, registry: Engine) -> None:
        self._registry = registry

    def find(self, digest: str) -> Token | None:
        """Asked for on each request, so that a revocation holds at every server at once; a revoked one is found too."""
        found = self._registry.rows(TokenRow, ("digest", "=", digest))
        return Token(**found[0]._asdict()) if found else None

    def all(self) -> list[Token]:
        """Also those that are revoked, the oldest first."""
        found = [Token(**row._asdict()) for row in self._registry.rows(TokenRow)]
        return sorted(found, key=lambda each: (each.created_at, each.digest))

    def add(self, token: Token) -> bool:
        """False if a token of that name is in use."""
        return self._registry.change((None, TokenRow(*(getattr(token, name) for name in TokenRow._fields))))

    def revoke(self, name: str, now: datetime) -> Token | None:
        """The token as it is then; None if none of that name is in use."""
        for row in self._registry.rows(TokenRow, ("name", "=", name), ("revoked_at", "null", None)):
            revoked = row._replace(revoked_at=now)
            if self._registry.change((row, revoked)):  # to the other of two that do so at once, it is revoked already
                return Token(**revoked._asdict())
        return None
