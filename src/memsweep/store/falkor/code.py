"""Code files in the graph. Every method is one transaction, every function works inside the caller's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Any

from memsweep.model import columns
from memsweep.model.code import (
    CodeLink,
    FileChunk,
    FileMark,
    FileWrite,
    Listing,
    RunEnd,
    other_places,
    says_nothing,
)
from memsweep.model.contribution import Contribution, Unstated, settled
from memsweep.model.memory import CODE_SOURCE
from memsweep.model.memory_row import MEMORY
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.text import name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.adding import claim_model
from memsweep.store.audit_rows import log
from memsweep.store.code_files import CodeFiles, RunWrites, StoredChunk, compare_chunks, ensure_root, keep_listed
from memsweep.store.falkor import code_cypher, cypher
from memsweep.store.falkor.code_names import CodeNames
from memsweep.store.falkor.rows import FalkorRows, nodes_of
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.words import sought_by, terms_of
from memsweep.store.journals import Origins, note_if_any
from memsweep.store.names import Facts, Handled, read_of_facts
from memsweep.store.refusals import file_removed_meanwhile
from memsweep.store.things.code import CodeRootRow
from memsweep.store.things.graph import RELATION, RelationRow
from memsweep.store.things.memories import VectorRow

NewId = Callable[[str], str]
REFER = attrgetter("path")


class FalkorCodeFiles(CodeFiles):
    """Implements `memsweep.store.code_files.CodeFiles`."""

    def __init__(self, graph: GraphHandle, vectors: VectorSet) -> None:
        super().__init__(FalkorRows(graph), REFER)
        self._graph, self._vectors = graph, vectors

    def write(
        self,
        root: str,
        files: Sequence[FileWrite],
        model: EmbeddingModel,
        now: datetime,
        new_id: NewId,
        origin: Origin = UNKNOWN,
    ) -> None:
        with self._vectors.writing() as tx:
            claim_model(FalkorRows(tx), model)
            dropped = _write_files(tx, root, files, to_micros(now), new_id, origin)
            self._vectors.announce(tx.meta["generation"], dropped)
        if dropped:
            self._vectors.dismiss(tx.meta["generation"])

    def end_run(self, run: RunEnd, now: datetime) -> None:
        with self._graph.writing() as tx:
            RunWrites(FalkorRows(tx), run, now, REFER).write()
            if (event := run.event(now)) is not None:
                log(FalkorRows(tx), event)


def _write_files(
    tx: Transaction, root: str, files: Sequence[FileWrite], now: int, new_id: NewId, by: Origin
) -> list[int]:
    """Files in their new form: chunks that did not change keep their nodes. The keys of chunks that went."""
    origin = Origins(FalkorRows(tx)).key_of(by)
    ids = [file.memory_id for file in files]
    live, trashed = tx.ask_all((code_cypher.MEMORIES_OF_IDS, {"ids": ids}), (code_cypher.TRASHED_OF_IDS, {"ids": ids}))
    keys: dict[str, int] = dict(map(tuple, live))
    gone = {uid for (uid,) in trashed}
    for file in files:
        if file.memory_id in gone:
            raise file_removed_meanwhile(file.path)
    _refuse_doubles(tx, root, [file for file in files if file.memory_id not in keys])
    before = _Before(tx, list(keys.values()))
    named = CodeNames(tx, files, now, new_id, origin)
    facts = _known_facts(tx, named, [link for file in files for link in file.links])
    memories = {file.memory_id: _write_memory(tx, root, file, keys.get(file.memory_id), now, origin) for file in files}
    ensure_root(FalkorRows(tx), root)
    tx.do(code_cypher.DROP_SKIP, [{"root": root, "path": file.path} for file in files])
    taken = ((*file.taken_from, file.language) for file in files if file.taken_from is not None)
    keep_listed(FalkorRows(tx), [Listing(*each) for each in taken], REFER)
    chunks = _Chunks(tx)
    places: dict[int, list[int]] = {}
    for file in files:
        memory = memories[file.memory_id]
        places[memory] = chunks.write(memory, before.chunks[memory], file.chunks)
    chunks.finish()
    stated = {memories[file.memory_id]: _state(facts, named, file.links, now, new_id, origin) for file in files}
    named.names.write()
    facts.write()
    _note_seen(tx, stated, now, origin)
    for file in files:
        memory = memories[file.memory_id]
        wanted = {(places[memory][each.chunk], named[each.thing].row.key) for each in file.symbols}
        _write_mentions(tx, before.mentions[memory], wanted)
    begins = {memory: {fact.row.key: fact.row.subject for fact in each} for memory, each in stated.items()}
    _write_statements(tx, before.stated, begins)
    return chunks.dropped


def _refuse_doubles(tx: Transaction, root: str, files: Sequence[FileWrite]) -> None:
    """A file that is new to this root may have become another root's since it was looked for."""
    known = [root.path for root in FalkorRows(tx).find(CodeRootRow)] if files else []
    places = [list(place) for file in files for place in other_places(root, file.path, known)]
    if places and (found := tx.ask(code_cypher.FILES_AT, places=places)):
        raise file_removed_meanwhile(found[0][1])


