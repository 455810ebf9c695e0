"""Examine a workspace and its home, mend what can be mended, examine again."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from memsweep.care.invariants import CURES, HOME_CURES, cure_of
from memsweep.embed.protocol import Embedder, quantise
from memsweep.errors import MemsweepError, StoreCorrupt, UnknownWorkspace
from memsweep.model.audit import AuditEvent, AuditQuery
from memsweep.model.care import Checkup, Finding
from memsweep.model.graph_rows import Mention
from memsweep.model.memory import CODE_SOURCE
from memsweep.model.revision import Piece
from memsweep.model.text import FindNames, name_key
from memsweep.store.adding import claim_model
from memsweep.store.protocol import HomeKeeper, Store
from memsweep.store.rows import RowReads, Values
from memsweep.store.texts import add_pieces, own_places
from memsweep.store.things.memories import ChunkRow, MemoryRow, VectorRow

if TYPE_CHECKING:
    from memsweep.store.changes import WorkspaceReads


_ROUNDS = 6  # mending one thing may bring another to light
_BATCH = 256
_SHOWN = 5
_MERGES = 10_000  # the newest


@dataclass(frozen=True, slots=True)
class DoctorDependencies:
    """The doctor's dependencies; parts that may fail are asked for when they are needed."""

    workspace_id: str
    home: HomeKeeper
    store: Callable[[], Store]
    found: Callable[[], Store | None]
    """The store; None where nothing was stored yet, which is no damage."""
    embedder: Callable[[], Embedder]
    cut: Callable[[str], Sequence[Piece]]
    """A text as the pieces that are searched."""
    find_names: FindNames
    actor: str
    clock: Callable[[], datetime]


def doctor(tools: DoctorDependencies, *, repair: bool) -> Checkup:
    found = _examine(tools)
    seen = _by_invariant(found)
    notes: dict[str, None] = {}
    lost: dict[str, None] = {}
    for _ in range(_ROUNDS if repair else 0):
        before = found
        for cure in CURES:
            kept_from, not_saved = _cure(tools, cure, [finding for finding in found if cure_of(finding) == cure])
            notes |= dict.fromkeys(kept_from)
            lost |= dict.fromkeys(not_saved)
        found = _examine(tools)
        seen |= {name: finding for name, finding in _by_invariant(found).items() if name not in seen}
        if not found or found == before:
            break
    return Checkup(tools.workspace_id, _as_repaired(seen.values(), found), tuple(notes), tuple(lost))


def _examine(tools: DoctorDependencies) -> list[Finding]:
    """The home first: it may know why the workspace cannot be opened."""
    found = tools.home.examine()
    try:
        store = tools.found()
    except (UnknownWorkspace, StoreCorrupt):
        if found:
            return found
        raise
    if store is None:
        return found
    found += store.keeper.examine()
    return found or _unmentioned_names(tools, store)  # of what is damaged more is not asked


def _unmentioned_names(tools: DoctorDependencies, store: Store) -> list[Finding]:
    lost = _unmentioned(tools, store)
    ids = tuple(sorted({each.memory_id for each in lost}))
    return [Finding("name_unmentioned", len(lost), ids[:_SHOWN])] if lost else []


def _unmentioned(tools: DoctorDependencies, store: Store) -> set[Unmentioned]:
    merges = [event for _, event in store.collector.audit(_MERGES, AuditQuery(action="merge"))]
    if not merges:
        return set()
    with store.collector.reading() as rows:
        lost = unmentioned(rows, merges, tools.find_names)
    return {each for each in lost if _is_updated(store, each.memory_id, each.merged_at)}


def _is_updated(store: Store, memory_id: str, since: datetime) -> bool:
    return bool(store.collector.audit(1, AuditQuery(memory_id, action="update", since=since)))


def _cure(tools: DoctorDependencies, cure: str, found: Sequence[Finding]) -> tuple[list[str], list[str]]:
    """Mend one kind of finding, in one transaction; what kept it from being done, and what could not be saved."""
    if not found:
        return [], []
    try:
        if cure in HOME_CURES:
            return [], tools.home.repair(cure, found, actor=tools.actor, now=tools.clock())
        if cure in _CURES:
            return [], _CURES[cure](tools, found)
        return [], tools.store().keeper.repair(cure, found, actor=tools.actor, now=tools.clock())
    except MemsweepError as error:
        return [str(error)], []


def _cut(tools: DoctorDependencies, found: Sequence[Finding]) -> list[str]:
    """Chunks for memories that lost theirs; the next cures give them vectors. The next index run reads code anew."""
    with tools.store().collector.changing() as tx:
        live, cut = tx.rows.ask(Values(MemoryRow, ("key",)), Values(ChunkRow, ("memory",), bin="any", distinct=True))
        lost = tx.texts.at({key for (key,) in live} - {key for (key,) in cut}).values()
        memories = [memory for memory in lost if memory.text.strip()]
        for memory in memories:
            pieces = tools.cut(memory.text)
            add_pieces(tx.rows, memory.key, pieces, own_places(memory.key, len(pieces)))
        tx.texts.read_again([memory.key for memory in memories if memory.source == CODE_SOURCE])
        tx.audit(_event(tools, "chunks", found, [memory.id for memory in memories]))
    return []


