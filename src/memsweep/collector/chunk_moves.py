"""Keep the notes of merges, splits and retractions on a chunk's mentions with its text.

A memory that is written anew gets new chunks. A redaction and its undo give it one for each that it had, so what was
moved in the old ones is taken back in the new. An earlier text waits in a revision with what was written down of it.
Reads first, writes last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from memsweep.model.graph_rows import UNMENTIONED, Move
from memsweep.model.merging import MERGED_MENTION, SPLIT_MENTION

if TYPE_CHECKING:
    from memsweep.model.revision import Piece
    from memsweep.store.changes import Changes

_MENTIONS = (MERGED_MENTION, SPLIT_MENTION, UNMENTIONED)


def noted(tx: Changes, pieces: Mapping[int, Sequence[Piece]]) -> dict[int, list[Piece]]:
    """The pieces of some memories with what is written down of their mentions."""
    splits = tx.moves.splits() if pieces else {}
    acts = tx.acts.of_memories(pieces.keys()) if pieces else []
    noting = {*tx.moves.targets(), *splits, *(act.trash for act in acts if act.trash is not None)} if pieces else set()
    chunks = {piece.key for each in pieces.values() for piece in each}
    of: dict[int, list[Move]] = defaultdict(list)
    for move in tx.moves.of(noting, _MENTIONS, about=chunks) if noting and chunks else []:
        of[move.a].append(move._replace(b=splits[move.receipt].new) if move.kind == SPLIT_MENTION else move)
    return {key: [piece._replace(noted=tuple(of[piece.key])) for piece in each] for key, each in pieces.items()}


def follow(tx: Changes, pieces: Iterable[Piece], chunks: Iterable[int]) -> None:
    """Make the notes on pieces be about these chunks."""
    moves = [
        move._replace(a=chunk, b=None if move.kind == SPLIT_MENTION else move.b)
        for piece, chunk in zip(pieces, chunks, strict=False)
        for move in piece.noted
    ]
    tx.moves.set([move for move in moves if move.place])
    tx.moves.add([move for move in moves if not move.place])


def known(move: Move) -> tuple[int, str, int, int | None]:
    """By what a move is told from others, wherever it is stored: places change when a file is copied or compacted."""
    return move.receipt, move.kind, move.a, None if move.kind == SPLIT_MENTION else move.b


def places_now(
    tx: Changes, pieces: Iterable[Piece], receipts: Collection[int]
) -> dict[tuple[int, str, int, int | None], int]:
    """Return the places of what these receipts noted of pieces, where it still is about the same chunks."""
    chunks = {move.a for piece in pieces for move in piece.noted}
    found = tx.moves.of(receipts, _MENTIONS, about=chunks) if receipts and chunks else []
    return {known(move): move.place for move in found}


def without_undone(piece: Piece, undone: Collection[int], gone: Collection[int]) -> Piece:
    """A piece that comes back, without what receipts moved in it that were undone meanwhile, the last one first.

    What those did that are `gone` is final.
    """
    there, owners, kept = set(piece.entities), dict(piece.handed_in), list[Move]()
    for move in sorted(piece.noted, reverse=True, key=lambda move: (move.receipt, move.place)):
        if move.receipt in gone:
            continue
        if move.receipt not in undone:
            kept.append(move)
            continue
        was, owner, now = _before(move)
        there.discard(-1 if now is None else now)
        if was is not None:
            there.add(was)
            owners |= {} if owner is None else {was: owner}
    handed_in = tuple(sorted((entity, owner) for entity, owner in owners.items() if entity in there))
    return piece._replace(entities=tuple(sorted(there)), handed_in=handed_in, noted=tuple(reversed(kept)))


def _before(move: Move) -> tuple[int | None, int | None, int | None]:
    """Return the mention before a move, its origin, and the mention that is there only since the move."""
    if move.kind == SPLIT_MENTION:
        return move.c, None, move.b
    if move.kind == UNMENTIONED:
        return move.b, move.c, None
    return move.b, move.said[0] if move.said else None, move.c
