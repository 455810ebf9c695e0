"""Rankings of the last searches, so that the next page of a listing is not ranked anew."""

from __future__ import annotations

from collections import OrderedDict
from typing import NamedTuple

from memsweep.forking import new_lock
from memsweep.memory.ranking import Ranking

MOST = 16
"""How many are kept, of all workspaces together; the longest unused goes first."""


class Listing(NamedTuple):
    """What a ranking is of: the workspace and its content, the query with its filters, and the model."""

    workspace_id: str
    revision: str
    asked: str
    model: str


class Listings:
    """Safe to use from several threads. Another process ranks again."""

    def __init__(self) -> None:
        self._lock = new_lock()
        self._kept: OrderedDict[Listing, Ranking] = OrderedDict()

    def find(self, listing: Listing) -> Ranking | None:
        with self._lock:
            if listing in self._kept:
                self._kept.move_to_end(listing)
            return self._kept.get(listing)

    def keep(self, listing: Listing, ranking: Ranking) -> None:
        with self._lock:
            self._kept[listing] = ranking
            self._kept.move_to_end(listing)
            while len(self._kept) > MOST:
                self._kept.popitem(last=False)
