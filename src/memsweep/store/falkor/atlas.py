"""The graph as a whole: not on this engine yet, and it says so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta
from typing import NoReturn

from memsweep.errors import StoreError
from memsweep.model.atlas import GraphDump, Imported, Survey
from memsweep.model.decay import Rates
from memsweep.model.graph import Faded, Merged, Split
from memsweep.model.memory import NamedThing


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


class NoUpkeep:
    """What keeps the graph in order, on engines that have it."""

    def decay(self, rates: Rates, now: datetime, *, store: bool) -> tuple[list[Faded], list[Faded]]:
        not_yet("storing what facts count now")

    def plan_merge(
        self, names: Sequence[str], into: str, *, plan_id: str, actor: str, now: datetime, lifetime: timedelta
    ) -> Merged:
        not_yet("merging entities")

    def merge(
        self,
        names: Sequence[str],
        into: str,
        rates: Rates,
        *,
        plan_id: str | None,
        receipt_id: str,
        actor: str,
        now: datetime,
    ) -> Merged:
        not_yet("merging entities")

    def split(
        self,
        entity: str,
        thing: NamedThing,
        relations: Sequence[str],
        memories: Sequence[str],
        *,
        new_id: Callable[[str], str],
        actor: str,
        now: datetime,
    ) -> Split:
        not_yet("splitting an entity")
