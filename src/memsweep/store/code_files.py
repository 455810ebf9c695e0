"""Files of code, each a memory: once, over the rows of any engine."""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, NamedTuple

from memsweep.model.code import (
    LISTED,
    CodeLink,
    CodeRoot,
    CodeTotals,
    FileChunk,
    FileMark,
    FileWrite,
    KnownFile,
    Listing,
    RunEnd,
    code_roots,
    other_case,
    other_places,
    says_nothing,
    things_of,
)
from memsweep.model.columns import part
from memsweep.model.contribution import Contribution, Unstated, settled
from memsweep.model.memory import CODE_SOURCE, NamedThing
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.text import case_key, name_key, spelled
from memsweep.model.times import to_micros
from memsweep.model.workspace import EmbeddingModel
from memsweep.store.adding import claim_model
from memsweep.store.audit_rows import log
from memsweep.store.facts import OwnedMention
from memsweep.store.journals import Origins, note_if_any
from memsweep.store.names import Facts, Handled, Names, read_of_facts, reads_of_names
from memsweep.store.refusals import file_removed_meanwhile
from memsweep.store.rows import Find, RowReads, Rows, Show, Tally, Values
from memsweep.store.texts import tombstoned
from memsweep.store.things.code import CodeFileRow, CodeRootRow, CodeScopeRow, CodeSkipRow
from memsweep.store.things.graph import RELATION, MentionLink, RelationRow, RelationSource
from memsweep.store.things.memories import CHUNK, MEMORY, ChunkRow, MemoryRow, VectorRow
from memsweep.store.views import COUNTED_FILES, HASHES, KNOWN_FILES, VERIFIED

NewId = Callable[[str], str]
Refer = Callable[[CodeRootRow], Any]
"""What the files of a root refer to it by: its number in a file, its path in a graph."""


class CodeFiles:
    """The index of code of a workspace."""

    def __init__(self, rows: RowReads, refer: Refer) -> None:
        self._rows, self._refer = rows, refer

    def roots(self) -> list[str]:
        """The folders that were indexed."""
        return [row.path for row in self._rows.find(CodeRootRow)]

    def overview(self) -> tuple[CodeRoot, ...]:
        """The folders that were indexed, with their files and runs."""
        files = Tally(COUNTED_FILES, ("root", "language", "stale"), ("lines",), (("path", "known", None),))
        roots, counted, scopes = self._rows.ask(Find(CodeRootRow), files, Find(CodeScopeRow))
        path_of = {self._refer(root): root.path for root in roots}
        ran = ((path_of[run.root], run.filters, run.runs, run.verified_at) for run in scopes if run.root in path_of)
        found = ((root, language, bool(stale), count, int(lines)) for root, language, stale, count, lines in counted)
        return code_roots([root.path for root in roots], found, ran)

    def files(self, root: str) -> list[KnownFile]:
        """Every file of a root that is known, stale ones included, and those it lists without a memory of its own."""
        own = [self._refer(row) for row in self._rows.find(CodeRootRow, ("path", "=", root))]
        files, skips = self._rows.ask(
            Show(KNOWN_FILES, (("root", "=", root),)), Find(CodeSkipRow, (("root", "in", own),), order=("path",))
        )
        found = [_known(row["id"], row, row["stale"]) for row in files if row["path"] is not None]
        return [*found, *(_known("", skip._asdict(), stale=False) for skip in skips)]

    def chunk_hashes(self, memory_ids: Sequence[str]) -> dict[str, set[bytes]]:
        """The hashes of the chunks that these files have now: what need not be embedded again."""
        found: dict[str, set[bytes]] = defaultdict(set)
        for row in self._rows.ask(Show(HASHES, (("id", "in", memory_ids),)))[0]:
            found[row["id"]].add(row["hash"])
        return found

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        """Return those of these texts that were forgotten for good and may not be learned again."""
        return tombstoned(self._rows, texts)

    def totals(self, root: str) -> CodeTotals:
        live = Tally(
            COUNTED_FILES,
            ("language",),
            ("lines", "functions", "classes"),
            (("root", "=", root), ("stale", "=", False)),
        )
        rows, stale = self._rows.ask(live, Tally(COUNTED_FILES, ("stale",), (), (("stale", "=", True),)))
        lines, functions, classes = (int(sum(row[column] for row in rows)) for column in (2, 3, 4))
        return CodeTotals({row[0]: row[1] for row in sorted(rows)}, lines, functions, classes, sum(n for _, n in stale))

    @abstractmethod
    def _writing(self) -> AbstractContextManager[Rows]:
        """Open a transaction that may bring vectors and drop some."""

    def write(
        self,
        root: str,
        files: Sequence[FileWrite],
        model: EmbeddingModel,
        now: datetime,
        new_id: NewId,
        origin: Origin = UNKNOWN,
    ) -> None:
        """Write files in their new form, each of them whole."""
        with self._writing() as rows:
            claim_model(rows, model)
            FileWrites(
                rows, root, files, self._refer, IndexedBy(to_micros(now), new_id, Origins(rows).key_of(origin))
            ).write()

    def end_run(self, run: RunEnd, now: datetime) -> None:
        """Write staleness and verification of a complete run, all at once."""
        with self._writing() as rows:
            RunWrites(rows, run, now, self._refer).write()
            if (event := run.event(now)) is not None:
                log(rows, event)


