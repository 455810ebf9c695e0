"""Context windows in a graph."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from memsweep.model.origin import Origin
from memsweep.store.falkor.matching import best_matches
from memsweep.store.falkor.origins import about, origin_key
from memsweep.store.falkor.rows import FalkorRows, queries_of
from memsweep.store.falkor.surveying import FalkorItems
from memsweep.store.falkor.transaction import GraphHandle, Transaction, writable
from memsweep.store.rows import Find, Values
from memsweep.store.things.windows import SegmentRow
from memsweep.store.windows import WindowParts, Windows


class FalkorWindows(Windows):
    def __init__(self, graph: GraphHandle) -> None:
        self._graph = graph

    @contextmanager
    def _read(self) -> Iterator[WindowParts]:
        yield _parts(self._graph)

    @contextmanager
    def _change(self, head: Find, origin: Origin) -> Iterator[WindowParts]:
        with self._graph.writing(ahead=[*queries_of(head), *about(self._graph, origin)]) as tx:
            yield _parts(tx)


def _parts(asked: GraphHandle | Transaction) -> WindowParts:
    def key_of(origin: Origin) -> int | None:
        return origin_key(writable(asked), origin)

    rows = FalkorRows(asked)
    return WindowParts(rows, FalkorItems(asked), key_of, partial(_matches, rows))


def _matches(rows: FalkorRows, window: int, query: str, count: int) -> dict[int, float]:
    (found,) = rows.ask(Values(SegmentRow, ("place", "stash", "text"), (("project", "=", window),)))
    stashed = {place: text for place, stash, text in found if stash is not None}
    return best_matches(query, stashed, [text for *_, text in found], count)
