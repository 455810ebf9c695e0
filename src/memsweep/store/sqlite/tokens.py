"""Tokens in the registry of a home."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from memsweep.model.stored import expect, expect_or_null, texts, to_json
from memsweep.model.times import from_micros, micros_or_none, moment_or_none, to_micros
from memsweep.model.token import Token
from memsweep.store.file.connect import Pool, one, row
from memsweep.store.sqlite import registry_sql


class SqliteTokens:
    """Implements `memsweep.store.ports.tokens.Tokens`."""

    def __init__(self, registry: Callable[[], Pool], has_registry: Callable[[], bool]) -> None:
        self._registry, self._has_registry = registry, has_registry

    def find(self, digest: str) -> Token | None:
        if not self._has_registry():
            return None
        with self._registry().connection() as db:
            return _token(row(db, registry_sql.FIND_TOKEN, (digest,)))

    def all(self) -> list[Token]:
        if not self._has_registry():
            return []
        with self._registry().reading() as db:
            rows: list[Any] = db.execute(registry_sql.LIST_TOKENS).fetchall()
            return [token for each in rows if (token := _token(each))]

    def add(self, token: Token) -> bool:
        values = (
            token.digest,
            token.name,
            to_json(list(token.workspaces)),
            int(token.read_only),
            to_micros(token.created_at),
            micros_or_none(token.expires_at),
            micros_or_none(token.revoked_at),
        )
        with self._registry().writing() as db:
            return one(db, registry_sql.ADD_TOKEN, values) is not None

    def revoke(self, name: str, now: datetime) -> Token | None:
        if not self._has_registry():
            return None
        with self._registry().writing() as db:
            return _token(row(db, registry_sql.REVOKE_TOKEN, (to_micros(now), name)))


def _token(kept: Any) -> Token | None:
    if kept is None:
        return None
    digest, name, workspaces, read_only, created_at, expires_at, revoked_at = kept
    expect(str, digest, name)
    expect(int, read_only, created_at)
    expect_or_null(int, expires_at, revoked_at)
    times = (moment_or_none(each) for each in (expires_at, revoked_at))
    return Token(name, digest, texts(workspaces), bool(read_only), from_micros(created_at), *times)
