"""Code files in the graph. Every method is one transaction, every function works inside the caller's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
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
    are_one,
    other_places,
)
from memsweep.model.contribution import Contribution, Unstated, settled
from memsweep.model.memory import CODE_SOURCE
from memsweep.model.memory_row import MEMORY
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.text import name_key
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.audit_rows import log
from memsweep.store.code_files import CodeFiles, RunWrites, StoredChunk, compare_chunks, ensure_root, keep_listed
from memsweep.store.falkor import code_cypher, cypher
from memsweep.store.falkor.code_names import CodeNames
from memsweep.store.falkor.naming import KnownRelations
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.falkor.vectors import VectorSet
from memsweep.store.falkor.words import sought_by, terms_of
from memsweep.store.falkor.writing import claim_model, encoded
from memsweep.store.journals import Origins, note_if_any
from memsweep.store.refusals import file_removed_meanwhile
from memsweep.store.things.code import CodeRootRow
from memsweep.store.things.graph import RELATION, RelationRow

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
            claim_model(tx, model)
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
    relations = KnownRelations(tx, [ends for file in files for ends in _ends(named, file.links)])
    memories = {file.memory_id: _write_memory(tx, root, file, keys.get(file.memory_id), now, origin) for file in files}
    ensure_root(FalkorRows(tx), root)
    tx.do(code_cypher.DROP_SKIP, [{"root": root, "path": file.path} for file in files])
    taken = ((*file.taken_from, file.language) for file in files if file.taken_from is not None)
    keep_listed(FalkorRows(tx), [Listing(*each) for each in taken], REFER)
    chunks = _Chunks(tx)
    mentions: dict[int, set[tuple[int, int]]] = {}
    for file in files:
        memory = memories[file.memory_id]
        places = chunks.write(memory, before.chunks[memory], file.chunks)
        mentions[memory] = {(places[each.chunk], named[each.thing].key) for each in file.symbols}
    chunks.finish()
    stated = {memories[file.memory_id]: _state(relations, named, file.links, now, new_id, origin) for file in files}
    named.write()
    relations.write()
    _note_seen(tx, stated, now, origin)
    for memory, wanted in mentions.items():
        _write_mentions(tx, before.mentions[memory], wanted)
    _write_statements(tx, before.stated, stated)
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
            self._vectors.append({"key": key, "data": encoded(chunk.vector)})
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


def _ends(names: CodeNames, links: Iterable[CodeLink]) -> list[tuple[int, str, int]]:
    return [(names[link.subject].key, name_key(link.relation), names[link.object].key) for link in links]


def _state(
    relations: KnownRelations, names: CodeNames, links: Sequence[CodeLink], now: int, new_id: NewId, origin: int | None
) -> dict[int, int]:
    """The relations that a file states, each with the entity it begins at."""
    stated = {}
    for link, ends in zip(links, _ends(names, links), strict=True):
        if are_one(link, ends[0], ends[2]):
            continue
        known = relations.find(ends)
        if known is None:
            known = relations.add(ends, link.relation, new_id("rel"), now, origin=origin)
        elif known.props["last_seen"] < now or known.props["weight"] != 1.0:
            known.change(raises_version=False, last_seen=max(known.props["last_seen"], now), weight=1.0)
        stated[known.key] = ends[0]
    return stated


def _note_seen(tx: Transaction, stated: Mapping[int, Mapping[int, int]], now: int, origin: int | None) -> None:
    acts = [
        Contribution(key, "see", now, value=1.0, origin=origin, memory=memory)
        for memory, relations in stated.items()
        for key in relations
        if key <= tx.meta["keys"]  # what is new has nothing else
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
