"""A text that is added, with all that belongs to it: read, decide, write. Once, over the rows of any engine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.model import superseding
from memsweep.model.contribution import Speaker
from memsweep.model.ids import findable
from memsweep.model.memory import (
    CODE_SOURCE,
    ENOUGH_EVIDENCE,
    RULE_CONFIDENCE,
    EmbeddingModel,
    MemoryDraft,
    NewMemory,
    NewMention,
    Remembered,
    StatedIn,
)
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.revision import (
    AGAIN,
    MemoryAct,
    MemoryText,
    Mentioned,
    Place,
    first_said,
    mentioned_in,
    now_said,
    said_again,
    stated_in,
)
from memsweep.model.stating import stated
from memsweep.model.superseding import Older
from memsweep.model.text import content_hash, name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import model_from, model_text
from memsweep.store.audit_rows import log
from memsweep.store.facts import OwnedMention
from memsweep.store.journals import Origins, asked_for
from memsweep.store.names import Facts, Handled, Names, read_of_facts, reads_of_names, state_of
from memsweep.store.refusals import other_model, tombstoned_text
from memsweep.store.rows import Find, Read, Rows, ThreadEnds, Values
from memsweep.store.texts import about as about_forgotten
from memsweep.store.texts import add_pieces, own_places, tombstoned, without_chunks
from memsweep.store.things.graph import EntityRow, MentionLink, NameSeen, RelationSource
from memsweep.store.things.memories import MEMORY, ChunkRow, MemoryRow, Supersession, ThreadRow

if TYPE_CHECKING:
    from memsweep.store.protocol import Store

_SETTABLE = tuple(name for name, column in MEMORY.columns.items() if column.settable)
_SPOKEN_OF = (
    "chunk.memory",
    "chunk.position",
    "entity",
    "entity.name",
    "chunk.text",
    "origin",
    "entity.last_seen",
    "entity.version",
)


def touch(store: Store, draft: MemoryDraft, now: datetime, origin: Origin = UNKNOWN) -> str | None:
    """Mark a live memory with the same text in the same thread as seen, with what the new one adds to it; its id."""
    same = Values(MemoryRow, ("key",), (("content_hash", "=", content_hash(draft.text)),))
    if not store.rows.ask(same)[0]:
        return None
    with store.writing(chain(_same_text(draft), asked_for(origin))) as rows:
        again = _Again.of(rows, draft, *rows.ask(*_same_text(draft)))
        if again is None:
            return None
        again.touch(rows, to_micros(now))
        again.note(rows, now, Origins(rows).key_of(origin))
        return again.row.id


def add(store: Store, new: NewMemory, model: EmbeddingModel) -> Remembered:
    """Write a memory with all that belongs to it, or touch the one with the same text and add the rest to it."""
    with store.writing(_first_reads(new)) as rows:
        return add_in(rows, new, model)


def _first_reads(new: NewMemory) -> Iterator[Read]:
    yield from _same_text(new.draft)
    yield from asked_for(new.origin)
    yield about_forgotten(new.draft.said)
    yield _older(new.draft)
    yield from _reads_of_names(new.mentions, new)


def _same_text(draft: MemoryDraft) -> tuple[Find, ThreadEnds]:
    # By the hash alone: a graph that has just been loaded misses some where two of its indexes are asked.
    same = Find(MemoryRow, (("content_hash", "=", content_hash(draft.text)),))
    return same, ThreadEnds(() if draft.thread_id is None else (draft.thread_id,))


def _older(draft: MemoryDraft) -> Values:
    return Values(MemoryRow, ("id", "key", "source"), (("id", "in", {findable(each) for each in draft.supersedes}),))


def add_in(rows: Rows, new: NewMemory, model: EmbeddingModel) -> Remembered:
    """Do the same inside a transaction."""
    same, threads = rows.ask(*_same_text(new.draft))
    if (again := _Again.of(rows, new.draft, same, threads)) is not None:
        return _add_to(rows, again, new)
    if tombstoned(rows, new.draft.said):
        raise tombstoned_text()
    origins = Origins(rows)
    names = Naming(rows, new, new.mentions, origins, texts=[piece.text for piece in new.chunks])
    links = _Links(rows, new)
    claim_model(rows, model)
    origin = origins.key_of(new.origin)
    thread, first = _place(rows, new.draft.thread_id, threads)
    (memory,) = rows.add([_row_of(new, thread, origin)])
    places = own_places(memory, len(new.chunks))
    if thread is not None:
        places = [(thread, first + index) for index in range(len(new.chunks))]
    chunks = add_pieces(rows, memory, new.chunks, places)
    names.write(StatedIn(memory, chunks, origin))
    links.write(memory, origin)
    return _logged(rows, new, Remembered(new.id, len(chunks), len(names.created)), names.created)


def _add_to(rows: Rows, again: _Again, new: NewMemory) -> Remembered:
    """Add to a memory that has the text what was named and stated beside it."""
    origins = Origins(rows)
    names = Naming(rows, new, [mention for mention in new.mentions if mention.explicit], origins)
    links = _Links(rows, new, again.row.key)
    again.touch(rows, to_micros(new.now), names)
    origin = origins.key_of(new.origin)
    by = stated_in(again.before, again.chunks, len(new.chunks), origin)
    places = names.write(by)
    links.write(again.row.key, origin)
    again.note(rows, new.now, origin, places)
    done = Remembered(again.row.id, 0, len(names.created), duplicate_of=again.row.id)
    return _logged(rows, new, done, names.created)


def _logged(rows: Rows, new: NewMemory, done: Remembered, created: Sequence[str]) -> Remembered:
    log(rows, *new.events(done, created))
    return replace(done, supersedes=new.draft.supersedes)


def claim_model(rows: Rows, model: EmbeddingModel) -> None:
    """Let the first vector decide the model of a workspace; another one later is refused."""
    known = model_from(rows.told("model"))
    if known is None:
        rows.tell(model=model_text(model))
    elif known != model:
        raise other_model(known, model)


def _place(rows: Rows, thread_id: str | None, found: Sequence[Any]) -> tuple[int | None, int]:
    """Return the key of a thread, which is made if it is new, and the place that comes next in it."""
    for _, key, last in found:
        return key, 0 if last is None else last + 1
    return (None if thread_id is None else rows.add([ThreadRow(thread_id)])[0]), 0


def _said(draft: MemoryDraft) -> dict[str, Any]:
    """Return the values that callers set, as the columns have them."""
    values = {name: getattr(draft, name) for name in _SETTABLE}
    return {name: to_micros(value) if isinstance(value, datetime) else value for name, value in values.items()}


def _row_of(new: NewMemory, thread: int | None, origin: int | None) -> MemoryRow:
    now = to_micros(new.now)
    return MemoryRow(
        **_said(new.draft),
        id=new.id,
        thread=thread,
        created_at=now,
        updated_at=now,
        last_seen_at=now,
        stale=False,
        content_hash=new.content_hash,
        version=1,
        trash=None,
        origin=origin,
        released_at=None,
        key=0,
    )


def _is_said_again(row: MemoryRow, draft: MemoryDraft) -> bool:
    return row.text == draft.text and not row.stale and row.source != CODE_SOURCE


class _Again(NamedTuple):
    """A memory whose text is said again, as it was before."""

    row: MemoryRow
    draft: MemoryDraft
    acts: list[MemoryAct]
    mentioned: Mentioned
    """Those of its own, of a memory of which no act was written down."""
    entities: dict[int, tuple[int, int]]
    """When those that it mentions were seen last, and their versions."""
    chunks: list[int]

    @classmethod
    def of(cls, rows: Rows, draft: MemoryDraft, found: Iterable[MemoryRow], thread: Sequence[Any]) -> _Again | None:
        """Return the memory with the same text in the same thread that no other one has superseded."""
        if draft.thread_id is not None and not thread:
            return None
        where = thread[0][1] if thread else None
        same = {row.key: row for row in found if _is_said_again(row, draft) and row.thread == where}
        if not same:
            return None
        superseded, acts, mentions, chunks = rows.ask(
            Values(Supersession, ("old",), (("old", "in", same),), distinct=True, near="live"),
            Find(MemoryAct, (("memory", "in", same),)),
            Values(MentionLink, _SPOKEN_OF, (("chunk.memory", "in", same),), near="live"),
            Values(ChunkRow, ("memory", "position", "key"), (("memory", "in", same),), near="live"),
        )
        gone = {old for (old,) in superseded}
        row = next((row for key, row in same.items() if key not in gone), None)
        if row is None:
            return None
        known, here = [act for act in acts if act.memory == row.key], [each for each in mentions if each[0] == row.key]
        own = Mentioned() if known else mentioned_in(each[1:5] for each in here if each[5] is None)
        entities = {each[2]: (each[6], each[7]) for each in here}
        placed = sorted((position, key) for memory, position, key in chunks if memory == row.key)
        return cls(row, draft, known, own, entities, [key for _, key in placed])

    @property
    def before(self) -> MemoryText:
        return MemoryText(*(getattr(self.row, name) for name in MemoryText._fields))

    def touch(self, rows: Rows, at: int, names: Naming | None = None) -> None:
        """Change the memory as its columns say, and see the entities again that it mentions."""
        row, last = self.row, self.row.created_at if self.row.last_seen_at is None else self.row.last_seen_at
        after = {
            name: AGAIN[MEMORY.columns[name].again](getattr(row, name), said, at)
            for name, said in _said(self.draft).items()
        }
        changed = {name: value for name, value in after.items() if value != getattr(row, name)}
        changed["last_seen_at"] = max(last, at)
        rows.change(MemoryRow, tuple(changed), {row.key: tuple(changed.values())}, bin="live")
        named = names.saw(self.entities, at) if names else set[int]()
        seen = {
            key: (max(seen_at, at), version + 1)
            for key, (seen_at, version) in sorted(self.entities.items())
            if key not in named
        }
        rows.change(EntityRow, ("last_seen", "version"), seen, bin="live")

    def note(self, rows: Rows, now: datetime, origin: int | None, mentions: Collection[Place] = ()) -> None:
        """Write down that it was said again; `mentions` are those of what was named beside the text."""
        text = self.row.content_hash.hex()
        first = first_said(self.before, text, self.mentioned)
        rows.add(
            said_again(self.acts, first, now_said(self.row.key, self.draft, text, to_micros(now), origin, mentions))
        )


class _Links:
    """The links between a memory and those whose place it takes."""

    def __init__(self, rows: Rows, new: NewMemory, memory: int = 0) -> None:
        self._rows, self._at, self._memory = rows, to_micros(new.now), memory
        self._older: set[int] = set()
        self._known: dict[superseding.Pair, Supersession] = {}
        wanted = new.draft.supersedes
        if not wanted:
            return
        (found,) = rows.ask(_older(new.draft))
        self._older = superseding.keys_of(wanted, {uid: Older(key, source) for uid, key, source in found})
        under = Find(Supersession, (("new", "in", {*self._older, *filter(None, [memory])}),), "any", near="live")
        if not memory:
            self._learn(rows.ask(under))
            return
        over = Find(Supersession, (("old", "=", memory),), "any", near="live")
        self._learn(rows.ask(under, over))
        if above := {newer for old, newer in self._known if old == memory}:
            self._learn(rows.ask(Find(Supersession, (("new", "in", above),), "any")))

    def _learn(self, found: Iterable[Iterable[Supersession]]) -> None:
        self._known |= {link.pair: link for links in found for link in links}

    def write(self, memory: int, origin: int | None) -> None:
        if not self._older:
            return
        known = {pair: link.bases for pair, link in self._known.items()}
        links = [
            Supersession(*pair, self._known[pair].at if pair in self._known else self._at, bases)
            for pair, bases in superseding.new_links(memory, self._older, known, origin).items()
        ]
        self._rows.put(links, replace=True, live=() if self._memory else ("new",))


def _reads_of_names(mentions: Sequence[NewMention], new: NewMemory) -> tuple[Find, Find, Find]:
    ends = [thing.name for each in new.facts for thing in (each.fact.subject, each.fact.object)]
    by_rule = {name_key(mention.thing.name) for mention in mentions if not mention.explicit}
    names = reads_of_names({*(mention.thing.name for mention in mentions), *ends})
    return *names, Find(NameSeen, (("name_key", "in", by_rule),), order=())


class Naming:
    """The names and facts that come with a text: decided about in memory, then written with where they stand."""

    def __init__(
        self,
        rows: Rows,
        new: NewMemory,
        mentions: Sequence[NewMention],
        origins: Origins,
        *,
        texts: Sequence[str] = (),
        gone: Collection[int] = (),
    ) -> None:
        """Decide; known facts that one of these `texts` states are mentioned again. `gone`: chunks that are dropped."""
        self.created: list[str] = []
        self._rows, self._new, self._at = rows, new, to_micros(new.now)
        self._mentioned: list[tuple[NewMention, Handled]] = []
        self._earlier: list[tuple[int, Handled]] = []
        self._stated: dict[Handled, None] = {}
        found, aliases, counted = rows.ask(*_reads_of_names(mentions, new))
        self._seen = _NamesSeen(without_chunks(counted, gone))
        self._names = Names(rows, found, aliases)
        self._names.look_further(each.thing.name for each in mentions if each.explicit and not each.thing.type)
        self._origin = origins.key_of(new.origin)
        for mention in mentions:
            self._mention(mention)
        self._facts = self._known_facts(texts)
        self._state()
        self._mention_again(texts)

    def _mention(self, mention: NewMention) -> None:
        entity = self._explicit(mention) if mention.explicit else self._by_rule(mention)
        if entity is None:
            return
        self._mentioned.append((mention, entity))
        if entity.is_new and entity.row.id == mention.id:
            self.created.append(mention.id)

    def _explicit(self, mention: NewMention) -> Handled:
        """Make or see again what somebody named; an entity that two origins have handed in is neither's alone."""
        known, origin = self._names.find(mention.thing), self._origin
        if known is None:
            return self._names.add(mention.thing, mention.id, self._at, origin, confidence=1.0, explicit=True)
        sole = known.row.origin if known.row.origin == origin else 0
        known.change(last_seen=max(known.row.last_seen, self._at), explicit=True, origin=sole)
        return known

    def _by_rule(self, mention: NewMention) -> Handled | None:
        """A name found by rule is an entity once the workspace has seen enough of it; until then it is only counted.

        If there are several of that name, it is the one that somebody named before others, then the eldest.
        """
        known = self._names.known_as(mention.thing.name)
        if known:
            entity = min(known, key=lambda each: (not each.row.explicit, each.is_new, each.row.key))
            entity.change(last_seen=max(entity.row.last_seen, self._at))
            return entity
        earlier = self._seen.count(mention)
        if earlier is None:
            return None
        made = self._names.add(
            mention.thing, mention.id, self._at, self._origin, confidence=RULE_CONFIDENCE, explicit=False
        )
        self._earlier += [(chunk, made) for chunk in earlier]
        return made

    def _known_facts(self, texts: Sequence[str]) -> Facts:
        named = {mention.thing: entity for mention, entity in self._mentioned if mention.explicit}
        self._places = [
            (named[each.fact.subject], name_key(each.fact.relation), named[each.fact.object])
            for each in self._new.facts
        ]
        spoken_of = [entity for _, entity in self._mentioned if texts]
        ends = [subject for subject, _, _ in self._places], [target for _, _, target in self._places]
        subjects, objects = ({each for each in (*spoken_of, *some) if not each.is_new} for some in ends)
        kinds = None if spoken_of else {kind for _, kind, _ in self._places}
        found = self._rows.ask(read_of_facts(subjects, kinds, objects))[0] if subjects and objects else ()
        return Facts(self._rows, self._names, found)

    def _state(self) -> None:
        """Create each fact that was given beside the text, or strengthen it if it is known."""
        for new, place in zip(self._new.facts, self._places, strict=True):
            known, weight = self._facts.known.get(place), new.fact.weight
            before = None if known is None else state_of(known.row)
            if known is None:
                said = {} if weight is None else {"weight": weight}
                known = self._facts.add(place, new.id, new.fact.relation, self._at, self._origin, **said)
            self._facts.contribute(known, self._speaker.act("state", 0, before)._replace(value=weight))
            self._stated[known] = None

    def _mention_again(self, texts: Sequence[str]) -> None:
        """Known facts that a chunk states grow by a mention, each once; those given beside the text have grown."""
        names: dict[int, dict[Handled, str]] = defaultdict(dict)
        for mention, entity in self._mentioned:
            for chunk in mention.chunks:
                names[chunk][entity] = entity.row.name
        for (subject, _, target), fact in self._facts.known.items():
            if fact not in self._stated and any(
                any(True for _ in stated(text, [(named[subject], fact.row.relation, named[target])]))
                for text, named in ((text, names[chunk]) for chunk, text in enumerate(texts))
                if subject in named and target in named
            ):
                self._facts.contribute(fact, self._speaker.act("mention", 0, state_of(fact.row)))

    @property
    def _speaker(self) -> Speaker:
        return Speaker(0, self._origin, self._at, self._new.edge_rate)

    def saw(self, entities: Iterable[int], at: int) -> set[int]:
        """See entities again that are mentioned already; return those of them that are among these names."""
        named = {key: entity for key in entities if (entity := self._names.at(key)) is not None}
        for entity in named.values():
            entity.change(last_seen=max(entity.row.last_seen, at))
        return {*named}

    def write(self, by: StatedIn) -> set[Place]:
        """Write all of it, with the memory as the source of the facts; where the explicit ones are mentioned."""
        self._names.write(("explicit", "last_seen", "origin", "version"))
        self._facts.write(by.memory)
        sources = [RelationSource(fact.row.key, by.memory) for fact in self._stated]
        self._rows.put(sources, replace=False, live=("memory", "relation"))
        self._seen.write(self._rows, by.chunks)
        pairs = {
            (by.chunks[at], entity.row.key): OwnedMention(by.chunks[at], entity.row.key, by.other)
            for mention, entity in self._mentioned
            for at in mention.chunks
        }
        self._rows.put([*pairs.values()], replace=False, live=("chunk", "entity"))
        # A chunk that spoke of it earlier may be in the trash by now, and its mention is where it is.
        earlier = [OwnedMention(chunk, entity.row.key, by.other) for chunk, entity in self._earlier]
        self._rows.put(earlier, replace=False, live=("entity",))
        return {
            (by.chunks.index(by.chunks[at]), entity.row.key)
            for mention, entity in self._mentioned
            if mention.explicit
            for at in mention.chunks
        }


