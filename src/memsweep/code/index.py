"""An index run: walk → fingerprint → delta (nothing written yet) → parse what changed → embed → write → close.

Files are written in small batches, each file whole; staleness is written at the very end, in one
transaction, after a complete walk, and so is what holds no text any more. So a crash at any point leaves
every file in its old or its new form, and the staleness of the last complete run.
"""

from __future__ import annotations

import codecs
import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, NamedTuple

from memsweep.code.chunk import links_of, names_in, pieces, symbols_of, words_of
from memsweep.code.delta import Delta, RecordedFile, Same, compare, refusal, settle
from memsweep.code.exclude import Exclusions, is_minified
from memsweep.code.fingerprint import Fingerprint, Stamp, Unreadable, read_file
from memsweep.code.languages import detect
from memsweep.code.overlap import Overlap, known_files
from memsweep.code.parse import has_grammar
from memsweep.code.request import Scope
from memsweep.code.sandbox import Sandbox
from memsweep.code.symbols import Parsed
from memsweep.code.walk import Seen, walk
from memsweep.embed.protocol import Embedder, quantise
from memsweep.errors import Conflict, ModelMismatch
from memsweep.model.code import FileChunk, FileMark, FileSkip, FileWrite, IndexResult, KnownFile, RunEnd
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.text import content_hash, listed
from memsweep.secrets.find import find, redacted
from memsweep.store.protocol import Store

