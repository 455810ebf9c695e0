"""Find what was written since a receipt about something that its undo brings back.

After a merge, texts mention what they name by rule. Files of code are left to the next run of the index. Nobody
wrote down by which of its names a fact was stated of what a merge kept, so facts stay there, which the undo says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memsweep.model.graph_rows import Mention
from memsweep.model.memory import CODE_SOURCE
from memsweep.model.text import FindNames, FoundName, counted, name_key
from memsweep.model.times import from_micros, to_micros

if TYPE_CHECKING:
    from datetime import datetime

    from memsweep.model.graph_rows import EntityRecord
    from memsweep.model.revision import Piece
    from memsweep.store.changes import Changes


def no_names(texts: Sequence[str]) -> Sequence[FoundName]:
    """For a collector that was handed no rules."""
    return ()


def _has_any(text: str, names: Collection[str]) -> bool:
    return any(name in text for name in names)


def named_since(tx: Changes, at: datetime, entities: Mapping[str, int], find: FindNames) -> list[tuple[str, str]]:
    """Live memories that were written at that moment or later, name one of these entities and do not mention it."""
    found = {
        row.key: (row, {name_key(each.name) for each in find([row.text])} & entities.keys())
        for row in tx.texts.since(at)
        if row.trash is None
    }
    found = {key: each for key, each in found.items() if each[1]}
    pieces = tx.texts.pieces(found.keys()) if found else {}
    mentioned = {key: {entity for piece in each for entity in piece.entities} for key, each in pieces.items()}
    return [
        (row.id, name)
        for key, (row, names) in found.items()
        for name in sorted(names)
        if entities[name] not in mentioned[key]
    ]


class Naming(NamedTuple):
    """A chunk, and what it names."""

    piece: Piece
    names: frozenset[str]


def _naming(pieces: Sequence[Piece], find: FindNames) -> list[Naming]:
    found: dict[int, set[str]] = defaultdict(set)
    for name in find([piece.text for piece in pieces]):
        for place in name.texts:
            found[place].add(name_key(name.name))
    return [Naming(piece, frozenset(found[place])) for place, piece in enumerate(pieces)]


class SinceMerge:
    """The additions to the entity that a merge `kept`, and their place once the merge is undone."""

    def __init__(self, tx: Changes, receipt: int, kept: EntityRecord) -> None:
        self._tx, self._receipt, self.kept = tx, receipt, kept
        self._at = to_micros(tx.receipts.at({receipt})[receipt].created_at)
        around = tx.relations.touching([kept.key])
        self._facts = [each for each in around if each.trash in (None, receipt)]
        self._sources = tx.relations.sources({each.key for each in self._facts})
        self._mentioning = {memory for _, memory in tx.items.around([kept.key]).mentions}
        memories = self._mentioning | {each.memory for each in self._sources}
        rows = tx.texts.at(memories) if memories else {}
        self._since = {key: row for key, row in rows.items() if row.updated_at >= self._at}
        files = {key for key, row in self._since.items() if row.source == CODE_SOURCE and row.trash is None}
        self._files = sorted(files)
        self.named: dict[Mention, int | None] = {}
        self.no_more: list[Mention] = []
        self.conflicts: list[tuple[str, str]] = []

    def name_again(
        self, back: Collection[tuple[str, int]], stays: Collection[str], moved: Collection[int], find: FindNames
    ) -> None:
        """`back` are names with the entities that have them again, `stays` those of what was kept; what was in `moved`
        chunks the merge has written down."""
        names = {name for name, _ in back}
        trashed = [row for row in self._tx.texts.since(from_micros(self._at)) if row.trash is not None]
        trashed = [row for row in trashed if _has_any(name_key(row.text), names)]
        texts = [key for key in sorted(self._mentioning & self._since.keys()) if key not in self._files]
        texts += (row.key for row in trashed)
        for memory, pieces in self._tx.texts.pieces(texts).items() if texts else ():
            for piece, there in _naming(pieces, find):
                if piece.key in moved or self.kept.key not in piece.entities:
                    continue
                named = {entity for name, entity in back if name in there}
                self.named |= {Mention(piece.key, entity): None for entity in sorted(named - {*piece.entities})}
                if named and there.isdisjoint(stays):
                    self.no_more.append(Mention(piece.key, self.kept.key))
                elif there.isdisjoint(stays) and memory in self._since:
                    self._stays(self._since[memory].id)
        self._say_again()

    def _say_again(self) -> None:
        """Write down mentions passed with a text said again as those of what was kept."""
        acts = self._tx.acts.of_memories(self._mentioning) if self._mentioning else []
        acts = [act for act in acts if act.act == "say" and act.at >= self._at and act.trash is None]
        handed = [(act, place) for act in acts for place, entity in act.mentions if entity == self.kept.key]
        rows = self._tx.texts.at({act.memory for act, _ in handed}) if handed else {}
        pieces = self._tx.texts.pieces(rows.keys()) if rows else {}
        for act, place in handed:
            row = rows[act.memory]
            if act.text == row.content_hash.hex() and place < len(pieces[row.key]):
                owner = None if act.origin == row.origin else act.origin
                self.named[Mention(pieces[row.key][place].key, self.kept.key)] = owner
                self._stays(row.id)

    def _stays(self, uid: str) -> None:
        self.conflicts.append((uid, f"what was handed in with it since the merge stays with {self.kept.id}"))

    def look_at_facts(self, moved: Collection[int], stuck: Collection[int]) -> None:
        """`moved` facts go back to where they were, `stuck` ones stay as strong as they are."""
        reread = "it was indexed since the merge; the next run of the index reads it again"
        self.conflicts += [(self._since[key].id, reread) for key in self._files]
        indexed = {each.relation for each in self._sources if each.memory in self._files}
        stated = {each.relation for each in self._sources if each.memory in self._since} - indexed
        new = 0
        for each in self._facts:
            if each.trash is not None and each.key in stated:
                self.conflicts.append((each.id, "it comes back, though who stated it was updated since"))
            elif each.trash is None and each.key in stuck:
                self.conflicts.append((each.id, "it was changed since the merge, and stays as it is"))
            elif each.trash is None and each.last_seen >= self._at and each.key not in indexed:
                new += each.key not in moved
        if new:
            stay = "stays" if new == 1 else "stay"
            self.conflicts.append((self.kept.id, f"{counted(new, 'fact')} that came since the merge {stay} with it"))

    def write(self, tx: Changes) -> None:
        tx.mentions.add(self.named, {each: owner for each, owner in self.named.items() if owner is not None})
        tx.mentions.drop(self.no_more)
        tx.texts.read_again(self._files)
