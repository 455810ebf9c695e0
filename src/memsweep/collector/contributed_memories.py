"""Find the memories that an origin said or updated: which go with it, and what the others are without it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memsweep.collector.earlier_texts import StandingEntities
from memsweep.collector.retraction import given_back
from memsweep.model.contributed import MemoryGone, MemoryWithout, OriginFilter
from memsweep.model.graph_rows import Move
from memsweep.model.plan import PlanItem
from memsweep.model.revision import (
    MEMORY,
    MemoryAct,
    MemoryText,
    Place,
    Revision,
    entities_of,
    is_redaction,
    lost_mentions,
    state_of,
)
from memsweep.model.superseding import Bases, Basis, Pair, bases_from, bases_text, together, without
from memsweep.model.text import content_hash
from memsweep.store.things.memories import Supersession
from memsweep.store.trash import SameText

if TYPE_CHECKING:
    from memsweep.store.changes import Changes
    from memsweep.store.memory_acts import MentionAt

Ended = Mapping[Pair, Bases]
"""By the older memory and the one that supersedes it: what says so and is taken back."""


class BroughtMemories:
    """Decided when it is made. `going` are those of which nothing would be left."""

    def __init__(self, tx: Changes, wanted: OriginFilter, origins: Collection[int] | None) -> None:
        self._tx, self._origins = tx, origins
        rows = tx.origins.memories(origins)
        made = {row.key for row in rows if wanted.has_memory(row.source, row.created_at)}
        acts = [act for act in tx.acts.of_origins(origins) if wanted.has_memory(act.source, act.at)]
        others = tx.acts.mentioned_by(origins) if origins and wanted.is_of_any_time else set()
        self._gone: dict[int, set[int]] = defaultdict(set)
        for act in acts:
            self._gone[act.memory].add(act.key)
        self.touched = made | self._gone.keys()
        """What it said, said again or updated."""
        self._rows = tx.texts.at(self.touched | others)
        self._journal = as_the_rows_are(by_memory(tx.acts.of_memories(self.touched | others)), self._rows)
        self._texts = earlier_texts(tx.revisions.of_items(MEMORY, self._gone) if self._gone else [])
        nothing_left = {key for key in self._rows if self._goes(key, made)}
        live = tx.items.live({"memory": nothing_left}) if nothing_left else {}
        leaving = {key for (_, key), row in live.items() if not row.pinned}
        nothing_left |= {key for key in self._rows if key not in nothing_left and self._is_said_anew(key, leaving)}
        self._staying = self._rows.keys() - nothing_left
        self.going = {key for key in nothing_left if self._rows[key].trash is None}

    def gone(self, ended: Ended) -> dict[int, MemoryGone]:
        """Return the memories that go, with acts and links that are not theirs if somebody else says them again."""
        found = {key: MemoryGone(frozenset(self._gone.get(key, ())), {}, {}) for key in self.going}
        for (old, new), bases in ended.items():
            if old in found and found[old].acts:
                found[old].links[new] = bases
            if new in found and found[new].acts:
                found[new].superseded[old] = bases
        return found

    def staying(self, ended: Ended) -> Iterator[MemoryWithout]:
        """Yield the memories that differ without it, also in the trash if somebody else says them, too."""
        keys = self._staying
        mentions = self._lost_mentions(keys)
        links = self._links_that_end(ended)
        self._rows |= self._tx.texts.at(links.keys() - self._rows.keys()) if links else {}
        for key in sorted(keys | (links.keys() & self._rows.keys())):
            acts = frozenset(self._gone.get(key, ()))
            if not acts and not mentions[key] and key not in links:
                continue
            lost, row = mentions[key], self._rows[key]
            yield MemoryWithout(
                key,
                acts,
                text_changes=bool(acts) and self._text_without(key) != row.content_hash.hex(),
                mentions=tuple(sorted((each.chunk, each.entity) for each in lost)),
                unmentioned=self._unmentioned(key, lost) if row.trash is None else frozenset(),
                links=links.get(key, {}),
                trash=row.trash,
                version=row.version,
            )

    def _links_that_end(self, ended: Ended) -> dict[int, dict[int, Bases]]:
        """Of memories that stay; what goes supersedes nothing anyway."""
        found: dict[int, dict[int, Bases]] = defaultdict(dict)
        for (old, new), bases in ended.items():
            if self.going.isdisjoint((old, new)):
                found[old][new] = bases
        return found

    def _goes(self, key: int, made: Collection[int]) -> bool:
        """Return whether nobody else says it, or its earlier text was purged."""
        if not self._journal[key]:
            return key in made
        if not self._gone.get(key):
            return False
        row, text = self._rows[key], self._text_without(key)
        if text is None or text == row.content_hash.hex():
            return text is None
        return (key, text) not in self._texts

    def _is_said_anew(self, key: int, going: Collection[int]) -> bool:
        """Return whether a memory that stays says what it would say again."""
        row = self._rows[key]
        text = self._text_without(key) if self._gone.get(key) and row.trash is None else None
        if text is None or text == row.content_hash.hex():
            return False
        return said_in_place_of(self._tx, row._replace(text=self._texts[key, text]["text"]), going) is not None

    def _text_without(self, key: int) -> str | None:
        state = state_of(self._journal[key], self._gone[key])
        return None if state is None else state.text

    def _lost_mentions(self, keys: Collection[int]) -> dict[int, list[MentionAt]]:
        """Return the mentions in the texts that stay that only those origins passed."""
        found: dict[int, list[MentionAt]] = defaultdict(list)
        entities = StandingEntities(self._tx, entities_of(act for key in keys for act in self._journal[key]))
        lost = {key: self._lost(self._journal[key], self._rows[key], entities) for key in keys}
        there = self._tx.acts.mentions(keys)
        for each in there:
            if (each.position, each.entity) in lost[each.memory] or self._is_older(each, entities):
                found[each.memory].append(each)
        self._all = by_entity(there)
        return found

    def _is_older(self, mention: MentionAt, entities: StandingEntities) -> bool:
        """Return whether it was passed before acts were written down, which say it otherwise."""
        if not self._origins or mention.origin not in self._origins:
            return False
        place = (mention.position, mention.entity)
        return all(place not in act.mentions for act in renamed(self._journal[mention.memory], entities))

    def _lost(self, journal: list[MemoryAct], row: MemoryText, entities: StandingEntities) -> set[tuple[int, int]]:
        return lost_mentions(renamed(journal, entities), self._gone.get(row.key, ()), row.content_hash.hex())

    def _unmentioned(self, key: int, lost: list[MentionAt]) -> frozenset[int]:
        """Entities that it mentions nowhere else."""
        chunks: dict[int, set[int]] = defaultdict(set)
        for each in lost:
            chunks[each.entity].add(each.chunk)
        return frozenset(entity for entity, gone in chunks.items() if self._all[key, entity] <= gone)


def said_in_place_of(tx: Changes, memory: MemoryText, besides: Collection[int]) -> str | None:
    """The id of a live memory that says what this one would say. One that was superseded is beside it, not in its way.

    A text that was superseded may be said again, and is a new memory.
    """
    other = tx.texts.duplicate_of(memory, besides)
    return None if other is None or tx.acts.ever_superseded({memory.key}) else other


def ended_links(tx: Changes, wanted: OriginFilter, origins: Collection[int] | None) -> Ended:
    """Return the links that only those who are taken back had stated."""
    if wanted.source is not None:
        return {}
    ended: dict[Pair, Bases] = {}
    for link in tx.acts.links():
        left = () if origins is None else without(link.bases, origins)
        if left != link.bases and wanted.has_time(link.at):
            ended[link.pair] = tuple(basis for basis in link.bases if basis not in left)
    there = tx.texts.at({key for pair in ended for key in pair}) if ended else {}
    return {
        pair: bases for pair, bases in ended.items() if not any(_went_before(there.get(key), origins) for key in pair)
    }


def _went_before(row: MemoryText | None, origins: Collection[int] | None) -> bool:
    """Return whether a memory is theirs, and in the trash already: its links wait there with it."""
    return row is None or (row.trash is not None and (origins is None or row.origin in origins))


def earlier_texts(revisions: list[Revision]) -> dict[tuple[int, str], Mapping[str, Any]]:
    """The texts that memories had, by memory and hash, with all that belongs to them."""
    kept = (each for each in revisions if not is_redaction(each.before) and each.before["pieces"] is not None)
    return {(each.item, content_hash(each.before["text"]).hex()): each.before for each in kept}


def by_memory(acts: list[MemoryAct]) -> dict[int, list[MemoryAct]]:
    found: dict[int, list[MemoryAct]] = defaultdict(list)
    for act in acts:
        found[act.memory].append(act)
    return found


def as_the_rows_are(
    journal: Mapping[int, list[MemoryAct]], rows: Mapping[int, MemoryText]
) -> dict[int, list[MemoryAct]]:
    """Acts that what memories are in the trash with has taken back are still in their rows."""
    held = {key: rows[key].trash if key in rows else None for key in journal}
    return defaultdict(list, {key: given_back(acts, held[key]) for key, acts in journal.items()})


def by_entity(mentions: list[MentionAt]) -> dict[tuple[int, int], set[int]]:
    """The chunks of each memory that mention an entity."""
    found: dict[tuple[int, int], set[int]] = defaultdict(set)
    for each in mentions:
        found[each.memory, each.entity].add(each.chunk)
    return found


def renamed(journal: list[MemoryAct], entities: StandingEntities) -> list[MemoryAct]:
    """Acts that mention what a merge has kept in place of what they mentioned."""

    def now(places: Collection[Place]) -> list[Place]:
        return [(position, entities.now(entity)) for position, entity in places]

    return [act._replace(said={**act.said, "mentions": now(act.mentions), "named": now(act.named)}) for act in journal]


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

    def __init__(self, tx: Changes, written: Iterable[Move], only: int | None = None) -> None:
        moves = [move for move in written if move.kind == _LINK and only in (None, move.a, move.b)]
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


def said_again(tx: Changes, found: Iterable[SameText]) -> list[SameText]:
    """Of memories that would come back beside one with their text: those that it was said in place of.

    Not where one of the two was superseded, or says this text only because another one of it was taken back: then
    both were there before, and are told apart again once everything is undone.
    """
    pairs = list(found)
    if not pairs:
        return pairs
    keys = {key for each in pairs for key in (each.key, each.other)}
    apart = tx.acts.ever_superseded(keys) | _saying_otherwise(tx, keys)
    return [each for each in pairs if apart.isdisjoint((each.key, each.other))]


def _saying_otherwise(tx: Changes, memories: Collection[int]) -> set[int]:
    """Return the memories that would say another text if nobody were taken back."""
    journal = as_the_rows_are(by_memory(tx.acts.of_memories(memories)), tx.texts.at(memories))
    taken = {act.trash for acts in journal.values() for act in acts if act.trash is not None}
    # Undoing an update takes its act back as well, which is meant to last.
    retractions = {key for key, row in tx.receipts.at(taken).items() if row.plan_id} if taken else set()
    return {key for key, acts in journal.items() if _text(acts) != _text(acts, retractions)}


def _text(acts: Iterable[MemoryAct], given_back: Collection[int] = ()) -> str | None:
    state = state_of(act._replace(trash=None) if act.trash in given_back else act for act in acts)
    return None if state is None else state.text