SNIFFED_BYTES = 8192
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FALLBACKS = ("cp1252", "latin-1")
_BINARY_STARTS = (b"%PDF-", b"\x89PNG", b"GIF8", b"PK\x03\x04", b"\x1f\x8b", b"\xff\xd8\xff")
_COMPRESSED_STARTS = (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda", b"BZh", b"\xfd7zXZ", b"(\xb5/\xfd")
"""Of zlib (git objects), bzip2, xz and zstd: two of them could also begin a text, which these are not if not UTF-8."""
_CONTROLS = bytes({*range(32), 127} - set(b"\t\n\v\f\r\b\x1a\x1b"))
_BYTES_A_CONTROL = 200
"""Compressed data has a control character in every tenth byte."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """Text with `\\n` for every line end, and the encoding that gave it."""

    text: str
    encoding: str

    @property
    def line_count(self) -> int:
        """Lines as an editor counts them: a line end at the very end begins no line."""
        return len(self.text.split("\n")) - (self.text == "" or self.text.endswith("\n"))


def decode(data: bytes) -> Decoded | None:
    """UTF-8, or what a byte order mark says, or a single-byte encoding; None for a binary file."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _decoded(data, encoding)
            return None if text is None else Decoded(text, encoding)
    if b"\0" in data[:SNIFFED_BYTES] or data.startswith(_BINARY_STARTS):
        return None
    text = _decoded(data, "utf-8")
    if text is not None:
        return Decoded(text, "utf-8")
    # Any bytes at all can be read as a single-byte encoding; only those without control characters were written so.
    if data.startswith(_COMPRESSED_STARTS) or _controls(data) * _BYTES_A_CONTROL > len(data):
        return None
    for encoding in _FALLBACKS:
        text = _decoded(data, encoding)
        if text is not None:
            return Decoded(text, encoding)
    return None


def _controls(data: bytes) -> int:
    return len(data) - len(data.translate(None, _CONTROLS))


def _decoded(data: bytes, encoding: str) -> str | None:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        return None
    # One line end only: lines are counted alike everywhere, and a checkout that turns the line ends
    # of a file around does not change its chunks.
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


Kind = Literal["program", "prose", "data"]

RULES_VERSION = 6
"""Raised with every new rule: files read under fewer are read once more.

3: what is binary, what is minified; 4: keys inside of files; 5: keys behind escapes, in tables, of more providers;
6: in pages, in heredocs, in outputs of Terraform.
"""

_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY|PuTTY-User-Key-File-|AGE-SECRET-KEY-|openssh-key-v1", re.ASCII
)
_COMMENT = ("#", "//", ";", "--", "/*", "*", "<!--", "%", "rem ", "REM ")
_PREAMBLE_LINES = 200

# Not a mere mention of it: what follows is as long as a line of a key is.
_KEY_INSIDE = re.compile(
    r"^[ \t]*-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----[ \t]*\n"
    r"(?:[ \t]*(?:[A-Za-z-]+:[^\n]*)?\n){0,8}[ \t]*[A-Za-z0-9+/=]{40}",
    re.MULTILINE | re.ASCII,
)
_KEY_IN_JSON = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY-----\\n[A-Za-z0-9+/=]{40}", re.ASCII)
_GOOGLE_ACCOUNT = re.compile(r'"type"\s*:\s*"(?:service_account|authorized_user|external_account)"')
_GOOGLE_SECRET = re.compile(r'"(?:private_key|refresh_token|client_secret)"\s*:\s*"[^"]')
_KUBE_KIND = re.compile(r'\bkind"?[ \t]*:[ \t]*"?Config\b')
_KUBE_PARTS = tuple(re.compile(rf'\b{part}"?[ \t]*:') for part in ("clusters", "users"))
_CLOUD_KEY = re.compile(r"^[ \t]*(?:export[ \t]+)?aws_secret_access_key[ \t]*[=:][ \t]*\S{30}", re.MULTILINE | re.I)


def is_secret_text(text: str, kind: Kind = "data") -> bool:
    """Return whether a file with this text must not be indexed."""
    if _begins_with_key(text):
        return True
    return kind != "program" and (_holds_key(text) or (kind == "data" and _is_account(text)))


def _begins_with_key(text: str) -> bool:
    """A key is the first thing in it, but for comments."""
    position = 0
    for _ in range(_PREAMBLE_LINES):
        end = text.find("\n", position)
        line = text[position : end if end >= 0 else None].strip("\ufeff \t\r\f\v")
        if _KEY.match(line):
            return True
        if end < 0 or (line and not line.startswith(_COMMENT)):
            return False
        position = end + 1
    return False


def _holds_key(text: str) -> bool:
    # The words are looked for first, here and below: most texts have none of them.
    return "PRIVATE KEY" in text and any(pattern.search(text) for pattern in (_KEY_INSIDE, _KEY_IN_JSON))


def _is_account(text: str) -> bool:
    """Of a cloud or a cluster, in the form in which their own tools keep it."""
    if '"type"' in text and _GOOGLE_ACCOUNT.search(text) and _GOOGLE_SECRET.search(text):
        return True
    if "Config" in text and _KUBE_KIND.search(text) and all(part.search(text) for part in _KUBE_PARTS):
        return True
    return _CLOUD_KEY.search(text) is not None


Progress = Callable[[int, int], None]

_BATCH_CHUNKS = 512
_BATCH_CHARACTERS = 2_000_000
_ATTEMPTS = 3
_MOST_WARNINGS = 20
_NEVER_READ = FileMark("0:0", "", 0)


@dataclass(frozen=True, slots=True)
class IndexDependencies:
    """The dependencies of a run."""

    store: Store
    embedder: Embedder
    sandbox: Sandbox
    new_id: Callable[[str], str]
    clock: Callable[[], datetime]
    chunk_tokens: int
    exclusions: Exclusions
    secrets: str = "redact"
    """What happens to keys in files."""
    actor: str = ""
    origin: Origin = UNKNOWN


@dataclass(frozen=True, slots=True)
class _Job:
    """A file that is to be written: under the id it has, or a new one."""

    path: str
    memory_id: str = ""
    stale: bool = False


@dataclass(slots=True)
class _Work:
    """The work of a run, and how much of it is done."""

    jobs: list[_Job]
    overlap: Overlap
    written: list[str] = field(default_factory=list)
    only_taken_over: int = 0
    """Files that another root had, and that are as they were."""
    skips: list[FileSkip] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)
    embedded: int = 0

    @property
    def done(self) -> int:
        return len(self.written) + len(self.skips) + len(self.unreadable)

    @property
    def emptied(self) -> list[str]:
        """Files that were fresh and hold no text any more."""
        skipped = {skip.path for skip in self.skips}
        return [job.memory_id for job in self.jobs if job.memory_id and not job.stale and job.path in skipped]


def index_codebase(tools: IndexDependencies, scope: Scope, *, allow_empty: bool, progress: Progress) -> IndexResult:
    """Bring the index of one scope up to date."""
    for left in reversed(range(_ATTEMPTS)):
        try:
            return _run(tools, scope, allow_empty, progress)
        except ModelMismatch:
            raise
        except Conflict:  # a file that this run relied on was pruned meanwhile: to the next one it is new
            if not left:
                raise
    raise AssertionError("unreachable")