def _known(memory_id: str, row: dict[str, Any], stale: bool) -> KnownFile:
    mark = FileMark(row["stamp"], row["digest"], row["read_at_ns"])
    return KnownFile(memory_id, row["path"], row["language"], mark, stale)


def ensure_root(rows: Rows, path: str) -> CodeRootRow:
    found = rows.find(CodeRootRow, ("path", "=", path))
    if found:
        return found[0]
    new = CodeRootRow(path, 0, 0)
    return new._replace(key=rows.add([new])[0])


def keep_listed(rows: Rows, files: Iterable[Listing], refer: Refer) -> None:
    """The roots that had these files list them still."""
    known = {root.path: refer(root) for root in rows.find(CodeRootRow)}
    listed = [CodeSkipRow(known[each.root], each.path, each.language, "0:0", LISTED, 0) for each in files]
    rows.put(listed, replace=True)


class RunWrites:
    """The writes at the end of a run: a reader sees one complete run or the one before."""

    def __init__(self, rows: Rows, run: RunEnd, now: datetime, refer: Refer) -> None:
        self._rows, self._run, self._at, self._refer = rows, run, to_micros(now), refer
        self._root = refer(ensure_root(rows, run.root))
        others = {*run.gone, *run.returned, *run.doubtful, *run.marks, *(each.memory_id for each in run.handed_over)}
        groups, found = rows.ask(
            Tally(VERIFIED, ("root", "scope"), (), (("id", "in", run.verified),)),
            Show(VERIFIED, (("id", "in", others),)),
        )
        if sum(count for _, _, count in groups) < len(run.verified):
            raise file_removed_meanwhile(run.root)
        self._groups = {(root, scope) for root, scope, _ in groups}
        self._files = {row["id"]: row for row in found}

    def write(self) -> None:
        self._verify()
        self._mark()
        self._skip()
        self._hand_over()
        self._rows.set(CodeRootRow, ("path", "=", self._run.root), total_files=self._run.total_files)

    def _live(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        return [self._files[uid] for uid in ids if uid in self._files]

    def _found(self, ids: Collection[str]) -> list[dict[str, Any]]:
        (found,) = self._rows.ask(Show(VERIFIED, (("id", "in", ids),)))
        return found

    def _verify(self) -> None:
        """Mark the scope as verified; files that were doubted and then found in another scope belong to this one."""
        run, known = (
            self._run,
            self._rows.find(CodeScopeRow, ("root", "=", self._root), ("filters", "=", self._run.scope)),
        )
        if known:
            scope, before = known[0].key, known[0].verified_at
            self._rows.set(CodeScopeRow, ("key", "=", scope), runs=known[0].runs + 1, verified_at=self._at)
        else:
            scope, before = self._rows.add([CodeScopeRow(self._root, run.scope, 1, self._at, 0)])[0], None
        doubtful = {row["key"] for row in self._live(run.doubtful) if row["scope"] == scope}
        changed: dict[int, tuple[int | None, int | None]] = dict.fromkeys(doubtful, (None, before))
        for row in self._live(run.verified) if self._groups == {(run.root, scope)} else self._found(run.verified):
            if row["root"] == run.root and (row["scope"] != scope or row["key"] in doubtful):
                changed[row["key"]] = scope, None
        self._rows.change(CodeFileRow, ("scope", "verified_at"), changed)

    def _mark(self) -> None:
        """A file that has left was last seen by the run that verified it last."""
        seen = {row["key"]: (True, _seen(row)) for row in self._live(self._run.gone)}
        seen |= {row["key"]: (False, self._at) for row in self._live(self._run.returned)}
        self._rows.change(MemoryRow, ("stale", "last_seen_at"), seen)
        marks = {uid: (mark.stamp, mark.digest, mark.read_at_ns) for uid, mark in self._run.marks.items()}
        marked = {self._files[uid]["key"]: mark for uid, mark in marks.items() if uid in self._files}
        self._rows.change(CodeFileRow, ("stamp", "digest", "read_at_ns"), marked)

    def _skip(self) -> None:
        run = self._run
        self._rows.free(CodeSkipRow, ("root", "=", self._root), ("path", "in", run.forgotten_skips))
        marks = ((each, each.mark) for each in run.skips)
        skips = [
            CodeSkipRow(self._root, each.path, each.language, mark.stamp, mark.digest, mark.read_at_ns)
            for each, mark in marks
        ]
        self._rows.put(skips, replace=True)
        keep_listed(self._rows, run.listed, self._refer)

    def _hand_over(self) -> None:
        """The root that has a file now reads it anew: its names are other ones there."""
        handed = [(each, self._refer(ensure_root(self._rows, each.root))) for each in self._run.handed_over]
        moved = {self._files[h.memory_id]["key"]: (to, h.path, "") for h, to in handed if h.memory_id in self._files}
        self._rows.change(CodeFileRow, ("root", "path", "digest"), moved)
        for each, root in handed:
            self._rows.free(CodeSkipRow, ("root", "=", root), ("path", "=", each.path))


def _seen(file: dict[str, Any]) -> int | None:
    verified = file["verified"] if file["run_verified"] is None else file["run_verified"]
    return max(filter(None, (file["last_seen_at"], verified)), default=None)


class StoredChunk(NamedTuple):
    """A piece of a file, as it is stored."""

    memory: int
    key: int
    hash: bytes
    text: str
    words: str
    symbol: str
    kind: str
    first_line: int
    last_line: int
    position: int

    def is_still(self, chunk: FileChunk, position: int) -> bool:
        """Return whether it needs no change. Other blank lines around a piece change it; the hash ignores them."""
        after = (chunk.text, chunk.words, chunk.symbol, chunk.kind, chunk.first_line, chunk.last_line, position)
        return self[3:] == after


part(StoredChunk, CHUNK, kind="symbol_kind")


class ChunkChanges(NamedTuple):
    """The changes of the chunks of a file; `kept` and `new` go by their positions in it."""

    kept: dict[int, StoredChunk]
    new: dict[int, int | None]
    """With the chunk whose vector is the same, where none was given."""
    dropped: list[StoredChunk]


def compare_chunks(before: Sequence[StoredChunk], chunks: Sequence[FileChunk]) -> ChunkChanges:
    """Equal hashes take the chunks that are there, in their order."""
    waiting: dict[bytes, list[StoredChunk]] = defaultdict(list)
    for old in before:
        waiting[old.hash].append(old)
    same = {old.hash: old.key for old in before}
    kept, new = dict[int, StoredChunk](), dict[int, int | None]()
    for position, chunk in enumerate(chunks):
        if waiting.get(chunk.hash):
            kept[position] = waiting[chunk.hash].pop(0)
        elif chunk.vector is None and chunk.hash not in same:
            raise file_removed_meanwhile("a file")
        else:
            new[position] = same[chunk.hash] if chunk.vector is None else None
    return ChunkChanges(kept, new, [old for rest in waiting.values() for old in rest])


class IndexedBy(NamedTuple):
    """The moment at which files were seen, what gives out ids, and the key of who indexes them."""

    at: int
    new_id: NewId
    origin: int | None


class _StatedFact(NamedTuple):
    """A fact that a file states no more: what decides whether it stays."""

    key: int
    explicit: bool
    trash: int | None


part(_StatedFact, RELATION)
_PLACED = ("position", "first_line", "last_line", "symbol", "symbol_kind", "stream", "stream_position")
_TEXT_OF = ("text", "content_hash", "updated_at", "last_seen_at", "origin")
_UNSAID = {name: column.nothing for name, column in MEMORY.columns.items() if column.settable}
"""What callers would set, where nobody said anything."""


class FileWrites:
    """Files in their new form: what they were is read, what changes is decided, then all of it is written.

    Chunks that did not change keep their rows. What no live file states any more goes to the trash with those that did,
    or is gone.
    """

    def __init__(self, rows: Rows, root: str, files: Sequence[FileWrite], refer: Refer, seen: IndexedBy) -> None:
        self._rows, self._files, self._refer, self._seen = rows, files, refer, seen
        roots = rows.find(CodeRootRow)
        ids = [file.memory_id for file in files]
        (found,) = rows.ask(Values(MemoryRow, ("id", "key", "trash"), (("id", "in", ids),), "any"))
        self._keys: dict[str, int] = {uid: key for uid, key, trash in found if trash is None}
        gone = {uid for uid, _, trash in found if trash is not None}
        if away := next((file.path for file in files if file.memory_id in gone), ""):
            raise file_removed_meanwhile(away)
        self._new = [file for file in files if file.memory_id not in self._keys]
        self._refuse_doubles(root, roots)
        self._root = refer(ensure_root(rows, root))
        self._read_before()
        self._names = CodeNames(rows, files, seen)
        self._facts = self._known_facts()
        self._stated = [self._state(file.links) for file in files]
        self._settled = self._settle()

    def _refuse_doubles(self, root: str, roots: Sequence[CodeRootRow]) -> None:
        """A file that is new to this root may have become another root's since it was looked for."""
        places: dict[str, set[str]] = defaultdict(set)
        for file in self._new:
            for other, path in other_places(root, file.path, [each.path for each in roots]):
                places[other].add(path)
        reads = [
            Values(CodeFileRow, ("key", "path"), (("root", "=", self._refer(each)), ("path", "in", places[each.path])))
            for each in roots
            if each.path in places
        ]
        there: dict[int, str] = {key: path for found in self._rows.ask(*reads) for key, path in found}
        if there:
            (live,) = self._rows.ask(Values(MemoryRow, ("key",), (("key", "in", there),)))
            for (key,) in live:
                raise file_removed_meanwhile(there[key])

    def _read_before(self) -> None:
        keys = self._keys.values()
        chunks, mentions, stated = self._rows.ask(
            Find(StoredChunk, (("memory", "in", keys),), order=("position", "key")),
            Values(
                MentionLink, ("chunk.memory", "chunk", "entity"), (("chunk.memory", "in", keys),), "any", near="live"
            ),
            Values(RelationSource, ("memory", "relation"), (("memory", "in", keys),), "any", near="live"),
        )
        self._chunks: dict[int, list[StoredChunk]] = defaultdict(list)
        for chunk in chunks:
            self._chunks[chunk.memory].append(chunk)
        self._mentions: dict[int, set[tuple[int, int]]] = defaultdict(set)
        for memory, chunk, entity in mentions:
            self._mentions[memory].add((chunk, entity))
        self._stated_before: dict[int, set[int]] = defaultdict(set)
        for memory, relation in stated:
            self._stated_before[memory].add(relation)

    def _known_facts(self) -> Facts:
        links = [link for file in self._files for link in file.links]
        ends = ({self._names[link.subject] for link in links}, {self._names[link.object] for link in links})
        subjects, objects = ({each for each in some if not each.is_new} for some in ends)
        kinds = {name_key(link.relation) for link in links}
        found = self._rows.ask(read_of_facts(subjects, kinds, objects))[0] if subjects and objects else ()
        return Facts(self._rows, self._names.names, found)

    def _state(self, links: Sequence[CodeLink]) -> list[Handled]:
        """Return the facts that a file states, each once."""
        stated: dict[Handled, None] = {}
        at, new_id, origin = self._seen
        for link in links:
            subject, target = self._names[link.subject], self._names[link.object]
            if says_nothing(link, are_one=subject is target):
                continue
            place = subject, name_key(link.relation), target
            known = self._facts.known.get(place)
            if known is None:
                known = self._facts.add(place, new_id("rel"), link.relation, at, origin)
            elif known.row.last_seen < at or known.row.weight != 1.0:
                known.touch(last_seen=max(known.row.last_seen, at), weight=1.0)
            stated[known] = None
        return [*stated]

    def _settle(self) -> tuple[set[int], dict[int, int]]:
        """Decide about the facts that a file states no more: those that go, and those that go to a trash."""
        without, within = set[tuple[int, int]](), set[int]()
        for file, stated in zip(self._files, self._stated, strict=True):
            now = {fact.row.key for fact in stated if not fact.is_new}
            if (memory := self._keys.get(file.memory_id)) is None:
                within |= now
                continue
            without |= {(relation, memory) for relation in self._stated_before[memory] - now}
            within |= now - self._stated_before[memory]
        self._dropped = sorted(without)
        asked = {relation for relation, _ in without}
        if not asked:
            return set(), {}
        facts, sources = self._rows.ask(
            Find(_StatedFact, (("key", "in", asked),), "any"),
            Values(RelationSource, ("relation", "memory", "memory.trash"), (("relation", "in", asked),), "any"),
        )
        holders: dict[int, list[int | None]] = defaultdict(list)
        for relation, memory, trash in sources:
            if (relation, memory) not in without:
                holders[relation].append(trash)
        for relation in within & asked:
            holders[relation].append(None)
        return settled(Unstated(each.key, each.explicit, each.trash, tuple(holders[each.key])) for each in facts)

    def write(self) -> None:
        rows, (at, _, origin) = self._rows, self._seen
        self._write_memories()
        rows.drop(CodeSkipRow, [(self._root, file.path) for file in self._files])
        taken = [Listing(*file.taken_from, file.language) for file in self._files if file.taken_from is not None]
        if taken:
            keep_listed(rows, taken, self._refer)
        places = self._write_chunks()
        self._names.names.write()
        self._facts.write()
        memories = [self._keys[file.memory_id] for file in self._files]
        acts = [
            Contribution(fact.row.key, "see", at, value=1.0, origin=origin, memory=memory)
            for memory, stated in zip(memories, self._stated, strict=True)
            for fact in stated
            if not fact.is_new  # it has nothing else
        ]
        note_if_any(rows, acts)
        have = {pair for pairs in self._mentions.values() for pair in pairs}
        wanted = {
            (chunks[symbol.chunk], self._names[symbol.thing].row.key)
            for file, chunks in zip(self._files, places, strict=True)
            for symbol in file.symbols
        }
        rows.drop(MentionLink, sorted(have - wanted))
        rows.put([OwnedMention(*pair, None) for pair in sorted(wanted - have)], replace=False, live=("chunk", "entity"))
        added = [
            RelationSource(fact.row.key, memory)
            for memory, stated in zip(memories, self._stated, strict=True)
            for fact in stated
            if fact.row.key not in self._stated_before[memory]
        ]
        rows.put(added, replace=False, live=("memory", "relation"))
        rows.drop(RelationSource, self._dropped)
        freed, moved = self._settled
        rows.free(RelationRow, ("key", "in", freed))
        rows.move(RelationRow, moved)

    def _write_memories(self) -> None:
        rows, (at, _, origin) = self._rows, self._seen
        known = {self._keys[file.memory_id]: file for file in self._files if file.memory_id in self._keys}
        texts = {key: (file.text, file.content_hash, at, at, origin) for key, file in known.items()}
        rows.change(MemoryRow, _TEXT_OF, texts, bin="live")
        added = [
            MemoryRow(
                **{**_UNSAID, "text": file.text, "source": CODE_SOURCE},
                id=file.memory_id,
                thread=None,
                created_at=at,
                updated_at=at,
                last_seen_at=at,
                stale=False,
                content_hash=file.content_hash,
                version=1,
                trash=None,
                origin=origin,
                released_at=None,
                key=0,
            )
            for file in self._new
        ]
        self._keys |= zip((file.memory_id for file in self._new), rows.add(added), strict=True)
        form = {key: self._file(key, file) for key, file in known.items()}
        kept = CodeFileRow._fields[1:-2]  # not when it was verified
        rows.change(CodeFileRow, kept, {key: file[1:-2] for key, file in form.items()})
        rows.put([self._file(self._keys[file.memory_id], file) for file in self._new], replace=False)

    def _file(self, key: int, file: FileWrite) -> CodeFileRow:
        return CodeFileRow(
            key=key,
            root=self._root,
            path=file.path,
            language=file.language,
            stamp=file.mark.stamp,
            digest=file.mark.digest,
            read_at_ns=file.mark.read_at_ns,
            lines=file.lines,
            functions=file.functions,
            classes=file.classes,
            encoding=file.encoding,
            failure=file.failure,
            scope=None,
            verified_at=None,
        )

    def _write_chunks(self) -> list[list[int]]:
        """Return the keys of each file's chunks in their order."""
        moved, changed = dict[int, tuple[Any, ...]](), dict[int, tuple[Any, ...]]()
        new: list[tuple[int, int, FileChunk, int | None]] = []
        dropped: list[int] = []
        kept: list[dict[int, int]] = []
        for number, file in enumerate(self._files):
            memory = self._keys[file.memory_id]
            changes = compare_chunks(self._chunks[memory], file.chunks)
            kept.append({at: old.key for at, old in changes.kept.items()})
            for at, old in changes.kept.items():
                chunk = file.chunks[at]
                place = (at, chunk.first_line, chunk.last_line, chunk.symbol, chunk.kind, -memory, at)
                if (chunk.text, chunk.words) != (old.text, old.words):
                    changed[old.key] = (*place, chunk.text, chunk.words)
                elif not old.is_still(chunk, at):
                    moved[old.key] = place
            new += [(number, at, file.chunks[at], same) for at, same in changes.new.items()]
            dropped += [old.key for old in changes.dropped]
        copied = [same for *_, same in new if same is not None]
        vectors = {row.key: row.data for row in self._rows.find(VectorRow, ("key", "in", copied))} if copied else {}
        self._rows.change(ChunkRow, _PLACED, moved, bin="live")
        self._rows.change(ChunkRow, (*_PLACED, "text", "words"), changed, bin="live")
        keys = self._rows.add([self._chunk(number, at, chunk) for number, at, chunk, _ in new])
        for key, (number, at, _, _) in zip(keys, new, strict=True):
            kept[number][at] = key
        made = [
            (key, chunk.vector or vectors.get(same or 0)) for key, (_, _, chunk, same) in zip(keys, new, strict=True)
        ]
        self._rows.add([VectorRow(key, vector) for key, vector in made if vector])
        self._rows.free(ChunkRow, ("key", "in", dropped), wiped=False)
        return [[chunks[at] for at in range(len(chunks))] for chunks in kept]

    def _chunk(self, number: int, at: int, chunk: FileChunk) -> ChunkRow:
        memory = self._keys[self._files[number].memory_id]
        return ChunkRow(
            id=chunk.id,
            memory=memory,
            position=at,
            text=chunk.text,
            start=0,
            first_line=chunk.first_line,
            last_line=chunk.last_line,
            hash=chunk.hash,
            stream=-memory,
            stream_position=at,
            symbol=chunk.symbol,
            symbol_kind=chunk.kind,
            words=chunk.words,
            trash=None,
            key=0,
        )


class CodeNames:
    """Every name of some files, known or made; a name that is seen again is not a changed one."""

    def __init__(self, rows: Rows, files: Sequence[FileWrite], seen: IndexedBy) -> None:
        self._seen, things = seen, things_of(files)
        found, aliases = rows.ask(*reads_of_names({thing.name for thing in things}))
        self.names = Names(rows, found, aliases)
        self.names.look_further()
        self._wanted = {(spelled(thing.name), name_key(thing.type)) for thing in things}
        doubtful = {
            known.row.key for thing in things if (known := self.names.find(thing)) and _is_other_case(known, thing)
        }
        self._used = _used_elsewhere(rows, doubtful, {file.memory_id for file in files}) if doubtful else set[int]()
        self._found = {thing: self._see(thing) for thing in things}

    def __getitem__(self, thing: NamedThing) -> Handled:
        return self._found[thing]

    def _see(self, thing: NamedThing) -> Handled:
        known = self.names.find(thing)
        if known is not None and _is_other_case(known, thing):
            known = self._other_case(thing, known)
        elif known is None:
            known = self._add(thing)
        if known.row.last_seen < self._seen.at:
            known.touch(last_seen=self._seen.at)
        return known

    def _add(self, thing: NamedThing, named: str = "") -> Handled:
        at, new_id, origin = self._seen
        return self.names.add(thing, new_id("ent"), at, origin, named=named, explicit=False)

    def _other_case(self, thing: NamedThing, known: Handled) -> Handled:
        wanted = (spelled(known.row.name), name_key(thing.type)) in self._wanted
        given = known.row.explicit or known.row.pinned
        match other_case(wanted=wanted, used=known.row.key in self._used, given=given):
            case "renamed":
                known.change(name=thing.name)
            case "another":
                return self._add(thing, case_key(thing.name))
        return known


def _is_other_case(known: Handled, thing: NamedThing) -> bool:
    """Return whether an entity has this name but for letter case; one found by an old name has another one."""
    name = known.row.name
    return name_key(name) == name_key(thing.name) and spelled(name) != spelled(thing.name)


def _used_elsewhere(rows: Rows, entities: set[int], written: set[str]) -> set[int]:
    """Return those of these entities that files name which are not written now, in the trash or not."""
    mentioned, *related = rows.ask(
        Values(MentionLink, ("entity", "chunk.memory"), (("entity", "in", entities),), "any"),
        *(Values(RelationRow, (end, "key"), ((end, "in", entities),), "any") for end in ("subject", "object")),
    )
    ends = [row for found in related for row in found]
    keys = {key for _, key in ends}
    stated = rows.ask(Values(RelationSource, ("relation", "memory"), (("relation", "in", keys),), "any"))[0]
    of: dict[int, set[int]] = defaultdict(set)
    for relation, memory in stated:
        of[relation].add(memory)
    named = {(entity, memory) for entity, memory in mentioned}
    named |= {(entity, memory) for entity, key in ends for memory in of[key]}
    memories = {memory for _, memory in named}
    (found,) = rows.ask(Values(MemoryRow, ("key", "id", "source"), (("key", "in", memories),), "any"))
    files = {key: uid for key, uid, source in found if source == CODE_SOURCE}
    return {entity for entity, memory in named if files.get(memory, "") not in {"", *written}}
