"""The port of search."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from memsweep.model.search import (
    Candidate,
    FactWords,
    FileWords,
    Filters,
    Kind,
    Owner,
    Passages,
    Place,
    Statement,
)


class SearchIndex(Protocol):
    """Chunks, found by words and by meaning."""

    def candidates(self, query: str, vector: bytes, filters: Filters, depth: int) -> list[Candidate]:
        """The `depth` best chunks by words and by meaning, each with both scores; an engine may hand in more."""

    def revision(self, *, now: bool) -> str:
        """Another one whenever what can be found has changed: as it is now, or as the last search has seen it."""

    def smaller_kind(self) -> Kind | None:
        """Return the kind with fewer items, memories or files of code; None where there is only one of the two."""

    def statements_about(self, asked: FactWords, *, ended: bool, expired_by: int | None, limit: int) -> list[Statement]:
        """Facts of which an end or the relation is asked for: those first of which most parts are, then the newest.

        What only code says is left out: it is found as code; so is what only memories say that had expired by a moment.
        `ended`: facts that hold no more are wanted, too."""

    def file_words(self, query: str, most: int) -> FileWords:
        """The rarest words of a query in live files of code: as many of them as stand in `most` chunks in all."""

    def newest(self, filters: Filters, limit: int) -> list[Candidate]:
        """The newest chunks: the answer to a query without words."""

    def at_places(self, places: Iterable[Place], filters: Filters) -> dict[Place, int]:
        """The keys of the live chunks at these places that pass the filters."""

    def owners(self, keys: Sequence[int]) -> dict[int, Owner]:
        """Return the owners of these chunks."""

    def passages(self, keys: Sequence[int]) -> Passages: ...

    def matched_words(self, query: str, texts: Sequence[str]) -> list[tuple[str, ...]]:
        """For each text, the words of the query that it contains, as the full-text index sees them."""