def _run(tools: IndexDependencies, scope: Scope, allow_empty: bool, progress: Progress) -> IndexResult:
    started = time.perf_counter()
    seen = walk(scope, tools.exclusions)
    # Where a path is known more than once, the last one counts: fresh before stale, without text before both.
    overlap = known_files(tools.store, scope, seen)
    files = sorted(overlap.files, key=lambda file: (not file.memory_id, not file.stale))
    if problem := refusal(seen, scope.root, sum(not file.stale for file in files), allow_empty=allow_empty):
        raise problem
    known = _known(files, judged_by(tools.secrets))
    draft = compare(scope, seen, known)
    by_path = {each.path: each for each in known}
    delta = settle(
        draft, {path: _fingerprint(scope.root, path, by_path.get(path), tools.secrets) for path in draft.to_hash}
    )
    work = _Work(_jobs(delta, files), overlap)
    _write_changes(tools, scope, work, progress)
    tools.store.code.end_run(_run_end(scope, seen, delta, work, judged_by(tools.secrets), tools.actor), tools.clock())
    return _result(tools, scope, delta, work, started)


def _jobs(delta: Delta, files: Iterable[KnownFile]) -> list[_Job]:
    ids_at = {file.path: file.memory_id for file in files if file.memory_id}
    jobs = [_Job(each.present.path, each.known.id, each.known.stale) for each in delta.moved]
    for each in delta.changed:
        # One that is known to hold no text may have had some once, which is stale.
        known = _Job(each.known.path, each.known.id, each.known.stale)
        jobs.append(known if known.memory_id else _Job(known.path, ids_at.get(known.path, ""), stale=True))
    return jobs + [_Job(each.path) for each in delta.added]


def _write_changes(tools: IndexDependencies, scope: Scope, work: _Work, progress: Progress) -> None:
    if work.jobs:
        progress(0, len(work.jobs))
    for batch in _batches(_composed(tools, scope, work)):
        files = _embedded(tools, _without_tombstoned(tools, batch, work), work)
        tools.store.code.write(scope.root, files, tools.embedder.model, tools.clock(), tools.new_id, tools.origin)
        work.written += [file.memory_id for file in files]
        progress(work.done, len(work.jobs))


def _composed(tools: IndexDependencies, scope: Scope, work: _Work) -> Iterator[FileWrite]:
    """Files read and parsed, a few ahead of what is being written; chunks without vectors yet."""

    def readable() -> Iterator[tuple[tuple[_Job, Decoded, FileMark, str], str, str]]:
        for job in work.jobs:
            content = read_file(scope.root, job.path)
            if isinstance(content, Unreadable):
                work.unreadable[job.path] = content.reason
                continue
            decoded = decode(content.data)
            mark = _mark(content.fingerprint, judged_by(tools.secrets))
            language = detect(job.path, "" if decoded is None else decoded.text)
            if decoded is not None and _is_wanted(job.path, decoded.text, language):
                decoded, warning = screen(job.path, decoded, tools.secrets)
                work.failures += [warning] if warning else []
            else:
                decoded = None
            if decoded is None:
                work.skips.append(FileSkip(job.path, language, mark))
                continue
            yield (job, decoded, mark, language), decoded.text, language

    for (job, decoded, mark, language), parsed in tools.sandbox.parse_many(readable()):
        if parsed.failure:
            work.failures.append(f"{job.path}: {parsed.failure}")
        file = _file(tools, job, decoded, mark, language, parsed)
        taken = work.overlap.taken.get(file.memory_id)
        if taken is not None:
            work.only_taken_over += not job.stale and _digest(taken.file.mark) == _digest(mark)
            file = replace(file, taken_from=(taken.root, taken.file.path))
        yield file


def _is_wanted(path: str, text: str, language: str) -> bool:
    """Return whether a text may and should be found: not a secret, not empty, not minified."""
    kind: Kind = "program" if has_grammar(language) else "prose" if language == "markdown" else "data"
    return bool(text.strip()) and not is_minified(path, text) and not is_secret_text(text, kind)


def _fingerprint(root: str, path: str, known: RecordedFile | None, action: str) -> Fingerprint | Unreadable:
    """Of a file whose content decides. One that is judged otherwise by now is no longer what it was known as."""
    content = read_file(root, path)
    if isinstance(content, Unreadable):
        return content
    has_text, is_checked = (True, True) if known is None else (bool(known.id), known.checked)
    decoded = decode(content.data)
    text = decoded.text if decoded and _is_wanted(path, decoded.text, detect(path, decoded.text)) else ""
    holds_secret = (action == "refuse" or not is_checked) and holds_secrets(text)
    is_wanted = bool(text) and not (holds_secret and action == "refuse")
    is_as_stored = is_checked or not holds_secret  # other rules stored a secret as it is, or redacted it
    if is_wanted == has_text and is_as_stored:
        return content.fingerprint
    return replace(content.fingerprint, digest=f"judged otherwise: {content.fingerprint.digest}")