class _Before:
    """The present rows of some files, by the key of their memory."""

    def __init__(self, tx: Transaction, memories: list[int]) -> None:
        self.chunks: dict[int, list[StoredChunk]] = defaultdict(list)
        self.mentions: dict[int, set[tuple[int, int]]] = defaultdict(set)
        self.stated: dict[int, set[int]] = defaultdict(set)
        if not memories:
            return
        asked = (code_cypher.CHUNKS_OF, code_cypher.MENTIONS_OF, code_cypher.STATED_BY)
        chunks, mentions, stated = tx.ask_all(*((query, {"memories": memories}) for query in asked))
        for memory, key, digest, *rest in chunks:
            self.chunks[memory].append(StoredChunk(key, bytes.fromhex(digest), *rest))
        for memory, chunk, entity in mentions:
            self.mentions[memory].add((chunk, entity))
        for memory, relation in stated:
            self.stated[memory].add(relation)


def _write_memory(tx: Transaction, root: str, file: FileWrite, known: int | None, now: int, origin: int | None) -> int:
    form = {
        "root": root,
        "path": file.path,
        "language": file.language,
        **_mark(file.mark),
        "lines": file.lines,
        "functions": file.functions,
        "classes": file.classes,
        "encoding": file.encoding,
        "failure": file.failure,
        "text": file.text,
        "content_hash": file.content_hash.hex(),
        "updated_at": now,
        "last_seen_at": now,
        "origin": origin,
    }
    if known is not None:
        tx.do(cypher.CHANGE_MEMORY, [{"key": known, "set": form}])
        return known
    key = tx.new_key()
    plain = {"id": file.memory_id, "source": CODE_SOURCE, "stale": False, "version": 1, "created_at": now}
    tx.do(cypher.ADD_MEMORY, [{**_UNSAID, "key": key, **plain, **form}])
    return key


_SETTABLE = tuple(name for name, column in MEMORY.columns.items() if column.settable)
_UNSAID = dict(
    zip(
        map(MEMORY.in_node, _SETTABLE),
        columns.encoded(
            columns.encoders(MEMORY, _SETTABLE, "node"), [MEMORY.columns[name].nothing for name in _SETTABLE]
        ),
        strict=True,
    )
)
"""What callers would set, where nobody said anything."""


class _Chunks:
    """The chunks of some files, gathered: moved, new, copied, dropped."""

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx
        self._moved: list[dict[str, Any]] = []
        self._new: list[dict[str, Any]] = []
        self._vectors: list[dict[str, Any]] = []
        self._copies: list[dict[str, int]] = []
        self.dropped: list[int] = []

    def write(self, memory: int, before: Sequence[StoredChunk], chunks: Sequence[FileChunk]) -> list[int]:
        """Keys of a file's chunks in their order."""
        changes = compare_chunks(before, chunks)
        for position, old in changes.kept.items():
            if not old.is_still(chunks[position], position):
                form = _form(memory, chunks[position], position)
                self._moved.append({"memory": memory, "key": old.key, "set": form})
        keys = {position: old.key for position, old in changes.kept.items()}
        keys |= {at: self._add(memory, chunks[at], at, same) for at, same in changes.new.items()}
        self.dropped += [old.key for old in changes.dropped]
        return [keys[position] for position in range(len(chunks))]

    def finish(self) -> None:
        self._tx.do(code_cypher.MOVE_CHUNK, self._moved)
        self._tx.do(cypher.ADD_CHUNK, self._new)
        self._tx.do(cypher.ADD_EMBEDDING, self._vectors)
        self._tx.do(code_cypher.COPY_EMBEDDING, self._copies)
        self._tx.do(code_cypher.DROP_CHUNK, self.dropped)
        self._tx.do(code_cypher.DROP_EMBEDDING, self.dropped)

    def _add(self, memory: int, chunk: FileChunk, position: int, same: int | None) -> int:
        """A piece that the file did not have, or has once more: that takes the vector of the same one."""
        key = self._tx.new_key()
        made = {"key": key, "id": chunk.id, "memory": memory, "start": 0, "hash": chunk.hash.hex()}
        self._new.append({**made, **_form(memory, chunk, position)})
        if chunk.vector is not None:
            self._vectors += nodes_of([VectorRow(key, chunk.vector)])
        elif same is not None:
            self._copies.append({"key": key, "same": same})
        return key