class _NamesSeen:
    """Names found by rule: counted until the workspace has seen enough of them."""

    def __init__(self, found: Iterable[NameSeen]) -> None:
        self._known = {row.name_key: row for row in found}
        self._now: dict[str, tuple[NameSeen, list[int]]] = {}
        self._enough: set[str] = set()

    def count(self, mention: NewMention) -> Sequence[int] | None:
        """Return the chunks that spoke of it earlier once there is enough evidence; None while there is not."""
        key = name_key(mention.thing.name)
        nothing = NameSeen(key, mention.thing.name, 0, [])
        row, here = self._now.get(key) or (self._known.get(key, nothing), [])
        evidence = row.evidence + mention.evidence
        if evidence >= ENOUGH_EVIDENCE:
            self._now.pop(key, None)
            self._enough.add(key)
            return row.chunks
        if mention.evidence:
            self._now[key] = row._replace(evidence=evidence), [*here, *mention.chunks]
        return None

    def write(self, rows: Rows, chunks: Sequence[int]) -> None:
        counted = [row._replace(chunks=[*row.chunks, *(chunks[at] for at in here)]) for row, here in self._now.values()]
        rows.put(counted, replace=True)
        rows.drop(NameSeen, [(key,) for key in sorted(self._enough & self._known.keys())])