def _file(
    tools: IndexDependencies, job: _Job, decoded: Decoded, mark: FileMark, language: str, parsed: Parsed
) -> FileWrite:
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
            words=words_of(job.path, piece.symbol, () if number else names_in(parsed)),
            vector=None,
        )
        for number, piece in enumerate(found)
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
        symbols=symbols_of(job.path, parsed, found),
        links=links_of(job.path, parsed),
    )


def _batches(files: Iterator[FileWrite]) -> Iterator[list[FileWrite]]:
    batch: list[FileWrite] = []
    chunks = characters = 0
    for file in files:
        batch.append(file)
        chunks += len(file.chunks)
        characters += len(file.text)
        if chunks >= _BATCH_CHUNKS or characters >= _BATCH_CHARACTERS:
            yield batch
            batch, chunks, characters = [], 0, 0
    if batch:
        yield batch


def _embedded(tools: IndexDependencies, files: list[FileWrite], work: _Work) -> list[FileWrite]:
    """Vectors for the chunks that the store does not have, each text once."""
    have = tools.store.code.chunk_hashes([file.memory_id for file in files])
    missing = {
        chunk.hash: chunk.text.strip("\n")  # as much of it as the hash tells
        for file in files
        for chunk in file.chunks
        if chunk.hash not in have.get(file.memory_id, ())
    }
    vectors = dict(zip(missing, quantise(tools.embedder.embed(list(missing.values()))), strict=True)) if missing else {}
    work.embedded += len(vectors)

    def complete(file: FileWrite) -> FileWrite:
        return replace(file, chunks=tuple(replace(chunk, vector=vectors.get(chunk.hash)) for chunk in file.chunks))

    return [complete(file) for file in files]


def _without_tombstoned(tools: IndexDependencies, batch: list[FileWrite], work: _Work) -> list[FileWrite]:
    """Return the files that may be learned again. The rest counts as unread, to be found without a tombstone."""
    tombstoned = tools.store.code.tombstoned([file.text for file in batch])
    for file in batch:
        if file.text in tombstoned:
            work.failures.append(f"{file.path}: its content was deleted for good (`memsweep tombstone list`)")
            work.skips.append(FileSkip(file.path, file.language, _NEVER_READ))
    return [file for file in batch if file.text not in tombstoned]


def _run_end(scope: Scope, seen: Seen, delta: Delta, work: _Work, judged: str, actor: str) -> RunEnd:
    same = (*delta.touched, *delta.returned)
    verified = [*(known.id for known in delta.unchanged), *(each.known.id for each in same), *work.written]
    left = (*delta.gone, *delta.still_gone, *(each.known for each in delta.moved))
    written = set(work.written)
    doubted = (*left, *delta.outside, *(each.known for each in (*delta.changed, *delta.outgrown)))
    unknown = [each.known for each in delta.unknown if each.known]
    overlap = work.overlap
    again = [job.memory_id for job in work.jobs if job.stale and job.memory_id in written]
    returned = [each.known for each in delta.returned if each.known.id]
    gone = (
        *(known.id for known in delta.gone if known.id),
        *(each.known.id for each in delta.outgrown),
        *work.emptied,
        *overlap.doubles,
    )
    return RunEnd(
        root=scope.root,
        scope=scope_label(scope),
        total_files=seen.total_files,
        verified=tuple(filter(None, verified)),
        gone=gone,
        returned=(*(known.id for known in returned), *again),
        doubtful=(
            *(known.id for known in (*doubted, *unknown) if known.id and known.id not in written),
            *(each.memory_id for each in overlap.handed_over),
        ),
        marks={each.known.id: _mark(each.fingerprint, judged) for each in same if each.known.id},
        skips=(*(_skip(each, judged) for each in same if not each.known.id), *work.skips),
        forgotten_skips=(
            *(known.path for known in left if not known.id),
            *(known.path for known in returned),
            *overlap.forgotten_marks,
        ),
        handed_over=overlap.handed_over,
        listed=tuple(overlap.listings[own] for own in gone if own in overlap.listings),
        written=tuple(work.written),
        actor=actor,
    )


