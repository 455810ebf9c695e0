"""An index run: walk → fingerprint → delta (nothing written yet) → parse what changed → embed → write → close.

Files are written in small batches, each file whole; staleness is written at the very end, in one
transaction, after a complete walk. So a crash at any point leaves every file in its old or its new
form, and the staleness of the last complete run.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from memsweep.code.compose import links_of, pieces, symbols_of, words_of
from memsweep.code.delta import Delta, Known, compare, refusal, settle
from memsweep.code.exclude import Exclusions, is_secret_text
from memsweep.code.fingerprint import Fingerprint, Stamp, Unreadable, fingerprint_file, read_file
from memsweep.code.languages import detect
from memsweep.code.sandbox import Sandbox
from memsweep.code.scope import Scope
from memsweep.code.symbols import Parsed
from memsweep.code.text import Decoded, decode
from memsweep.code.walk import Seen, walk
from memsweep.embed.protocol import Embedder, quantise
from memsweep.model.code import FileChunk, FileMark, FileSkip, FileWrite, IndexResult, KnownFile, RunEnd
from memsweep.model.text import content_hash
from memsweep.store.protocol import Store

Progress = Callable[[int, int], None]

_BATCH_CHUNKS = 512
_BATCH_CHARACTERS = 2_000_000


@dataclass(frozen=True, slots=True)
class Indexing:
    """What a run needs of the world."""

    store: Store
    embedder: Embedder
    sandbox: Sandbox
    new_id: Callable[[str], str]
    clock: Callable[[], datetime]
    chunk_tokens: int
    exclusions: Exclusions


@dataclass(frozen=True, slots=True)
class _Job:
    """A file that is to be written: under the id it has, or a new one."""

    path: str
    memory_id: str


@dataclass(slots=True)
class _Counts:
    written: int = 0
    embedded: int = 0
    unreadable: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    written_ids: list[str] = field(default_factory=list)
    emptied: list[str] = field(default_factory=list)


def index_codebase(tools: Indexing, scope: Scope, *, allow_empty: bool, progress: Progress) -> IndexResult:
    """Bring the index of one scope up to date."""
    started = time.perf_counter()
    seen = walk(scope, tools.exclusions)
    files = tools.store.code_files(scope.root)
    if problem := refusal(seen, scope.root, sum(not file.stale for file in files), allow_empty=allow_empty):
        raise problem
    draft = compare(scope, seen, _known(files))
    delta = settle(draft, {path: fingerprint_file(scope.root, path) for path in draft.to_hash})
    counts = _write_changes(tools, scope, delta, _ids_at(files), progress)
    tools.store.end_run(_run_end(scope, seen, delta, counts), tools.clock())
    return _result(tools, scope, delta, counts, started)


def _write_changes(
    tools: Indexing, scope: Scope, delta: Delta, ids_at: Mapping[str, str], progress: Progress
) -> _Counts:
    moved = {each.known.id: each.present.path for each in delta.moved if each.known.id}
    if moved:
        tools.store.move_files(moved)
    jobs = [_Job(each.present.path, each.known.id) for each in delta.moved]
    jobs += [_Job(each.present.path, each.known.id or ids_at.get(each.present.path, "")) for each in delta.changed]
    jobs += [_Job(each.path, "") for each in delta.added]
    counts = _Counts()
    done = 0
    for batch in _batches(_composed(tools, scope, jobs, counts)):
        files = _embedded(tools, batch, counts)
        tools.store.write_files(scope.root, files, tools.embedder.model, tools.clock(), tools.new_id)
        counts.written += sum(isinstance(file, FileWrite) for file in files)
        counts.written_ids += [file.memory_id for file in files if isinstance(file, FileWrite)]
        done += len(files)
        progress(done, len(jobs))
    return counts


def _composed(tools: Indexing, scope: Scope, jobs: list[_Job], counts: _Counts) -> Iterator[FileWrite | FileSkip]:
    """Files read and parsed, a few ahead of what is being written; chunks without vectors yet."""
    skips: list[FileSkip] = []

    def readable() -> Iterator[tuple[tuple[_Job, Decoded, FileMark, str], str, str]]:
        for job in jobs:
            content = read_file(scope.root, job.path)
            if isinstance(content, Unreadable):
                counts.unreadable[job.path] = content.reason
                continue
            decoded = decode(content.data)
            mark = _mark(content.fingerprint)
            language = detect(job.path, "" if decoded is None else decoded.text[:256])
            if decoded is None or not decoded.text.strip() or is_secret_text(decoded.text):
                skips.append(FileSkip(job.path, language, mark))
                if job.memory_id:
                    counts.emptied.append(job.memory_id)
                continue
            yield (job, decoded, mark, language), decoded.text, language

    for (job, decoded, mark, language), parsed in tools.sandbox.parse_many(readable()):
        if parsed.failure:
            counts.failures.append(f"{job.path}: {parsed.failure}")
        yield _file(tools, job, decoded, mark, language, parsed)
    yield from skips


def _file(tools: Indexing, job: _Job, decoded: Decoded, mark: FileMark, language: str, parsed: Parsed) -> FileWrite:
    found = pieces(decoded.text, parsed, tools.chunk_tokens)
    chunks = tuple(
        FileChunk(
            id=tools.new_id("chk"),
            hash=bytes.fromhex(piece.content_hash),
            text=piece.text,
            first_line=piece.first_line,
            last_line=piece.last_line,
            symbol=piece.symbol,
            kind=piece.kind,
            words=words_of(piece.symbol),
            vector=None,
        )
        for piece in found
    )
    return FileWrite(
        memory_id=job.memory_id or tools.new_id("mem"),
        path=job.path,
        language=language,
        mark=mark,
        text=decoded.text,
        content_hash=content_hash(decoded.text),
        lines=decoded.line_count,
        functions=parsed.functions_found,
        classes=parsed.classes_found,
        encoding=decoded.encoding,
        failure=parsed.failure,
        chunks=chunks,
        symbols=symbols_of(parsed, found),
        links=links_of(job.path, parsed),
    )


def _batches(files: Iterator[FileWrite | FileSkip]) -> Iterator[list[FileWrite | FileSkip]]:
    batch: list[FileWrite | FileSkip] = []
    chunks = characters = 0
    for file in files:
        batch.append(file)
        if isinstance(file, FileWrite):
            chunks += len(file.chunks)
            characters += len(file.text)
        if chunks >= _BATCH_CHUNKS or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, chunks, characters = [], 0, 0
    if batch:
        yield batch


def _embedded(tools: Indexing, batch: list[FileWrite | FileSkip], counts: _Counts) -> list[FileWrite | FileSkip]:
    """Vectors for the chunks that the store does not have, each text once; without what may not be learned again."""
    batch = _without_buried(tools, batch, counts)
    files = [file for file in batch if isinstance(file, FileWrite)]
    have = tools.store.chunk_hashes([file.memory_id for file in files])
    missing = {
        chunk.hash: chunk.text
        for file in files
        for chunk in file.chunks
        if chunk.hash not in have.get(file.memory_id, ())
    }
    vectors = dict(zip(missing, quantise(tools.embedder.embed(list(missing.values()))), strict=True)) if missing else {}
    counts.embedded += len(vectors)

    def complete(file: FileWrite) -> FileWrite:
        return replace(file, chunks=tuple(replace(chunk, vector=vectors.get(chunk.hash)) for chunk in file.chunks))

    return [complete(file) if isinstance(file, FileWrite) else file for file in batch]


def _without_buried(tools: Indexing, batch: list[FileWrite | FileSkip], counts: _Counts) -> list[FileWrite | FileSkip]:
    buried = tools.store.buried([file.content_hash for file in batch if isinstance(file, FileWrite)])
    kept: list[FileWrite | FileSkip] = []
    for file in batch:
        if isinstance(file, FileWrite) and file.content_hash in buried:
            counts.failures.append(
                f"{file.path}: its content was deleted for good; `memsweep tombstone` allows it again"
            )
            kept.append(FileSkip(file.path, file.language, file.mark))
        else:
            kept.append(file)
    return kept


def _run_end(scope: Scope, seen: Seen, delta: Delta, counts: _Counts) -> RunEnd:
    doubtful = {each.known.id for each in delta.unknown if each.known and each.known.id}
    rewritten = [(each.known.id, each.present.path) for each in delta.changed]
    rewritten += [(each.known.id, each.present.path) for each in delta.moved]
    failed = {uid for uid, path in rewritten if uid and path in counts.unreadable}
    confirmed = (*delta.unchanged, *(each.known for each in (*delta.touched, *delta.returned)))
    same = {each.known.id: _mark(each.fingerprint) for each in (*delta.touched, *delta.returned) if each.known.id}
    left = (*delta.gone, *delta.still_gone, *(each.known for each in delta.moved))
    return RunEnd(
        root=scope.root,
        scope=scope_label(scope),
        total_files=seen.total_files,
        verified=(*(known.id for known in confirmed if known.id), *counts.written_ids),
        gone=(*(known.id for known in delta.gone if known.id), *counts.emptied),
        returned=tuple(each.known.id for each in delta.returned if each.known.id),
        doubtful=tuple(sorted(doubtful | failed)),
        marks=same,
        forgotten_skips=tuple(each.path for each in left if not each.id),
    )


def scope_label(scope: Scope) -> str:
    """The filters of a scope as one string: equal for equal filters."""
    filters: Mapping[str, object] = {
        "languages": sorted(scope.languages),
        "recursive": scope.recursive,
        "max_file_size": scope.max_file_size,
        "include_tests": scope.include_tests,
    }
    return json.dumps(filters, sort_keys=True)


def _result(tools: Indexing, scope: Scope, delta: Delta, counts: _Counts, started: float) -> IndexResult:
    totals = tools.store.code_totals(scope.root)
    unchanged = len(delta.unchanged) + len(delta.touched) + len(delta.returned)
    unreadable = len(delta.unknown) + len(counts.unreadable)
    worked_on = len(delta.changed) + len(delta.added) + len(delta.moved)
    moved = sum(each.present.path not in counts.unreadable for each in delta.moved)
    return IndexResult(
        repo_path=scope.root,
        files_seen=unchanged + worked_on + len(delta.unknown),
        files_indexed=counts.written - moved,
        files_unchanged=unchanged,
        files_moved=moved,
        files_removed=sum(bool(each.id) for each in delta.gone) + len(counts.emptied),
        files_unreadable=unreadable,
        functions_found=totals.functions,
        classes_found=totals.classes,
        languages=totals.languages,
        total_lines=totals.lines,
        chunks_embedded=counts.embedded,
        stale_memories=totals.stale,
        processing_time_ms=round((time.perf_counter() - started) * 1000, 1),
        warnings=tuple(counts.failures[:20]),
    )


def _known(files: Iterable[KnownFile]) -> list[Known]:
    """A file that lost its text is known twice: as what it was (stale), and as what it is, which counts."""
    by_path: dict[str, Known] = {}
    for file in sorted(files, key=lambda file: not file.memory_id):
        mark = file.mark
        fingerprint = Fingerprint(Stamp.decode(mark.stamp), mark.digest, mark.read_at_ns)
        by_path[file.path] = Known(file.memory_id, file.path, fingerprint, file.language, file.stale)
    return list(by_path.values())


def _ids_at(files: Iterable[KnownFile]) -> dict[str, str]:
    return {file.path: file.memory_id for file in files if file.memory_id}


def _mark(fingerprint: Fingerprint) -> FileMark:
    return FileMark(fingerprint.stamp.encode(), fingerprint.digest, fingerprint.read_at_ns)
