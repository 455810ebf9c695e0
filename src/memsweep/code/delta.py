"""Compare what is known with what was seen: pure, and in two stages.

`compare` decides what stamps can decide and says which files must be hashed; `settle` takes the hashes
and decides the rest. Every known file lands in exactly one class.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from memsweep.code.fingerprint import Fingerprint, Unreadable
from memsweep.code.languages import language_by_name
from memsweep.code.request import Scope
from memsweep.code.walk import Present, Seen
from memsweep.errors import BadInput
from memsweep.model.text import counted


@dataclass(frozen=True, slots=True)
class RecordedFile:
    """A file as the last run that covered it left it. One that held no text may be kept with no id."""

    id: str
    path: str
    fingerprint: Fingerprint
    language: str
    stale: bool = False
    checked: bool = True
    """Whether the content was judged by the rules of today; if not, its stamp proves nothing."""


@dataclass(frozen=True, slots=True)
class Same:
    """A known file whose content is on disk; the fingerprint is the newer one."""

    known: RecordedFile
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Changed:
    known: RecordedFile
    present: Present


@dataclass(frozen=True, slots=True)
class MovedFile:
    known: RecordedFile
    present: Present
    fingerprint: Fingerprint


@dataclass(frozen=True, slots=True)
class Unknown:
    """A path that could not be read, whether or not it was known."""

    path: str
    reason: str
    known: RecordedFile | None = None


@dataclass(frozen=True, slots=True)
class Delta:
    unchanged: tuple[RecordedFile, ...] = ()
    touched: tuple[Same, ...] = ()
    """Same content, new stamp."""
    changed: tuple[Changed, ...] = ()
    """Other content; fresh again if it was stale."""
    added: tuple[Present, ...] = ()
    moved: tuple[MovedFile, ...] = ()
    gone: tuple[RecordedFile, ...] = ()
    """Covered, absent, and fresh until now."""
    still_gone: tuple[RecordedFile, ...] = ()
    """Covered, absent, and stale already."""
    returned: tuple[Same, ...] = ()
    """Was stale, and is there again with the content that is known."""
    unknown: tuple[Unknown, ...] = ()
    outside: tuple[RecordedFile, ...] = ()
    """Not covered: left as it was."""
    outgrown: tuple[Changed, ...] = ()
    """Fresh and covered as it was known, but not as it is now: what is known of it no longer holds."""


@dataclass(frozen=True, slots=True)
class DeltaDraft:
    """A delta with open questions: `to_hash` names the files whose content decides."""

    settled: Delta
    same_or_changed: tuple[Changed, ...]
    missing: tuple[RecordedFile, ...]
    new: tuple[Present, ...]
    to_hash: tuple[str, ...]


def refusal(seen: Seen, root: str, known_files: int, *, allow_empty: bool = False) -> BadInput | None:
    """Why a run must not go on: a root that looks like a vanished drive, not like deleted files.

    `known_files` counts the files of this root that were there when the last run ended.
    """
    insist = "Pass allow_empty=true if it is really empty."
    match seen.root_state:
        case "unreadable":
            return BadInput(f"The folder {root} cannot be read.", hint="Check its permissions.")
        case "replaced":
            return BadInput(f"The folder {root} was replaced while it was read.", hint="Try again.")
        case "not_a_folder":
            return BadInput(f"{root} is not a folder.")
        case "missing" if not allow_empty:
            hint = insist if known_files else ""
            return BadInput(f"The folder {root} does not exist.", hint=hint)
        case "ok" if not seen.total_files and known_files and not allow_empty and not _doubtful(seen):
            return BadInput(
                f"The folder {root} contains no files, but the index has {counted(known_files, 'file')} of it.",
                hint=insist,
            )
    return None


def _doubtful(seen: Seen) -> bool:
    # What lies below an unreadable folder is unknown anyway, and nothing goes stale.
    return "" in seen.unreadable_folders


def compare(scope: Scope, seen: Seen, known: Iterable[RecordedFile]) -> DeltaDraft:
    """Stage one: stamps only."""
    by_path = {each.path: each for each in sorted(known, key=lambda each: each.path)}
    sorting = _Sorting(scope, seen)
    for each in by_path.values():
        sorting.place(each)
    new = [p for p in seen.present.values() if p.path not in by_path and _covers(scope, p, None)]
    sorting.unknown += [
        Unknown(path, reason)
        for path, reason in seen.unreadable.items()
        if path not in by_path and scope.covers(path, language_by_name(path), 0)
    ]
    # A new file can only be a moved one if a missing file had its size.
    sizes = {each.fingerprint.stamp.size for each in sorting.missing}
    candidates = [each.path for each in new if each.stamp.size in sizes]
    doubtful = [each.present.path for each in sorting.same_or_changed]
    return DeltaDraft(
        settled=Delta(
            unchanged=tuple(sorting.unchanged),
            changed=tuple(sorting.changed),
            returned=tuple(sorting.returned),
            unknown=tuple(sorting.unknown),
            outside=tuple(sorting.outside),
            outgrown=tuple(sorting.outgrown),
        ),
        same_or_changed=tuple(sorting.same_or_changed),
        missing=tuple(sorting.missing),
        new=tuple(sorted(new, key=lambda each: each.path)),
        to_hash=tuple(sorted((*doubtful, *candidates))),
    )


class _Sorting:
    """The sorting of known files in stage one."""

    def __init__(self, scope: Scope, seen: Seen) -> None:
        self.scope = scope
        self.seen = seen
        self.unchanged: list[RecordedFile] = []
        self.same_or_changed: list[Changed] = []
        self.changed: list[Changed] = []
        self.returned: list[Same] = []
        self.missing: list[RecordedFile] = []
        self.unknown: list[Unknown] = []
        self.outside: list[RecordedFile] = []
        self.outgrown: list[Changed] = []

    def place(self, known: RecordedFile) -> None:
        present = self.seen.present.get(known.path)
        if present is None:
            self._place_unseen(known)
        elif not _covers(self.scope, present, known):
            self._place_uncovered(known, present)
        elif known.checked and known.fingerprint.vouches_for(present.stamp):
            if known.stale:
                self.returned.append(Same(known, known.fingerprint))
            else:
                self.unchanged.append(known)
        elif known.fingerprint.stamp.size != present.stamp.size:
            self.changed.append(Changed(known, present))
        else:
            self.same_or_changed.append(Changed(known, present))

    def _place_uncovered(self, known: RecordedFile, present: Present) -> None:
        """A run with narrower filters says nothing of a file; one that grew past them is not what it was."""
        if known.id and not known.stale and self._covered(known):
            self.outgrown.append(Changed(known, present))
        else:
            self.outside.append(known)

    def _covered(self, known: RecordedFile) -> bool:
        return self.scope.covers(known.path, known.language, known.fingerprint.stamp.size)

    def _place_unseen(self, known: RecordedFile) -> None:
        reason = self.seen.reason(known.path)
        if not self._covered(known):
            self.outside.append(known)
        elif reason is not None:
            self.unknown.append(Unknown(known.path, reason, known))
        else:
            self.missing.append(known)


def _covers(scope: Scope, present: Present, known: RecordedFile | None) -> bool:
    language = present.language or (known.language if known else None)
    return scope.covers(present.path, language, present.stamp.size)


def settle(draft: DeltaDraft, hashed: Mapping[str, Fingerprint | Unreadable]) -> Delta:
    """Stage two: every name in `draft.to_hash` must be in `hashed`."""
    touched: list[Same] = []
    changed = list(draft.settled.changed)
    returned = list(draft.settled.returned)
    unknown = list(draft.settled.unknown)
    for each in draft.same_or_changed:
        match hashed[each.present.path]:
            case Unreadable(reason):
                unknown.append(Unknown(each.known.path, reason, each.known))
            case Fingerprint() as found if found.digest == each.known.fingerprint.digest:
                (returned if each.known.stale else touched).append(Same(each.known, found))
            case _:
                changed.append(each)
    moved = pair_moves(draft.missing, draft.new, hashed)
    source = {each.known.path for each in moved}
    target = {each.present.path for each in moved}
    missing = [each for each in draft.missing if each.path not in source]
    added: list[Present] = []
    for new in draft.new:
        found_now = hashed.get(new.path)
        if isinstance(found_now, Unreadable):
            unknown.append(Unknown(new.path, found_now.reason))
        elif new.path not in target:
            added.append(new)
    return Delta(
        unchanged=draft.settled.unchanged,
        touched=tuple(touched),
        changed=tuple(sorted(changed, key=lambda each: each.known.path)),
        added=tuple(added),
        moved=tuple(moved),
        gone=tuple(each for each in missing if not each.stale),
        still_gone=tuple(each for each in missing if each.stale),
        returned=tuple(sorted(returned, key=lambda each: each.known.path)),
        unknown=tuple(sorted(unknown, key=lambda each: each.path)),
        outside=draft.settled.outside,
        outgrown=draft.settled.outgrown,
    )


def pair_moves(
    missing: Iterable[RecordedFile], new: Iterable[Present], hashed: Mapping[str, Fingerprint | Unreadable]
) -> list[MovedFile]:
    """Missing files and new ones with their content, one to one.

    Among several with the same content, fresh sources go before stale ones, then the same file name
    before any other, then the order of the paths decides.
    """
    targets = {p.path: (p, f) for p in new if isinstance(f := hashed.get(p.path), Fingerprint)}
    sources = sorted(missing, key=lambda each: (each.stale, each.path))
    moved: list[MovedFile] = []
    for key in (_content_and_name, _content):
        waiting: dict[str, list[str]] = defaultdict(list)
        for path in sorted(targets, reverse=True):
            waiting[key(targets[path][1].digest, path)].append(path)
        rest: list[RecordedFile] = []
        for known in sources:
            candidates = waiting[key(known.fingerprint.digest, known.path)]
            if candidates:
                moved.append(MovedFile(known, *targets.pop(candidates.pop())))
            else:
                rest.append(known)
        sources = rest
    return sorted(moved, key=lambda each: each.present.path)


def _content_and_name(digest: str, path: str) -> str:
    return f"{digest}/{path.rpartition('/')[2]}"


def _content(digest: str, path: str) -> str:
    return digest
