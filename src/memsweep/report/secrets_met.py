"""What an answer says of the secrets that were handed in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from memsweep.model.text import listed
from memsweep.report.typed import TypedDict


class SecretsMet(TypedDict, total=False):
    redacted: list[str]
    warnings: list[str]


class _Stored(Protocol):
    @property
    def redacted(self) -> tuple[str, ...]: ...

    @property
    def warnings(self) -> tuple[str, ...]: ...


def secrets_met(result: _Stored) -> SecretsMet:
    """The kinds that were redacted, and what was stored with a secret in it; nothing if there was none."""
    said: SecretsMet = {"redacted": list(result.redacted)} if result.redacted else {}
    return {**said, "warnings": list(result.warnings)} if result.warnings else said


def in_sentences(answer: Mapping[str, Any]) -> list[str]:
    """The same of an answer, for people."""
    kinds = answer.get("redacted")
    return [*([f"Redacted: {listed(kinds)}."] if kinds else []), *answer.get("warnings", [])]
