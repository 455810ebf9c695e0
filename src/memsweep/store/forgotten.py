"""A text that was deleted permanently, and what counts as the same text said again."""

from __future__ import annotations

from collections.abc import Sequence

from memsweep.model.text import content_hash, name_key
from memsweep.store.rows import RowReads, Values
from memsweep.store.things.collected import TombstoneRow


def forgotten_hash(text: str) -> bytes:
    """Return the hash of a tombstone: equal for texts that differ in Unicode form, case or white space alone."""
    return content_hash(name_key(text))


def about(texts: Sequence[str]) -> Values:
    """Return the query of `tombstoned`."""
    return Values(TombstoneRow, ("hash",), (("hash", "in", {digest for text in texts for digest in _hashes(text)}),))


def tombstoned(rows: RowReads, texts: Sequence[str]) -> set[str]:
    """Return those of these texts that were forgotten for good and may not be learned again."""
    found = {digest if isinstance(digest, bytes) else bytes.fromhex(digest) for (digest,) in rows.ask(about(texts))[0]}
    return {text for text in texts if found and not found.isdisjoint(_hashes(text))}


def _hashes(text: str) -> tuple[bytes, bytes]:
    """The second is what tombstones had at first, of the exact text: no other can be made of it."""
    return forgotten_hash(text), content_hash(text)
