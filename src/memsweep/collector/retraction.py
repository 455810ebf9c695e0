"""Retract what one origin brought: whose things are meant, what goes, and what is left without them.

A memory or a fact is what those of its acts make it that are not taken back. A retraction marks acts under a receipt,
and what others did counts alone; the undo takes the marks off (`restore_contributions`). Several retractions of one
thing are undone in any order: when no act is left that says it, it lies in the trash of the last retraction, and its
row is as the acts made it that this one took back. It comes back with the first retraction to be undone whose acts say
it again, and without what its holder took back.

Reads and decides first, writes last.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memsweep.collector.earlier_texts import (
    Embed,
    Forms,
    StandingEntities,
    by_memory,
    earlier_texts,
    renamed,
    said_in_place_of,
)
from memsweep.errors import BadInput
from memsweep.model.checks import only, plain_text
from memsweep.model.contribution import Contribution
from memsweep.model.contribution import state_of as fact_of
from memsweep.model.graph_rows import UNMENTIONED, Move
from memsweep.model.origin import TIERS, Origin
from memsweep.model.plan import (
    CHANGED_SINCE,
    CHANGES,
    GONE_SINCE,
    IN_TRASH,
    Found,
    Operation,
    PlanItem,
    Selection,
    Totals,
)
from memsweep.model.revision import MEMORY, MemoryAct, MemoryText, Place, entities_of, lost_mentions, state_of
from memsweep.model.superseding import Bases, Basis, Pair, bases_text, without
from memsweep.model.times import parse_time, to_micros
from memsweep.store.facts import OwnedMention
from memsweep.store.journals import StoredFact
from memsweep.store.things.memories import Supersession

if TYPE_CHECKING:
    from memsweep.store.changes import Changes
    from memsweep.store.memory_acts import MentionAt

Ended = Mapping[Pair, Bases]
"""By the older memory and the one that supersedes it: what says so and is taken back."""
LINK = "link"
"""A move of this kind says which memory was superseded by which, since when, and who said so."""
FALLBACK = "fallback"
"""A move of this kind says which version a relation got by falling back."""
Act = TypeVar("Act", MemoryAct, Contribution)


def given_back(acts: Iterable[Act], receipt: int | None) -> list[Act]:
    """The acts as if a receipt had taken none of them back."""
    return [act if act.trash is None or act.trash != receipt else act._replace(trash=None) for act in acts]


def was_retracted(acts: Iterable[Act], holder: int | None) -> bool:
    """Return whether the receipt took back what lies in its trash, and did not delete, merge or collect it."""
    return holder is not None and any(act.trash == holder for act in acts)


# whose things are meant


@dataclass(frozen=True, slots=True)
class OriginFilter:
    """A filter for contributions: all that is given must apply."""

    session: str | None = None
    client: str | None = None
    tier: str | None = None
    source: str | None = None
    """The `source` of memories."""
    since: datetime | None = None
    until: datetime | None = None

    def among(self, known: Mapping[int, Origin]) -> list[int] | None:
        """The origins that are meant; nothing where any is, also one that nobody knows."""
        if self.session is None and self.client is None and self.tier is None:
            return None
        return [key for key, origin in known.items() if self._is(origin)]

    def _is(self, origin: Origin) -> bool:
        asked = ((self.session, origin.session), (self.client, origin.client), (self.tier, origin.tier))
        return all(wanted is None or wanted == there for wanted, there in asked)

    def has_time(self, at: int) -> bool:
        return (self.since is None or at >= to_micros(self.since)) and (
            self.until is None or at <= to_micros(self.until)
        )

    @property
    def is_of_any_time(self) -> bool:
        return self.since is None and self.until is None

    def has_memory(self, source: str, created_at: int) -> bool:
        return (self.source is None or source == self.source) and self.has_time(created_at)


def make_wanted(value: object) -> OriginFilter:
    """From an object such as `{"session": "ses_…"}`; at least one field decides whose things go."""
    known = [field.name for field in fields(OriginFilter)]
    if not isinstance(value, Mapping):
        raise BadInput(f"origin must be an object with {', '.join(known)}, not {value!r:.60}.")
    only(value, known, "origin")
    given = {name: item for name, item in value.items() if item not in (None, "")}
    if not given:
        raise BadInput(
            f"strategy 'origin' needs to know whose things to take back: one of {', '.join(known)}.",
            hint="get_memory shows the origin of a memory.",
        )
    texts = {
        name: plain_text(given[name], f"origin.{name}")
        for name in ("session", "client", "tier", "source")
        if name in given
    }
    if texts.get("tier", TIERS[0]) not in TIERS:
        raise BadInput(f"origin.tier must be one of {', '.join(TIERS)}, not {texts['tier']!r:.40}.")
    times = {
        name: parse_time(given[name], name, end_of_day=name == "until") for name in ("since", "until") if name in given
    }
    wanted = OriginFilter(**texts, **times)  # type: ignore[arg-type]  # texts and times
    if wanted.since and wanted.until and wanted.since > wanted.until:
        raise BadInput(f"since {given['since']} is after until {given['until']}.")
    return wanted


# what goes, and what stays as something else


class Contributed(NamedTuple):
    """The contributions that go with an origin, but for entities: those go if nothing else holds them."""

    found: Sequence[Found] = ()
    """What goes, and what stays as something else."""
    unmentioned: frozenset[tuple[int, int]] = frozenset()
    """Memories that stay, each with an entity that it mentions nowhere then."""
    entities: frozenset[int] = frozenset()
    """Those that nobody else has handed in."""

    def going(self, kind: str) -> set[int]:
        return {each.key for each in self.found if each.kind == kind and each.reason == "brought"}


def contributed_by(tx: Changes, wanted: OriginFilter) -> Contributed:
    """Everything that what is wanted brought, and every fact and memory that would be another without it."""
    rows = tx.origins
    origins = wanted.among(rows.known())
    memories = ContributedMemories(tx, wanted, origins)
    by_source = wanted.source is not None
    acts = [act for act in rows.acts(origins) if _is_wanted(act, wanted, memories.touched)]
    made = {} if by_source else _within(rows.relations(origins), wanted)
    touched = made.keys() | {act.relation for act in acts}
    journal = by_relation(rows.journal(touched))
    facts = rows.facts(touched)
    trashed = {key: fact for key, fact in rows.facts(touched, trashed=True).items() if key not in facts}
    for row in tx.relations.at(trashed) if trashed else ():
        journal[row.key] = given_back(journal[row.key], row.trash)
    stated = {relation for relation, memory in tx.items.sources(touched) if memory not in memories.going}
    gone = {key: {act.key for act in mine} for key, mine in by_relation(acts).items()}
    links = ended_links(tx, wanted, origins)
    segments = [] if by_source else [row[:2] for row in rows.segments(origins) if wanted.has_time(row[2])]
    found = [
        *memories.gone(links),
        *memories.remainder(links),
        *_live_facts(facts, journal, gone, made, stated),
        *_trashed_facts(trashed, journal, gone),
        *(Found("segment", key, "brought", {"window": window}) for key, window in segments),
    ]
    entities = {} if by_source else _within(rows.entities(origins), wanted)
    return Contributed(found, frozenset(memories.unmentioned), frozenset(entities))


def _is_wanted(act: Contribution, wanted: OriginFilter, memories: Collection[int]) -> bool:
    return act.memory in memories if wanted.source is not None else wanted.has_time(act.at)


def _within(made: Mapping[int, int], wanted: OriginFilter) -> dict[int, int]:
    return {key: at for key, at in made.items() if wanted.has_time(at)}


def _live_facts(
    facts: Mapping[int, StoredFact],
    journal: Mapping[int, list[Contribution]],
    gone: Mapping[int, Collection[int]],
    made: Mapping[int, int],
    stated: Collection[int],
) -> Iterator[Found]:
    for key, fact in sorted(facts.items()):
        acts, before = gone.get(key, ()), fact.state
        if not journal[key]:  # nobody contributed to it since: it is what was made, and stays for whom else states it
            after = before if key in stated else None
        else:
            after = fact_of(journal[key], acts, made_by_others=key not in made)
        if after is None:
            yield Found("relation", key, "brought", _said(acts=sorted(acts)))
        elif acts and after != before:
            again = before.invalid_at is not None and after.invalid_at is None
            said = {"acts": sorted(acts), "from": before.weight, "to": after.weight}
            yield Found("relation", key, "holds_again" if again else "falls_back", said)


def _trashed_facts(
    facts: Mapping[int, StoredFact], journal: Mapping[int, list[Contribution]], gone: Mapping[int, Collection[int]]
) -> Iterator[Found]:
    """Facts that others hold in the trash for themselves, too, and that would come back with what goes."""
    for key, fact in sorted(facts.items()):
        # What is older than its journal may be anybody's.
        acts = gone.get(key, ())
        after = fact_of(journal[key], acts) if acts and journal[key][0].before is None else None
        if after is not None and after != fact.state:
            yield Found("relation", key, IN_TRASH, {"acts": sorted(acts), "version": fact.version})


def _said(**evidence: Any) -> dict[str, Any]:
    """Without what is empty; links by what they lead to or come from."""
    for name in evidence.keys() & {"links", "superseded"}:
        links = sorted(evidence[name].items())
        evidence[name] = {str(other): [sorted(basis) for basis in bases] for other, bases in links}
    return {name: value for name, value in evidence.items() if value}


class ContributedMemories:
    """The memories that an origin said or updated: which go with it, and what the others are without it.

    Decided when it is made. `going` are those of which nothing would be left.
    """

    def __init__(self, tx: Changes, wanted: OriginFilter, origins: Collection[int] | None) -> None:
        self._tx, self._origins = tx, origins
        self.unmentioned: set[tuple[int, int]] = set()
        """Memories that stay, each with an entity that it mentions nowhere then."""
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
        self._remainder = self._rows.keys() - nothing_left
        self.going = {key for key in nothing_left if self._rows[key].trash is None}

    def gone(self, ended: Ended) -> Iterator[Found]:
        """Yield the memories that go, with acts and links that are not theirs if somebody else says them again."""
        links: dict[int, dict[int, Bases]] = defaultdict(dict)
        superseded: dict[int, dict[int, Bases]] = defaultdict(dict)
        for (old, new), bases in ended.items():
            links[old][new] = superseded[new][old] = bases
        for key in sorted(self.going):
            acts = sorted(self._gone.get(key, ()))
            said = _said(acts=acts, links=links[key], superseded=superseded[key]) if acts else {}
            yield Found("memory", key, "brought", said)

    def remainder(self, ended: Ended) -> Iterator[Found]:
        """Yield the memories that differ without it, also in the trash if somebody else says them, too."""
        keys = self._remainder
        mentions = self._lost_mentions(keys)
        links = self._links_that_end(ended)
        self._rows |= self._tx.texts.at(links.keys() - self._rows.keys()) if links else {}
        for key in sorted(keys | (links.keys() & self._rows.keys())):
            acts, lost, row = self._gone.get(key, ()), mentions[key], self._rows[key]
            if not acts and not lost and key not in links:
                continue
            gone = self._unmentioned(key, lost) if row.trash is None else set()
            self.unmentioned |= {(key, entity) for entity in gone}
            said = _said(
                acts=sorted(acts),
                mentions=sorted([each.chunk, each.entity] for each in lost),
                unmentioned=sorted(gone),
                links=links.get(key, {}),
            )
            if row.trash is not None:
                yield Found("memory", key, IN_TRASH, {**said, "trash": row.trash, "version": row.version})
            elif not acts and not lost:
                yield Found("memory", key, "current_again", said)
            else:
                changes = bool(acts) and self._text_without(key) != row.content_hash.hex()
                yield Found("memory", key, "earlier_text" if changes else "stays_without", said)

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

    def _unmentioned(self, key: int, lost: list[MentionAt]) -> set[int]:
        """Entities that it mentions nowhere else."""
        chunks: dict[int, set[int]] = defaultdict(set)
        for each in lost:
            chunks[each.entity].add(each.chunk)
        return {entity for entity, gone in chunks.items() if self._all[key, entity] <= gone}


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


# the apply


class Retraction:
    """The changes of a plan that takes back what somebody did: of memories and of facts; decided when it is made."""

    def __init__(
        self,
        tx: Changes,
        changes: Sequence[PlanItem],
        going: Selection,
        retracted: Sequence[PlanItem],
        doing: Operation,
        embed: Embed,
    ) -> None:
        """`going` leave with the plan; the acts of those `retracted` are taken back with them."""
        self._facts = FactsWithout(tx, changes, going.relations, retracted)
        self._memories = Remainder(tx, changes, doing, embed, going.memories, retracted)
        self.skipped = (*self._memories.skipped, *self._facts.skipped)
        self.ids = tuple(self._memories.ids)
        """Of memories that change."""
        self.changed = Totals(memories=len(self.ids), relations=self._facts.count)

    def write(self, tx: Changes, receipt: int) -> None:
        self._facts.write(tx, receipt)
        self._memories.write(tx, receipt)


class Remainder:
    """The changes of memories in a plan that stay as something else; decided when it is made."""

    def __init__(
        self,
        tx: Changes,
        items: Iterable[PlanItem],
        doing: Operation,
        embed: Embed,
        going: Collection[int] = (),
        retracted: Iterable[PlanItem] = (),
    ) -> None:
        """`going` are memories that leave with the plan; the acts of those `retracted` are taken back with them."""
        wanted = [item for item in items if item.kind == "memory" and item.reason in CHANGES]
        whole = [item for item in retracted if item.kind == "memory"]
        self._forms = Forms(tx, {item.key for item in (*wanted, *whole)}, doing, going)
        self.skipped: list[tuple[str, str]] = []
        done = [item for item in wanted if self._take(item)]
        self.ids = [self._forms.rows[item.key].id for item in done]
        self._acts = {key: act for item in (*done, *whole) for key, act in self._taken(item).items()}
        self._links = LinksWithout(tx, [*done, *whole])
        self._lost: dict[int, set[Place]] = {}
        self._mentions = self._lost_mentions(tx, done) if done else []
        self._forms.read(embed, self._lost)

    def write(self, tx: Changes, receipt: int) -> None:
        if not self.ids and not self._acts:
            return
        tx.acts.mark({key: (act.receipt, receipt) for key, act in self._acts.items()})
        tx.acts.drop_mentions([(each.chunk, each.entity) for each in self._mentions])
        tx.moves.add([Move(receipt, UNMENTIONED, *each) for each in self._mentions])
        self._links.write(tx, receipt)
        self._forms.write(receipt)

    def _take(self, item: PlanItem) -> bool:
        row = self._forms.rows.get(item.key)
        if row is None or row.trash != item.evidence.get("trash"):
            why = GONE_SINCE
        elif row.version != item.evidence.get("version", item.version):
            why = CHANGED_SINCE
        elif not (acts := set(item.evidence.get("acts", ()))):
            return True
        else:
            journal = given_back(self._forms.journal[item.key], row.trash)
            why = self._forms.make(row, state_of(journal), state_of(journal, acts))
        if why:
            self.skipped.append((row.id if row else f"memory {item.key}", why))
        return not why

    def _taken(self, item: PlanItem) -> dict[int, MemoryAct]:
        acts = set(item.evidence.get("acts", ()))
        return {act.key: act for act in self._forms.journal[item.key] if act.key in acts}

    def _lost_mentions(self, tx: Changes, done: Sequence[PlanItem]) -> list[OwnedMention]:
        planned = [(chunk, entity) for item in done for chunk, entity in item.evidence.get("mentions", ())]
        known = entities_of(act for item in done for act in self._forms.journal[item.key])
        entities = StandingEntities(tx, known | {entity for _, entity in planned})
        for form in self._forms.made:
            journal = renamed(self._forms.journal[form.now.key], entities)
            self._lost[form.now.key] = lost_mentions(journal, self._acts, form.after.content_hash.hex())
        wanted = {(chunk, entities.now(entity)) for chunk, entity in planned}
        there = tx.acts.mentions([item.key for item in done])
        return [
            OwnedMention(each.chunk, each.entity, each.origin) for each in there if (each.chunk, each.entity) in wanted
        ]


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
        moves = [Move(receipt, LINK, *link.pair, link.at, bases_text(link.bases)) for link in self._taken]
        tx.moves.add([move for move, link in zip(moves, self._taken, strict=True) if link.bases])
        tx.acts.set_links(self._changed)
        tx.acts.drop_links(self._ended)


def _with(link: Supersession, bases: Sequence[Basis]) -> Supersession:
    return link._replace(bases=tuple(bases))


class FactsWithout:
    """The changes of facts in a plan that fall back; decided when it is made."""

    def __init__(
        self, tx: Changes, items: Iterable[PlanItem], going: Collection[int] = (), retracted: Iterable[PlanItem] = ()
    ) -> None:
        """`going` are relations that leave with the plan; the acts of those `retracted` are taken back with them."""
        wanted = {item.key: item for item in items if item.kind == "relation" and item.reason in CHANGES}
        self.skipped: list[tuple[str, str]] = []
        self._acts = {act for item in retracted if item.kind == "relation" for act in item.evidence["acts"]}
        self._facts: dict[int, StoredFact] = {}
        if not wanted:
            return
        live, there = tx.origins.facts(wanted), tx.origins.facts(wanted, trashed=True)
        facts = {key: fact for key, fact in there.items() if (key in live) != (wanted[key].reason == IN_TRASH)}
        holders = {row.key: row.trash for row in tx.relations.at(wanted)}
        journal = by_relation(tx.origins.journal(wanted))
        taken = _places_taken(tx, [key for key in wanted if wanted[key].reason == "holds_again"], going)
        ids = tx.items.ids({"relation": wanted})
        for key, item in sorted(wanted.items()):
            if why := self._take(item, facts.get(key), given_back(journal[key], holders.get(key)), taken):
                self.skipped.append((ids.get(("relation", key), f"relation {key}"), why))

    def _take(
        self, item: PlanItem, fact: StoredFact | None, journal: Sequence[Contribution], taken: Mapping[int, str]
    ) -> str:
        """Why it is left as it is; empty if it falls back."""
        if fact is None:
            return GONE_SINCE
        if fact.version != item.evidence.get("version", item.version):
            return CHANGED_SINCE
        if item.key in taken:
            return f"the same fact holds again as {taken[item.key]}"
        acts = set(item.evidence["acts"])
        after = fact_of(journal, acts)
        if after is None:
            return CHANGED_SINCE
        self._acts |= acts
        self._facts[item.key] = StoredFact(after, fact.version + 1)
        return ""

    @property
    def count(self) -> int:
        return len(self._facts)

    def write(self, tx: Changes, receipt: int) -> None:
        if not self._acts:
            return
        tx.origins.take_back(self._acts, receipt)
        tx.origins.set_facts(self._facts)
        tx.moves.add([Move(receipt, FALLBACK, key, fact.version) for key, fact in sorted(self._facts.items())])


def by_relation(acts: Iterable[Contribution]) -> dict[int, list[Contribution]]:
    found: dict[int, list[Contribution]] = defaultdict(list)
    for act in acts:
        found[act.relation].append(act)
    return found


def _places_taken(tx: Changes, relations: Sequence[int], going: Collection[int]) -> dict[int, str]:
    """Facts of the past that somebody has stated again meanwhile, and the id of what says the same and stays."""
    if not relations:
        return {}
    rows = tx.relations.at(relations)
    same = tx.relations.current_between({row.place for row in rows})
    current = {each.place: each.id for each in same if each.key not in going}
    return {row.key: current[row.place] for row in rows if row.place in current and row.invalid_at is not None}
