"""The graph as a whole: not on this engine yet, and it says so."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import NoReturn

from memsweep.errors import StoreError
from memsweep.model.atlas import GraphDump, Imported, Survey
from memsweep.model.decay import Rates


def not_yet(what: str) -> NoReturn:
    raise StoreError(
        f"{what} is not possible on FalkorDB yet; nothing was changed.",
        hint="memsweep workspace copy brings the workspace to the embedded engine, which can.",
    )


class FalkorAtlas:
    """Implements `memsweep.store.graph_protocol.Atlas`."""

    def survey(self, rates: Rates, now: datetime) -> Survey:
        not_yet("surveying the whole graph")

    def known_names(self, names: Collection[str]) -> dict[str, str]:
        not_yet("reading facts out of a text")

    def dump(self) -> GraphDump:
        not_yet("exporting the graph")

    def load(self, dump: GraphDump, new_id: Callable[[str], str], actor: str, now: datetime) -> Imported:
        not_yet("importing a graph")