def _form(memory: int, chunk: FileChunk, position: int) -> dict[str, Any]:
    return {
        "position": position,
        "text": chunk.text,
        "first_line": chunk.first_line,
        "last_line": chunk.last_line,
        "symbol": chunk.symbol,
        "symbol_kind": chunk.kind,
        "words": chunk.words,
        **sought_by(terms_of(chunk.text, chunk.words)),
        "stream": -memory,
        "stream_position": position,
    }


def _known_facts(tx: Transaction, names: CodeNames, links: Sequence[CodeLink]) -> Facts:
    ends = ({names[link.subject] for link in links}, {names[link.object] for link in links})
    subjects, objects = ({each for each in some if not each.is_new} for some in ends)
    rows, kinds = FalkorRows(tx), {name_key(link.relation) for link in links}
    found = rows.ask(read_of_facts(subjects, kinds, objects))[0] if subjects and objects else ()
    return Facts(rows, names.names, found)


def _state(
    facts: Facts, names: CodeNames, links: Sequence[CodeLink], now: int, new_id: NewId, origin: int | None
) -> list[Handled]:
    """Return the relations that a file states, each once."""
    stated: dict[Handled, None] = {}
    for link in links:
        subject, target = names[link.subject], names[link.object]
        if says_nothing(link, are_one=subject is target):
            continue
        place = subject, name_key(link.relation), target
        known = facts.known.get(place)
        if known is None:
            known = facts.add(place, new_id("rel"), link.relation, now, origin)
        elif known.row.last_seen < now or known.row.weight != 1.0:
            known.touch(last_seen=max(known.row.last_seen, now), weight=1.0)
        stated[known] = None
    return [*stated]


def _note_seen(tx: Transaction, stated: Mapping[int, Sequence[Handled]], now: int, origin: int | None) -> None:
    acts = [
        Contribution(fact.row.key, "see", now, value=1.0, origin=origin, memory=memory)
        for memory, facts in stated.items()
        for fact in facts
        if not fact.is_new  # it has nothing else
    ]
    note_if_any(FalkorRows(tx), acts)


def _write_mentions(tx: Transaction, have: set[tuple[int, int]], wanted: set[tuple[int, int]]) -> None:
    tx.do(code_cypher.DROP_MENTION, [{"chunk": chunk, "entity": entity} for chunk, entity in sorted(have - wanted)])
    tx.do(cypher.ADD_MENTION, [{"chunk": chunk, "entity": entity} for chunk, entity in sorted(wanted - have)])


def _write_statements(tx: Transaction, have: Mapping[int, set[int]], wanted: Mapping[int, dict[int, int]]) -> None:
    """Write what a file states now; what no live file states any more goes to the trash, or is gone."""
    added, dropped = [], []
    for memory, stated in wanted.items():
        before = have.get(memory, set())
        added += [
            {"memory": memory, "relation": relation, "subject": subject}
            for relation, subject in stated.items()
            if relation not in before
        ]
        dropped += [{"memory": memory, "relation": relation} for relation in sorted(before - stated.keys())]
    tx.do(code_cypher.ADD_STATEMENT, added)
    tx.do(code_cypher.DROP_STATEMENT, dropped)
    unstated = sorted({row["relation"] for row in dropped})
    if not unstated:
        return
    without, within = ({(row["relation"], row["memory"]) for row in rows} for rows in (dropped, added))
    freed, moved = settled(_who_states(tx, unstated, without, within))
    rows = FalkorRows(tx)
    rows.free(RelationRow, ("key", "in", freed))
    rows.move(RelationRow, moved)


def _who_states(
    tx: Transaction, relations: Sequence[int], without: set[tuple[int, int]], within: set[tuple[int, int]]
) -> list[Unstated]:
    """Relations with those who state them once these statements are gone, and those are there."""
    queries = (code_cypher.WHO_STATES, *(code_cypher.IS_EXPLICIT.format(relation=kind) for kind in RELATION.edge))
    stated, *rows = tx.ask_all(*((query, {"keys": list(relations)}) for query in queries))
    holders: dict[int, list[int | None]] = defaultdict(list)
    for relation, memory, trash in stated:
        if (relation, memory) not in without:
            holders[relation].append(trash)
    for relation, _ in within:
        holders[relation].append(None)
    return [Unstated(key, explicit, trash, tuple(holders[key])) for found in rows for key, explicit, trash in found]


def _mark(mark: FileMark) -> dict[str, Any]:
    return {"stamp": mark.stamp, "digest": mark.digest, "read_at_ns": mark.read_at_ns}
