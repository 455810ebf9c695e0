"""The rows that plans speak of: memories, chunks, entities and relations by their keys, the same for every engine."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from memsweep.model.columns import Bin, part
from memsweep.model.contribution import stands_alone
from memsweep.model.ids import findable
from memsweep.model.likeness import WordGroups
from memsweep.model.memory import CODE_SOURCE
from memsweep.model.plan import Kind, Survey, SurveyedEntity, SurveyedMemory, SurveyedRelation
from memsweep.model.times import last_seen
from memsweep.store.rows import Find, Read, Rows, Show, SumsBy, Values, Where
from memsweep.store.things.code import CODE_FILE, CODE_ROOT, CODE_SCOPE
from memsweep.store.things.collected import SavedReceipt
from memsweep.store.things.graph import EntityRow, MentionLink, RelationRow, RelationSource
from memsweep.store.things.memories import MEMORY, ChunkRow, MemoryRow, Supersession
from memsweep.store.things.windows import SegmentRow
from memsweep.store.views import Shown, View

Keys = Mapping[Kind, Collection[int]]


class LiveRow(NamedTuple):
    version: int
    pinned: bool
    belongs_to: tuple[int, ...] = ()
    """The entities that a relation is between; the memory of a chunk, if there is one."""


class Around(NamedTuple):
    """The holders of entities: live memories that mention them, and live relations with their ends."""

    mentions: Sequence[tuple[int, int]] = ()
    """Entity and memory."""
    relations: Sequence[tuple[int, int, int]] = ()


class Described(NamedTuple):
    """A row as people know it, live or in the trash; what its kind does not have is empty."""

    id: str = ""
    name: str = ""
    created_at: int | None = None
    length: int = 0
    root: str | None = None
    path: str | None = None
    chunks: int = 0
    type: str | None = None
    ends: tuple[str, str] | None = None
    """Of a relation: the ids of the entities it is between."""
    end_names: tuple[str, str] = ("", "")

    @property
    def whole_name(self) -> str:
        """Return what it is called; a relation, with what it is between."""
        return f"{self.end_names[0]} {self.name} {self.end_names[1]}" if self.ends else self.name


class Hashed(NamedTuple):
    key: int
    content_hash: bytes


part(Hashed, MEMORY)
ROWS: dict[str, type[Any]] = {
    "memory": MemoryRow,
    "chunk": ChunkRow,
    "entity": EntityRow,
    "relation": RelationRow,
    "segment": SegmentRow,
}
_NAME_CHARACTERS = 80
_PLACE = {"root": Shown(CODE_ROOT, "path"), "path": Shown(CODE_FILE, "path")}
PLACES = View({"key": Shown(MEMORY, "key"), "id": Shown(MEMORY, "id"), **_PLACE}, (MEMORY,))
"""The files that memories are of."""
_DESCRIBED = View(
    {
        **{name: Shown(MEMORY, name) for name in ("key", "id", "created_at", "trash")},
        "text": Shown(MEMORY, "text", "beginning"),
        "length": Shown(MEMORY, "text", "length"),
        **_PLACE,
    },
    (MEMORY,),
)
_SURVEYED = View(
    {
        **{name: Shown(MEMORY, name) for name in ("key", "version", "source", "stale", "pinned", "created_at")},
        **{name: Shown(MEMORY, name) for name in ("last_seen_at", "expires_at", "content_hash")},
        "path": Shown(CODE_FILE, "path"),
        "alone": Shown(CODE_FILE, "verified_at"),
        "verified": Shown(CODE_SCOPE, "verified_at"),
    },
    (MEMORY,),
)
_OF_FACTS = ("key", "version", "subject", "object", "weight", "last_seen", "invalid_at", "explicit", "evidence")
_OF_LINKS = ("old", "new", "at")
_OF_STATEMENTS = ("relation", "memory", "memory.source", "memory.trash")


class Items(ABC):
    """The items of plans; an engine writes what is abstract. Inside the caller's transaction."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    @abstractmethod
    def survey(self, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
        """Return what the strategies must see, at one moment."""

    def survey_of(self, memories: Collection[int], entities: Collection[int] = ()) -> Survey:
        """Of a survey what is about these alone: the rows, the chunks of the memories and what superseded them or was
        superseded by them; the relations at the entities, and which memories mention them or state these."""
        at_ends = [
            Values(RelationRow, _OF_FACTS, ((end, "in", entities),), near="live") for end in ("subject", "object")
        ]
        rows, chunks, newer, older, things, mentioned, *found = self._rows.ask(
            Show(_SURVEYED, (("key", "in", memories),)),
            SumsBy(ChunkRow, "memory", memories),
            Values(Supersession, _OF_LINKS, (("old", "in", memories),), near="live"),
            Values(Supersession, _OF_LINKS, (("new", "in", memories),), near="live"),
            Values(EntityRow, SurveyedEntity._fields, (("key", "in", entities),)),
            Values(MentionLink, ("chunk.memory", "entity"), (("entity", "in", entities),), distinct=True, near="live"),
            *at_ends,
        )
        facts = sorted({row[0]: tuple(row) for listed in found for row in listed}.values())
        speaking, told = self._ask(
            Values(MemoryRow, ("key",), (("key", "in", {memory for memory, _ in mentioned}),)),
            Values(RelationSource, _OF_STATEMENTS, (("relation", "in", [row[0] for row in facts]),), "any"),
        )
        there = {key for (key,) in speaking}
        notes = Counter(relation for relation, _, source, _ in told if source != CODE_SOURCE)
        stated = [(memory, relation) for relation, memory, _, trash in told if trash is None]
        held = {relation for _, relation in stated}
        alone = {row[0] for row in facts if stands_alone(bool(row[7]), row[8], notes[row[0]])}
        ends = {row[0]: (row[2], row[3]) for row in facts}
        return Survey(
            memories=sorted(_surveyed(row) for row in rows),
            chunk_counts={key: number for key, number, _ in chunks},
            supersessions=sorted({tuple(row) for row in (*newer, *older)}),
            entities=[SurveyedEntity._make(row) for row in sorted(map(tuple, things))],
            mentions=[(memory, entity) for memory, entity in mentioned if memory in there],
            edges=[pair for key, pair in ends.items() if key in alone or key not in held],
            stated=[(memory, *ends[relation]) for memory, relation in stated if relation not in alone],
            relations=[SurveyedRelation._make((*row[:7], row[0] in held)) for row in facts],
        )

    @abstractmethod
    def count_words(self, words: Collection[str]) -> dict[str, int]:
        """Return how many chunks have each of these words, as the full text sees it."""

    @abstractmethod
    def with_words(self, words: WordGroups, *, in_pieces: bool = False) -> set[int]:
        """Return live memories, no files of code, of which a chunk has these words; or only those of several chunks."""

    def find(self, item_id: str) -> tuple[Kind, int, str | None] | None:
        """Return the kind and the key of a memory or an entity, and the receipt that holds it if it is in the trash."""
        kinds: tuple[Kind, ...] = ("memory", "entity")
        where: Where = ("id", "=", findable(item_id))
        found = self._ask(*(Values(ROWS[kind], ("key", "trash"), (where,), "any") for kind in kinds))
        for kind, rows in zip(kinds, found, strict=True):
            for key, trash in rows:
                held = self._ask(Values(SavedReceipt, ("id",), (("key", "=", trash),)))[0] if trash is not None else ()
                return kind, key, next((uid for (uid,) in held), None)
        return None

    def describe(self, wanted: Keys, bin: Bin = "any") -> dict[tuple[Kind, int], Described]:
        """Return them as people know them; chunks are counted for those that may be live."""
        reads = {kind: _describing(kind, keys, bin) for kind, keys in wanted.items()}
        answers = iter(self._rows.ask(*(read for each in reads.values() for read in each)))
        found: dict[tuple[Kind, int], Described] = {}
        for kind, asked in reads.items():
            rows, *totals = (next(answers) for _ in asked)
            said = _described_memories(rows, *totals) if kind == "memory" else map(_DESCRIBED_AS[kind], rows)
            found |= {(kind, key): each for key, each in said}
        return found

    def texts(self, memories: Collection[int]) -> dict[int, str]:
        """Return the texts of those that are live."""
        return dict(self._of(MemoryRow, ("key", "text"), memories))

    def around(self, entities: Collection[int]) -> Around:
        (mentioned,) = self._ask(
            Values(MentionLink, ("entity", "chunk.memory"), (("entity", "in", entities),), distinct=True, near="live")
        )
        there = {key for (key,) in self._of(MemoryRow, ("key",), {memory for _, memory in mentioned})}
        return Around([pair for pair in mentioned if pair[1] in there], self._at_ends(entities))

    def relations_at(self, entities: Collection[int]) -> set[int]:
        """Return live relations that begin or end at one of these."""
        return {key for key, _, _ in self._at_ends(entities)}

    def _at_ends(self, entities: Collection[int]) -> list[Any]:
        said = ("key", "subject", "object")
        found = self._ask(*(Values(RelationRow, said, ((end, "in", entities),), near="live") for end in said[1:]))
        return [*{row[0]: row for rows in found for row in rows}.values()]

    def same_text(self, memories: Collection[int]) -> set[int]:
        """Return live memories with the text of one of these."""
        hashes = {each.content_hash for each in self._rows.find(Hashed, ("key", "in", memories))}
        return {each.key for each in self._rows.find(Hashed, ("content_hash", "in", hashes))}

    def count(self, kinds: Sequence[Kind]) -> dict[Kind, int]:
        """Return how many are live."""
        found = self._rows.ask(*(SumsBy(ROWS[kind]) for kind in kinds))
        return {kind: number for kind, ((_, number, _),) in zip(kinds, found, strict=True)}

    def sources(self, relations: Collection[int]) -> list[tuple[int, int]]:
        """Return these relations, each with every live memory that states it."""
        where: tuple[Where, ...] = (("relation", "in", relations), ("memory.trash", "null", None))
        return self._ask(Values(RelationSource, ("relation", "memory"), where, "any"))[0]

    def live(self, wanted: Keys) -> dict[tuple[Kind, int], LiveRow]:
        """Return those of these that are live; chunks have no version."""
        found: dict[tuple[Kind, int], LiveRow] = {}
        for kind, keys in wanted.items():
            if kind == "chunk":
                rows = self._of(ChunkRow, ("key", "memory"), keys)
                there = {key for (key,) in self._of(MemoryRow, ("key",), {memory for _, memory in rows}, "any")}
                found |= {(kind, key): LiveRow(0, False, (of,) if of in there else ()) for key, of in rows}
            elif kind == "relation":
                rows = self._of(RelationRow, ("key", "version", "subject", "object"), keys)
                found |= {(kind, key): LiveRow(version, False, tuple(ends)) for key, version, *ends in rows}
            else:
                rows = self._of(ROWS[kind], ("key", "version", "pinned"), keys)
                found |= {(kind, key): LiveRow(version, bool(pinned)) for key, version, pinned in rows}
        return found

    def last_seen(self, memories: Collection[int]) -> dict[int, int]:
        """Return when those that are live were last seen, as a survey says it."""
        return {row["key"]: _last_seen(row) for row in self._rows.ask(Show(_SURVEYED, (("key", "in", memories),)))[0]}

    def superseded(self, memories: Collection[int]) -> set[int]:
        """Return those of these that a live memory supersedes."""
        where: tuple[Where, ...] = (("old", "in", memories), ("new.trash", "null", None))
        return {
            old for (old,) in self._ask(Values(Supersession, ("old",), where, "any", distinct=True, near="live"))[0]
        }

    def ids(self, wanted: Keys, bin: Bin = "any") -> dict[tuple[Kind, int], str]:
        """Return their ids, live or in the trash."""
        reads = [Values(ROWS[kind], ("key", "id"), (("key", "in", keys),), bin) for kind, keys in wanted.items()]
        found = zip(wanted, self._ask(*reads), strict=True)
        return {(kind, key): uid for kind, rows in found for key, uid in rows}

    def chunks_of(self, memories: Collection[int]) -> list[int]:
        where: Where = ("memory", "in", memories)
        return [key for (key,) in self._ask(Values(ChunkRow, ("key",), (where,), near="live"))[0]]

    def stated_by(self, memories: Collection[int]) -> list[tuple[int, bool]]:
        """Return live relations that these memories state, and whether they stand by themselves, too."""
        if not memories or not self._rows.ask(Find(RelationSource, (("relation", ">", 0),), "any", limit=1))[0]:
            return []  # many memories are asked about at once
        by_these = Values(
            RelationSource, ("relation",), (("memory", "in", memories),), "any", distinct=True, near="live"
        )
        stated = {relation for (relation,) in self._ask(by_these)[0]}
        facts = self._of(RelationRow, ("key", "explicit", "evidence"), stated)
        given: tuple[Where, ...] = (("relation", "in", [key for key, explicit, _ in facts if explicit]),)
        told = self._ask(Values(RelationSource, ("relation", "memory.source"), given, "any"))[0] if given[0][2] else []
        notes = Counter(relation for relation, source in told if source != CODE_SOURCE)
        return [(key, stands_alone(bool(explicit), evidence, notes[key])) for key, explicit, evidence in facts]

    def pin(self, kind: Kind, key: int, pinned: bool) -> None:
        self._rows.set(ROWS[kind], ("key", "=", key), pinned=pinned)

    def _of(self, row: type[Any], columns: tuple[str, ...], keys: Collection[int], bin: Bin = "live") -> list[Any]:
        return self._ask(Values(row, columns, (("key", "in", keys),), bin))[0]

    def _ask(self, *reads: Values) -> list[list[Any]]:
        return [[*map(tuple, found)] for found in self._rows.ask(*reads)]


def _last_seen(row: Mapping[str, Any]) -> int:
    verified = row["alone"] if row["verified"] is None else row["verified"]
    return last_seen(row["created_at"], row["last_seen_at"], stale=row["stale"], verified_at=verified)


def _surveyed(row: Mapping[str, Any]) -> SurveyedMemory:
    return SurveyedMemory(
        key=row["key"],
        version=row["version"],
        is_code=row["source"] == CODE_SOURCE,
        stale=row["stale"],
        pinned=row["pinned"],
        created_at=row["created_at"],
        last_seen_at=row["last_seen_at"] if row["path"] is None else _last_seen(row),
        expires_at=row["expires_at"],
        content_hash=row["content_hash"],
    )


def _describing(kind: Kind, keys: Collection[int], bin: Bin) -> list[Read]:
    where: tuple[Where, ...] = (("key", "in", keys),)
    if kind != "memory":
        return [Values(ROWS[kind], _TOLD[kind], where, bin)]
    bins: tuple[Bin, ...] = ("live", "trash") if bin == "any" else ()
    return [Show(_DESCRIBED, where, bin), *(SumsBy(ChunkRow, "memory", keys, bin=bin) for bin in bins)]


def _described_memories(rows: Iterable[Any], *totals: Iterable[Any]) -> Iterator[tuple[int, Described]]:
    live, trashed = ({key: number for key, number, _ in each} for each in totals or ((), ()))
    for row in rows:
        name, chunks = row["text"][:_NAME_CHARACTERS], (live if row["trash"] is None else trashed).get(row["key"], 0)
        yield (
            row["key"],
            Described(row["id"], name, row["created_at"], row["length"], row["root"], row["path"], chunks),
        )


def _described_text(row: Sequence[Any]) -> tuple[int, Described]:
    key, uid, text = row
    return key, Described(uid, text[:_NAME_CHARACTERS], None, len(text))


def _described_entity(row: Sequence[Any]) -> tuple[int, Described]:
    key, uid, name, made, of = row
    return key, Described(uid, name, made, type=of)


def _described_fact(row: Sequence[Any]) -> tuple[int, Described]:
    key, uid, name, made, *ends = row
    return key, Described(uid, name, made, ends=(ends[0], ends[1]), end_names=(ends[2], ends[3]))


_TOLD: Mapping[Kind, tuple[str, ...]] = {
    "chunk": ("key", "id", "text"),
    "segment": ("key", "id", "text"),
    "entity": ("key", "id", "name", "created_at", "type"),
    "relation": ("key", "id", "relation", "created_at", "subject.id", "object.id", "subject.name", "object.name"),
}
_DESCRIBED_AS: Mapping[Kind, Callable[[Sequence[Any]], tuple[int, Described]]] = {
    "chunk": _described_text,
    "segment": _described_text,
    "entity": _described_entity,
    "relation": _described_fact,
}
_EVERY_ENTITY = {"graph", "relations"}
_UNMENTIONED = "unmentioned graph"


def reads_entities(needs: Collection[str]) -> bool:
    return _UNMENTIONED in needs or not _EVERY_ENTITY.isdisjoint(needs)


def reads_edges(needs: Collection[str]) -> bool:
    return _UNMENTIONED in needs or "graph" in needs


def reads_unmentioned_only(needs: Collection[str]) -> bool:
    """Return whether the components that no live memory speaks of are enough."""
    return _UNMENTIONED in needs and _EVERY_ENTITY.isdisjoint(needs)
