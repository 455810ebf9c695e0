"""Tokens of a home, by the hash of their secret."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from memsweep.model.token import Token


class Tokens(Protocol):
    def find(self, digest: str) -> Token | None:
        """Asked for on each request, so that a revocation holds at every server at once; a revoked one is found too."""

    def all(self) -> list[Token]:
        """Also those that are revoked, the oldest first."""

    def add(self, token: Token) -> bool:
        """False if a token of that name is in use."""

    def revoke(self, name: str, now: datetime) -> Token | None:
        """The token as it is then; None if none of that name is in use."""
