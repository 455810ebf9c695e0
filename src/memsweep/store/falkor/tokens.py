"""Tokens of a prefix: one hash beside the entries of its workspaces, from the hash of a secret to what is known."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from itertools import starmap
from typing import Any

from memsweep.errors import StoreCorrupt
from memsweep.model.stored import expect, to_json
from memsweep.model.times import from_micros, to_micros
from memsweep.model.token import Token
from memsweep.store.falkor import link
from memsweep.store.falkor.link import Link


class FalkorTokens:
    """Implements `memsweep.store.ports.tokens.Tokens`."""

    def __init__(self, link: Link) -> None:
        self._link, self._key = link, f"{link.prefix}:tokens"

    def find(self, digest: str) -> Token | None:
        kept = self._link.read("HGET", self._key, digest)
        return None if kept is None else self._token(digest, kept)

    def all(self) -> list[Token]:
        listed = self._link.read("HGETALL", self._key)
        pairs = listed.items() if isinstance(listed, dict) else zip(listed[::2], listed[1::2], strict=True)
        found = sorted((digest.decode(), kept) for digest, kept in pairs)
        return sorted(starmap(self._token, found), key=lambda each: each.created_at)

    def add(self, token: Token) -> bool:
        values = (token.digest, _kept(token), token.name)
        return bool(self._link.write("EVAL", link.ADD_TOKEN, 1, self._key, *values))

    def revoke(self, name: str, now: datetime) -> Token | None:
        """Only one of two that do so at once changes it; to the other it is revoked already."""
        for token in self.all():
            if token.name == name and token.revoked_at is None:
                revoked = replace(token, revoked_at=now)
                values = (token.digest, _kept(token), _kept(revoked))
                if self._link.write("EVAL", link.FREE, 1, self._key, *values):
                    return revoked
        return None

    def _token(self, digest: str, kept: bytes) -> Token:
        """Of a token nothing is guessed: what is damaged lets nobody in."""
        try:
            return _read(digest, json.loads(kept))
        except (ValueError, TypeError, LookupError) as error:
            raise StoreCorrupt(
                f"what the store keeps of the token {digest[:12]}… is damaged.",
                hint=f"Remove it on the server: HDEL {self._key} {digest}",
            ) from error


def _kept(token: Token) -> str:
    times = {"expires_at": token.expires_at, "revoked_at": token.revoked_at}
    return to_json(
        {
            "name": token.name,
            "workspaces": list(token.workspaces),
            "read_only": token.read_only,
            "created_at": to_micros(token.created_at),
            **{key: to_micros(at) for key, at in times.items() if at is not None},
        }
    )


def _read(digest: str, about: dict[str, Any]) -> Token:
    expect(list, about["workspaces"])
    expect(str, about["name"], *about["workspaces"])
    expect(bool, about["read_only"])
    times = (from_micros(about[key]) if key in about else None for key in ("expires_at", "revoked_at"))
    created_at = from_micros(about["created_at"])
    return Token(about["name"], digest, tuple(about["workspaces"]), about["read_only"], created_at, *times)
