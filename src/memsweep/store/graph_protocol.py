"""What an engine does for the graph as a whole: survey it, carry it away, take it in."""

from __future__ import annotations

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Protocol

from memsweep.model.atlas import GraphDump, Imported, Survey
from memsweep.model.decay import Rates


class Atlas(Protocol):
    """The whole graph of a workspace. Every method is one transaction."""

    def survey(self, rates: Rates, now: datetime) -> Survey:
        """Every live entity and relation, with what they count now, in the order of their making."""

    def known_names(self, names: Collection[str]) -> dict[str, str]:
        """Of names in the form under which they are compared, those of entities, as they are written."""

    def dump(self) -> GraphDump:
        """All that is stored of the live graph."""

    def load(self, dump: GraphDump, new_id: Callable[[str], str], actor: str, now: datetime) -> Imported:
        """Take a graph in beside what is there, all of it or nothing. Of two the later confirmed counts."""
