"""A text that was deleted permanently, and what counts as the same text said again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from memsweep.model.text import content_hash, name_key


def forgotten_hash(text: str) -> bytes:
    """What a tombstone keeps: equal for texts that differ in Unicode form, letter case or white space alone."""
    return content_hash(name_key(text))


def forgotten_hashes(texts: Iterable[str]) -> list[str]:
    """Every hash that one of these may have been forgotten under."""
    return [digest for text in texts for digest in _hashes(text)]


def tombstoned(texts: Sequence[str], known: Callable[[list[str]], Iterable[Any]]) -> set[str]:
    """Those of these that have a tombstone; `known` gives the hashes that have one, each as a row."""
    found = {digest for (digest,) in known(forgotten_hashes(texts))} if texts else set()
    return {text for text in texts if found and not found.isdisjoint(_hashes(text))}


def _hashes(text: str) -> tuple[str, str]:
    """The second is what tombstones had at first, of the exact text: no other can be made of it."""
    return forgotten_hash(text).hex(), content_hash(text).hex()