def _skip(same: Same, judged: str) -> FileSkip:
    return FileSkip(same.known.path, same.known.language, _mark(same.fingerprint, judged))


def scope_label(scope: Scope) -> str:
    """The filters of a scope as one string: equal for equal filters."""
    filters: Mapping[str, object] = {
        "languages": sorted(scope.languages),
        "recursive": scope.recursive,
        "max_file_size": scope.max_file_size,
        "include_tests": scope.include_tests,
    }
    return json.dumps(filters, sort_keys=True)


def _result(tools: IndexDependencies, scope: Scope, delta: Delta, work: _Work, started: float) -> IndexResult:
    totals = tools.store.code.totals(scope.root)
    unchanged = len(delta.unchanged) + len(delta.touched) + len(delta.returned)
    written = set(work.written)
    moved = sum(each.known.id in written for each in delta.moved)
    return IndexResult(
        repo_path=scope.root,
        files_seen=unchanged + len(work.jobs) + len(delta.unknown),
        files_indexed=len(work.written) - moved - work.only_taken_over,
        files_unchanged=unchanged + work.only_taken_over,
        files_moved=moved,
        files_removed=sum(bool(each.id) for each in delta.gone) + len(delta.outgrown) + len(work.emptied),
        files_unreadable=len(delta.unknown) + len(work.unreadable),
        functions_found=totals.functions,
        classes_found=totals.classes,
        languages=totals.languages,
        total_lines=totals.lines,
        chunks_embedded=work.embedded,
        stale_memories=totals.stale,
        processing_time_ms=round((time.perf_counter() - started) * 1000, 1),
        warnings=(*_outgrown(scope, delta), *work.failures)[:_MOST_WARNINGS],
    )


def _outgrown(scope: Scope, delta: Delta) -> tuple[str, ...]:
    """Why files that are there became stale."""
    return tuple(
        f"{each.present.path}: it has {each.present.stamp.size:,} bytes now, more than the {scope.max_file_size:,} of"
        " max_file_size; its memory is stale"
        if each.present.stamp.size > scope.max_file_size
        else f"{each.present.path}: it is in another language now; its memory is stale"
        for each in delta.outgrown
    )


def _known(files: Iterable[KnownFile], judged: str) -> list[RecordedFile]:
    """A file that lost its text is known twice: as what it was (stale), and as what it is, which counts."""
    by_path: dict[str, RecordedFile] = {}
    for file in files:
        mark = file.mark
        rules, _, digest = mark.digest.rpartition(":")
        fingerprint = Fingerprint(Stamp.decode(mark.stamp), digest, mark.read_at_ns)
        checked = rules == judged
        by_path[file.path] = RecordedFile(file.memory_id, file.path, fingerprint, file.language, file.stale, checked)
    return list(by_path.values())


def _digest(mark: FileMark) -> str:
    return mark.digest.rpartition(":")[2]


def _mark(fingerprint: Fingerprint, judged: str) -> FileMark:
    """`judged` names the rules that its content was judged by, those of today."""
    return FileMark(fingerprint.stamp.encode(), f"{judged}:{fingerprint.digest}", fingerprint.read_at_ns)


class Screened(NamedTuple):
    """The content that may be stored (none, if the file is refused), and a warning about it."""

    decoded: Decoded | None
    warning: str = ""


def screen(path: str, decoded: Decoded, action: str) -> Screened:
    """Lines stay where they are, so that a reader finds in the file what a chunk shows."""
    kinds = list(dict.fromkeys(secret.kind for secret in find(decoded.text))) if action != "off" else []
    if not kinds:
        return Screened(decoded)
    match action:
        case "refuse":
            return Screened(None, f"{path}: not indexed, it holds a secret ({listed(kinds)})")
        case "warn":
            return Screened(decoded, f"{path}: indexed with a secret in it ({listed(kinds)})")
    text, kinds_found = redacted(decoded.text, keep_lines=True)
    return Screened(replace(decoded, text=text), f"{path}: redacted a secret ({listed(list(kinds_found))})")


def holds_secrets(text: str) -> bool:
    return bool(find(text))


def judged_by(action: str) -> str:
    """The rules that a content was judged by, as they stand before its hash; other ones read it once more."""
    rules = f"rules{RULES_VERSION}"
    return rules if action == "redact" else f"{rules}-{action}"