def _embed(tools: DoctorDependencies, found: Sequence[Finding]) -> list[str]:
    store, embedder = tools.store(), tools.embedder()
    texts = _without_vector(store.rows, embedder.model.dimension)
    vectors: dict[int, bytes] = {}
    for keys in _batches(texts):
        vectors |= zip(keys, quantise(embedder.embed([texts[key] for key in keys])), strict=True)
    with store.collector.changing() as tx:
        claim_model(tx.rows, embedder.model)
        (there,) = tx.rows.ask(Values(ChunkRow, ("key",), (("key", "in", vectors),), "any"))
        made = [VectorRow(key, vectors[key]) for (key,) in sorted(there)]
        tx.rows.free(VectorRow, ("key", "in", [row.key for row in made]))
        tx.rows.add(made)
        tx.audit(_event(tools, "embed", found))
    # what searches go by is made of these
    return store.keeper.repair("vector_files", (), actor=tools.actor, now=tools.clock())


def _without_vector(rows: RowReads, dimension: int) -> dict[int, str]:
    """Return the texts of chunks that have no vector, or one of another dimension."""
    (every,) = rows.ask(Values(ChunkRow, ("key",), bin="any"))
    found: dict[int, str] = {}
    for keys in _batches([key for (key,) in every]):
        fit = {row.key for row in rows.find(VectorRow, ("key", "in", keys)) if len(row.data) == dimension}
        (texts,) = rows.ask(Values(ChunkRow, ("key", "text"), (("key", "in", {*keys} - fit),), "any"))
        found |= dict(map(tuple, texts))
    return found


def _batches(keys: Iterable[int]) -> Iterator[list[int]]:
    left = iter(keys)
    while batch := [*islice(left, _BATCH)]:
        yield batch


def _event(tools: DoctorDependencies, cure: str, found: Sequence[Finding], ids: Iterable[str] = ()) -> AuditEvent:
    counts = {each.invariant: each.count for each in found}
    return AuditEvent(tools.clock(), tools.actor, "repair", cure, counts, ids=tuple(ids))


def _mention(tools: DoctorDependencies, found: Sequence[Finding]) -> list[str]:
    """Add the mentions that the text gives; other mentions may have been passed by a caller, and stay."""
    store = tools.store()
    lost = _unmentioned(tools, store)
    with store.collector.changing() as tx:
        live = {key for key, row in tx.entities.at({each.entity for each in lost}).items() if row.trash is None}
        there = sorted(each for each in lost if each.entity in live)
        tx.mentions.add([Mention(each.chunk, each.entity) for each in there], {})
        tx.audit(_event(tools, "names", found, dict.fromkeys(each.memory_id for each in there)))
    return []


_CURES = {"chunks": _cut, "embed": _embed, "names": _mention}
"""Those that need more than a store has."""


def _as_repaired(seen: Iterable[Finding], left: Sequence[Finding]) -> tuple[Finding, ...]:
    """Everything that was seen on the way, as it is now."""
    now = _by_invariant(left)
    return tuple(now.get(finding.invariant) or replace(finding, repaired=True) for finding in seen)


def _by_invariant(found: Iterable[Finding]) -> dict[str, Finding]:
    return {finding.invariant: finding for finding in found}


# Texts that name one entity and mention another, which had that name while a merge stood.
# Nobody wrote down whether a text that names something was to mention it: whoever adds one may say what it mentions.
# But one that was updated since the merge mentions what it names.


class Unmentioned(NamedTuple):
    """A chunk that names an entity: the id of its memory, and what has that name."""

    memory_id: str
    chunk: int
    entity: int
    merged_at: datetime


def unmentioned(rows: WorkspaceReads, merges: Iterable[AuditEvent], find: FindNames) -> set[Unmentioned]:
    """Of the merges whose entities are all there, the texts that were not given back."""
    names_of: dict[int, set[str]] = defaultdict(set)
    for name, entity in rows.records.entity_names():
        names_of[entity].add(name)
    there = {uid: _live(rows, uid) for event in merges for uid in event.ids}
    pairs: dict[int, dict[int, datetime]] = defaultdict(dict)
    for event in merges:
        kept = there.get(event.subject)
        if kept is not None:
            pairs[kept] |= {key: event.at for key in map(there.get, event.ids) if key is not None and key != kept}
    return {each for kept, parted in pairs.items() if parted for each in _of(rows, kept, parted, names_of, find)}


def _live(rows: WorkspaceReads, uid: str) -> int | None:
    found = rows.items.find(uid)
    return found[1] if found is not None and found[2] is None else None


def _of(
    rows: WorkspaceReads, kept: int, parted: dict[int, datetime], names_of: dict[int, set[str]], find: FindNames
) -> Iterator[Unmentioned]:
    memories = rows.texts.at({memory for _, memory in rows.items.around([kept]).mentions})
    texts = [key for key, row in memories.items() if row.source != CODE_SOURCE]
    for memory, pieces in rows.texts.pieces(texts).items() if texts else ():
        named: dict[int, set[str]] = defaultdict(set)
        for found in find([piece.text for piece in pieces]):
            for place in found.texts:
                named[place].add(name_key(found.name))
        for place, piece in enumerate(pieces):
            if kept in piece.entities and named[place].isdisjoint(names_of[kept]):
                for entity in parted.keys() - {*piece.entities}:
                    if not named[place].isdisjoint(names_of[entity]):
                        yield Unmentioned(memories[memory].id, piece.key, entity, parted[entity])
