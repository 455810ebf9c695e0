"""Folders inside folders: one file on disk is one memory, whichever root saw it last.

Every root that lists a file is remembered: the one whose memory it is, and the others by a mark (`LISTED`) where a
file without text would be. A run takes over what it sees and another root has; a file that only this root stopped
listing is handed to one that lists it still.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from memsweep.code.languages import language_by_name
from memsweep.code.request import Scope
from memsweep.code.walk import Seen
from memsweep.model.code import LISTED, HandOver, KnownFile, Listing, is_within, path_within
from memsweep.store.protocol import Store


@dataclass(frozen=True, slots=True)
class OverlappingFile:
    """A file of another root that is below this one, too, with its path there and here."""

    root: str
    file: KnownFile
    path: str

    def as_seen_from_here(self) -> KnownFile:
        """To be written anew under this root: its names are other ones here."""
        return replace(self.file, path=self.path, mark=replace(self.file.mark, digest=""))


@dataclass(frozen=True, slots=True)
class Overlap:
    """The files that a run compares with what it sees."""

    files: list[KnownFile]
    """Of this root, and of others where this run speaks for them."""
    taken: dict[str, OverlappingFile]
    """By the id of the memory: what is written here if it is there."""
    handed_over: tuple[HandOver, ...]
    forgotten_marks: tuple[str, ...]
    doubles: tuple[str, ...]
    """Memories of other roots for files that have a fresh one here."""
    listings: dict[str, Listing]
    """By the id of the memory: where another root that has it lists its file."""


def known_files(store: Store, scope: Scope, seen: Seen) -> Overlap:
    """Everything that is known of the files below a root."""
    everything = store.code.files(scope.root)
    own = [file for file in everything if file.mark.digest != LISTED]
    listed = {file.path for file in everything if file.mark.digest == LISTED}
    around = _around(store, scope.root)
    fresh = {file.path for file in own if file.memory_id and not file.stale}
    others = [each for each in around if each.file.memory_id]
    taken = [each for each in others if each.path not in fresh and _is_covered(scope, seen, each)]
    missing = [each for each in others if each.path not in fresh and not each.file.stale]
    gone = [each for each in missing if _is_gone(scope, seen, each, each.path in listed)]
    left = _left_to_others(scope, seen, own, [each for each in around if not each.file.memory_id])
    passed_on = {each.memory_id for each in left}
    had_text = {each.path for each in (*taken, *gone)}  # whatever this root found there before
    listed |= {file.path for file in own if not file.memory_id and file.path in had_text}
    return Overlap(
        files=[
            *(file for file in own if file.memory_id and file.memory_id not in passed_on),
            *(file for file in own if not file.memory_id and file.path not in had_text),
            *(each.as_seen_from_here() for each in taken),
            *(replace(each.file, path=each.path) for each in gone),
        ],
        taken={each.file.memory_id: each for each in taken},
        handed_over=tuple(left),
        forgotten_marks=tuple(path for path in listed if seen.state(path) == "absent"),
        doubles=tuple(each.file.memory_id for each in others if each.path in fresh and not each.file.stale),
        listings={each.file.memory_id: Listing(each.root, each.file.path, each.file.language) for each in others},
    )


def _around(store: Store, root: str) -> list[OverlappingFile]:
    related = [each for each in store.code.roots() if each != root and (is_within(root, each) or is_within(each, root))]
    files = ((other, file) for other in related for file in store.code.files(other))
    found = ((other, file, path_within(root, other, file.path)) for other, file in files)
    return [OverlappingFile(other, file, path) for other, file, path in found if path is not None]


def _is_covered(scope: Scope, seen: Seen, each: OverlappingFile) -> bool:
    present = seen.present.get(each.path)
    if present is None:
        return False
    language = present.language or language_by_name(each.path) or each.file.language
    return scope.covers(each.path, language, present.stamp.size)


def _is_gone(scope: Scope, seen: Seen, each: OverlappingFile, was_listed: bool) -> bool:
    """Not merely left out here: it is not on disk.

    Another root that is there and empty may be a drive that is away, unless this root has listed what was in it.
    """
    if seen.state(each.path) != "absent" or not seen.total_files or _is_on_disk(scope.root, each.path):
        return False
    return was_listed or not _is_empty_folder(each.root)


def _left_to_others(
    scope: Scope, seen: Seen, own: Iterable[KnownFile], marks: Sequence[OverlappingFile]
) -> list[HandOver]:
    """Files that this root no longer lists, that are on disk, and that another root lists."""
    listed = {each.path: each for each in marks}
    return [
        HandOver(file.memory_id, listed[file.path].root, listed[file.path].file.path)
        for file in own
        if file.memory_id
        and not file.stale
        and file.path in listed
        and seen.state(file.path) == "absent"
        and _is_on_disk(scope.root, file.path)
    ]


def _is_on_disk(root: str, path: str) -> bool:
    try:
        os.lstat(os.path.join(root, path))
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True  # nobody can say that it is gone
    return True


def _is_empty_folder(folder: str) -> bool:
    try:
        return not os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
