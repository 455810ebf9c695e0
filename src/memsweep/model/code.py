"""Code files as the store keeps them, and what an index run did."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from memsweep.model.audit import AuditEvent
from memsweep.model.counts import ranked
from memsweep.model.memory import NamedThing
from memsweep.model.text import name_key
from memsweep.model.times import moment_or_none

LISTED = "listed"
"""Where the hash of a file stands: this root lists the file, and its memory is another root's."""


def is_within(folder: str, path: str) -> bool:
    """Return whether a path is below a folder; both as the system spells them."""
    return path.startswith(folder.rstrip("/") + "/")


def path_within(root: str, other: str, path: str) -> str | None:
    """A file of another root as this root would call it; None if it is not below it."""
    place = f"{other.rstrip('/')}/{path}"
    return place[len(root.rstrip("/")) + 1 :] if is_within(root, place) else None


def other_places(root: str, path: str, roots: Iterable[str]) -> list[tuple[str, str]]:
    """Return the root and path of this file in other roots."""
    found = ((other, path_within(other, root, path)) for other in roots if other != root)
    return [(other, place) for other, place in found if place is not None]


CODE_RELATIONS = frozenset({"DEFINES", "CALLS", "IMPORTS", "INHERITS"})
"""What the index says of files and symbols; there is a lot of it, and the code says it too."""


@dataclass(frozen=True, slots=True)
class FileMark:
    """The mark that tells a file's content from another without reading it: stamp, hash, time of reading."""

    stamp: str
    digest: str
    """With the rules that its content has passed before it (`rules5:…`); none in older indexes."""
    read_at_ns: int


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file of a root as the last run that covered it left it. A file without text has no memory."""

    memory_id: str
    path: str
    language: str
    mark: FileMark
    stale: bool


@dataclass(frozen=True, slots=True)
class FileChunk:
    """A piece of a file. Without a vector it is one the store has already, known by its hash."""

    id: str
    hash: bytes
    text: str
    first_line: int
    last_line: int
    symbol: str
    kind: str
    words: str
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class CodeSymbol:
    """A definition, and the index of the chunk it stands in."""

    thing: NamedThing
    chunk: int


@dataclass(frozen=True, slots=True)
class CodeLink:
    """A relation between names, as one file states it."""

    subject: NamedThing
    relation: str
    object: NamedThing


def says_nothing(link: CodeLink, *, are_one: bool) -> bool:
    """Return whether a merge made the two ends of a link one, given whether they are."""
    names = ((name_key(thing.name), name_key(thing.type)) for thing in (link.subject, link.object))
    return are_one and len({*names}) == 2


def things_of(files: Iterable[FileWrite]) -> dict[NamedThing, None]:
    """Everything that files name, each once."""
    return dict.fromkeys(
        thing
        for file in files
        for thing in (
            *(symbol.thing for symbol in file.symbols),
            *(end for link in file.links for end in (link.subject, link.object)),
        )
    )


CaseRule = Literal["same", "renamed", "another"]


def other_case(*, wanted: bool, used: bool, given: bool) -> CaseRule:
    """Return the relation of a file's name to an entity whose name differs from it in letter case alone.

    `wanted`: the files that are written name the entity as it is spelled, too; `used`: other files do; `given`: a
    person named or pinned it, and to people case makes no difference.
    """
    if wanted or used:
        return "another"
    return "same" if given else "renamed"


@dataclass(frozen=True, slots=True)
class FileWrite:
    """A file in its new form: all of it is written, or nothing."""

    memory_id: str
    path: str
    language: str
    mark: FileMark
    text: str
    content_hash: bytes
    lines: int
    functions: int
    classes: int
    encoding: str
    failure: str
    chunks: tuple[FileChunk, ...]
    symbols: tuple[CodeSymbol, ...]
    links: tuple[CodeLink, ...]
    taken_from: tuple[str, str] | None = None
    """The root whose memory it was, and its path there: that root lists it still."""


@dataclass(frozen=True, slots=True)
class HandOver:
    """A memory that becomes another root's, which lists its file."""

    memory_id: str
    root: str
    path: str


