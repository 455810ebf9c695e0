"""Take back, and give back, the statements that one memory supersedes another. Decide first, write last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memsweep.model.graph_rows import Move
from memsweep.model.superseding import Basis, bases_from, bases_text, together
from memsweep.store.things.memories import Supersession

if TYPE_CHECKING:
    from memsweep.model.plan import PlanItem
    from memsweep.store.changes import Changes

_LINK = "link"
"""A move of this kind says which memory was superseded by which, since when, and who said so."""


class LinksWithout:
    """The rest of the links that a plan names; decided when it is made."""

    def __init__(self, tx: Changes, items: Sequence[PlanItem]) -> None:
        gone = {
            (item.key, int(new)): {frozenset(basis) for basis in bases}
            for item in items
            for new, bases in item.evidence.get("links", {}).items()
        }
        gone |= {
            (int(old), item.key): {frozenset(basis) for basis in bases}
            for item in items
            for old, bases in item.evidence.get("superseded", {}).items()
        }
        there = [link for link in tx.acts.links() if link.pair in gone] if gone else []
        left = [_with(link, [basis for basis in link.bases if basis not in gone[link.pair]]) for link in there]
        # Not all that says so: another retraction may take that back meanwhile.
        self._taken = [_with(link, [basis for basis in link.bases if basis in gone[link.pair]]) for link in there]
        self._changed = [link for link in left if link.bases]
        self._ended = [link.pair for link in left if not link.bases]

    def write(self, tx: Changes, receipt: int) -> None:
        moves = [Move(receipt, _LINK, *link.pair, link.at, bases_text(link.bases)) for link in self._taken]
        tx.moves.add([move for move, link in zip(moves, self._taken, strict=True) if link.bases])
        tx.acts.set_links(self._changed)
        tx.acts.drop_links(self._ended)


class LinksAgain:
    """The links that a receipt ended, once it is undone or `only` one memory comes back; decided when it is made."""

    def __init__(self, tx: Changes, receipt: int, only: int | None = None) -> None:
        moves = [move for move in tx.moves.of([receipt], (_LINK,)) if only in (None, move.a, move.b)]
        self.has_moved = bool(moves)
        there = tx.texts.at({key for move in moves for key in (move.a, move.b) if key is not None}) if moves else {}
        known = {link.pair: link for link in tx.acts.links()} if moves else {}
        self._links = []
        for move in moves:
            if move.b is None or move.c is None or not {move.a, move.b} <= there.keys():
                continue  # one of them was purged meanwhile
            link = Supersession(move.a, move.b, move.c, bases_from(move.said))
            now = known.get(link.pair)
            self._links.append(link if now is None else now._replace(bases=together(now.bases, link.bases)))

    @property
    def older(self) -> set[int]:
        """Return the memories that are superseded again."""
        return {link.pair[0] for link in self._links}

    def write(self, tx: Changes) -> None:
        tx.acts.set_links(self._links)


def _with(link: Supersession, bases: Sequence[Basis]) -> Supersession:
    return link._replace(bases=tuple(bases))
