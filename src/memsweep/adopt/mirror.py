"""The versions of a client's files: what is new, what was lost, what is old enough to be purged. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from memsweep.model.adopt import ABSENT, ClientReceipt, FileChange, FileVersion, LostFile, NotePlace

Versions = Mapping[NotePlace, tuple[FileVersion, ...]]


@dataclass(frozen=True, slots=True)
class Mirror:
    """Every file that was ever seen, with its versions from the oldest to the newest."""

    versions: Versions = field(default_factory=dict)

    @property
    def count(self) -> int:
        return sum(map(len, self.versions.values()))

    def latest(self, place: NotePlace) -> FileVersion | None:
        known = self.versions.get(place, ())
        return known[-1] if known else None

    def changed_at(self, place: NotePlace, digest: str) -> float | None:
        """When the disk said that a file became this."""
        return next((each.changed_at for each in self.versions.get(place, ()) if each.digest == digest), None)

    @property
    def digests(self) -> set[str]:
        return {version.digest for known in self.versions.values() for version in known} - {ABSENT}


class SeenFile(NamedTuple):
    """A file as it is on the disk."""

    digest: str
    size: int
    changed_at: float


def observed(
    mirror: Mirror,
    seen: Mapping[NotePlace, SeenFile],
    stores: Set[str],
    unread: Iterable[NotePlace],
    now: datetime,
    ours: Mapping[FileChange, str],
) -> Mirror:
    """The mirror after a look at some stores. `ours`: the receipts of changes that we made.

    What was not read is unknown rather than gone, and so is everything below a folder that was not.
    """
    held = tuple(unread)
    versions = dict(mirror.versions)
    for place, file in seen.items():
        _add(versions, place, FileVersion(now, *file), ours)
    for place in mirror.versions:
        if place.store in stores and place not in seen and not any(_is_in(place, each) for each in held):
            _add(versions, place, FileVersion(now, ABSENT, 0, 0.0), ours)
    return Mirror(versions)


def with_caught(mirror: Mirror, caught: Iterable[tuple[NotePlace, SeenFile]], now: datetime) -> Mirror:
    """With contents that another process wrote while we changed the same file, before what is there now."""
    versions = dict(mirror.versions)
    for place, file in caught:
        known = versions.get(place, ())
        if file.digest not in {each.digest for each in known}:
            versions[place] = (*known[:-1], FileVersion(now, *file), *known[-1:])
    return Mirror(versions)


def our_changes(receipts: Iterable[ClientReceipt]) -> dict[FileChange, str]:
    """Every change that a receipt of ours explains, with the receipt; an undo is the change back."""
    made: dict[FileChange, str] = {}
    for receipt in receipts:
        for change in receipt.changes:
            made[change] = receipt.id
            if receipt.undone_at:
                made[FileChange(change.place, change.after, change.before)] = receipt.id
    return made


def _is_in(place: NotePlace, unread: NotePlace) -> bool:
    is_below = not unread.name or place.name.startswith(f"{unread.name}/")
    return place.store == unread.store and (place == unread or is_below)


def _add(
    versions: dict[NotePlace, tuple[FileVersion, ...]],
    place: NotePlace,
    version: FileVersion,
    ours: Mapping[FileChange, str],
) -> None:
    known = versions.get(place, ())
    before = known[-1].digest if known else ABSENT
    if before != version.digest:
        receipt = ours.get(FileChange(place, before, version.digest), "")
        versions[place] = (*known, version._replace(receipt=receipt))


def lost_files(mirror: Mirror, stores: Set[str] | None = None) -> list[LostFile]:
    """Return the files that somebody else deleted: none that a receipt of ours removed, none that were renamed."""
    live: dict[str, set[str]] = {}
    for place, known in mirror.versions.items():
        live.setdefault(place.store, set()).add(known[-1].digest)
    found = []
    for place, known in sorted(mirror.versions.items()):
        if (stores is None or place.store in stores) and len(known) > 1 and known[-1].digest == ABSENT:
            gone, before = known[-1], known[-2]
            if not gone.receipt and before.digest not in live[place.store]:
                found.append(LostFile(place, before.digest, before.size, gone.at))
    return found


def purged(mirror: Mirror, before: datetime) -> tuple[Mirror, int]:
    """The mirror without versions that another one replaced by then, and how many those were.

    What a file is now stays, whatever its age; a file that is gone is forgotten with its last version.
    """
    kept: dict[NotePlace, tuple[FileVersion, ...]] = {}
    count = 0
    for place, known in mirror.versions.items():
        stay = [each for each, after in pairwise(known) if after.at > before]
        count += len(known) - 1 - len(stay)
        if stay or known[-1].digest != ABSENT:
            kept[place] = (*stay, known[-1])
    return Mirror(kept), count