@dataclass(frozen=True, slots=True)
class Listing:
    """A file that a root lists, and whose memory is not its own, or not any more."""

    root: str
    path: str
    language: str


@dataclass(frozen=True, slots=True)
class FileSkip:
    """A file that has no memory in this root: it holds no text, and need not be read again; or it is `LISTED`."""

    path: str
    language: str
    mark: FileMark


@dataclass(frozen=True, slots=True)
class RunEnd:
    """The closing transaction of a run: staleness, marks, what was verified."""

    root: str
    scope: str
    total_files: int
    verified: tuple[str, ...]
    gone: tuple[str, ...] = ()
    returned: tuple[str, ...] = ()
    doubtful: tuple[str, ...] = ()
    marks: Mapping[str, FileMark] = field(default_factory=dict)
    skips: tuple[FileSkip, ...] = ()
    forgotten_skips: tuple[str, ...] = ()
    handed_over: tuple[HandOver, ...] = ()
    listed: tuple[Listing, ...] = ()
    """By other roots: their memories are stale by this run, and may be pruned before they run again."""
    written: tuple[str, ...] = ()
    """New, or with another text or place than before."""
    actor: str = ""

    def event(self, now: datetime) -> AuditEvent | None:
        """Return the log's event about the run, without its path, which must not outlive a purge; None if unchanged."""
        counts = {"memories": len(self.written), "stale": len(self.gone), "returned": len(self.returned)}
        ids = (*self.written, *self.gone, *self.returned)
        return AuditEvent(now, self.actor, "index", "", counts, ids=ids) if ids else None


@dataclass(frozen=True, slots=True)
class CodeTotals:
    """The live code under a root, by language, and the number of stale memories of the workspace."""

    languages: Mapping[str, int]
    lines: int
    functions: int
    classes: int
    stale: int


@dataclass(frozen=True, slots=True)
class IndexResult:
    """The result of an index run."""

    repo_path: str
    files_seen: int
    files_indexed: int
    files_unchanged: int
    files_moved: int
    files_removed: int
    files_unreadable: int
    functions_found: int
    classes_found: int
    languages: Mapping[str, int]
    total_lines: int
    chunks_embedded: int
    stale_memories: int
    processing_time_ms: float
    warnings: tuple[str, ...] = ()


# The folders that were indexed, as a whole. Pure.


@dataclass(frozen=True, slots=True)
class ScopeRuns:
    """The runs of one set of filters over a folder, as JSON; when the last one ended."""

    filters: str
    runs: int
    verified_at: datetime | None


@dataclass(frozen=True, slots=True)
class CodeRoot:
    """An indexed folder: its files by language, how many of them are stale, and how fresh that is."""

    path: str
    languages: Mapping[str, int]
    files: int
    lines: int
    stale_files: int
    scopes: tuple[ScopeRuns, ...]

    @property
    def verified_at(self) -> datetime | None:
        """When a run last compared it with the disk."""
        return max((each.verified_at for each in self.scopes if each.verified_at), default=None)


def code_roots(
    paths: Iterable[str],
    files: Iterable[tuple[str, str, bool, int, int]],
    scopes: Iterable[tuple[str, str, int, int | None]],
) -> tuple[CodeRoot, ...]:
    """From rows: files counted by root, language and staleness, with their lines; runs by root and filters."""
    counted, ran = list(files), sorted(scopes, key=lambda run: (-(run[3] or 0), run[1]))

    def root(path: str) -> CodeRoot:
        own = [each for each in counted if each[0] == path]
        live = [each for each in own if not each[2]]
        runs = tuple(
            ScopeRuns(filters, times, moment_or_none(at)) for place, filters, times, at in ran if place == path
        )
        languages = ranked((language, count) for _, language, _, count, _ in live)
        lines, stale = sum(each[4] for each in live), sum(each[3] for each in own if each[2])
        return CodeRoot(path, languages, sum(languages.values()), lines, stale, runs)

    return tuple(map(root, paths))


@dataclass(frozen=True, slots=True)
class CodeOverview:
    """The indexed folders, and the last runs that changed anything, the newest first."""

    roots: tuple[CodeRoot, ...] = ()
    runs: tuple[AuditEvent, ...] = ()
