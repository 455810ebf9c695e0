"""Find dead notes in the memory of a client. Pure: what the disk says of paths and folders is handed in.

What could be read in two ways is only shown: a contradiction, a file that names some paths that are there, one that
speaks of what was removed. What a person said of themselves (`user`, `feedback`) is never dead because of a path.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Literal, NamedTuple

from memsweep.adopt.clients import AdoptClient, is_slug_of, slug
from memsweep.adopt.notes import Note, entry_line, is_named, named_paths, read_entries, read_note
from memsweep.model.adopt import ABSENT, ClientStore, Item, Need, NoteFinding, NotePlace, digest_of
from memsweep.model.likeness import comparable, nearly_same

PathState = Literal["there", "gone", "unknown"]
Look = Callable[[ClientStore, str], PathState]
"""What the disk says of a path that a file of this store names."""
Judge = Callable[[Sequence[str]], Iterator[tuple[int, int, tuple[tuple[str, str], ...]]]]
"""Which of some texts contradict each other: their places, and where they differ."""

_OF_THE_PERSON = frozenset({"user", "feedback"})
_MOST_COMPARED = 150
"""Files of one store whose statements are compared with each other."""
_MOST_SHOWN = 5
_ABSENCE = re.compile(
    r"\b(?:delet|remov|renam|mov|gone|dropp|replac|migrat|retir|deprecat|no longer|never|used to|don't|do not)",
    re.IGNORECASE,
)


class FoundNotes(NamedTuple):
    items: tuple[Item, ...]
    findings: tuple[NoteFinding, ...]


@dataclass(frozen=True, slots=True)
class Shelf:
    """A store with what its files say, and what the plan has of it already."""

    client: AdoptClient
    store: ClientStore
    notes: Mapping[NotePlace, Note]
    """Files that may be in a plan."""
    digests: Mapping[NotePlace, str]
    lines: Mapping[str, str]
    """The entries of the index by the file that they name; of several the first."""

    @property
    def index(self) -> NotePlace:
        return NotePlace(self.store.name, self.client.index)

    @property
    def index_data(self) -> bytes:
        return next((file.data for file in self.store.files if file.place == self.index), b"")

    def need(self, *places: NotePlace) -> tuple[Need, ...]:
        return tuple(Need(place, self.digests.get(place, ABSENT)) for place in dict.fromkeys(places))

    def entry_of(self, name: str) -> str:
        return self.lines.get(name, "")


def shelf_of(client: AdoptClient, store: ClientStore) -> Shelf:
    has_index = client.index not in {name for name, _ in store.unread}  # without it, nobody knows what is in use
    notes = {file.place: read_note(file.data) for file in store.files if has_index and is_note(client, file.place.name)}
    index = next((file.data for file in store.files if file.place.name == client.index), b"")
    lines = {entry.target: entry.line for entry in reversed(read_entries(index))}
    return Shelf(client, store, notes, {file.place: digest_of(file.data) for file in store.files}, lines)


def is_note(client: AdoptClient, name: str) -> bool:
    hidden = any(part.startswith(".") for part in name.split("/"))
    return name.endswith(".md") and name != client.index and name not in client.made_by_client and not hidden


def find_dead(
    client: AdoptClient, stores: Sequence[ClientStore], look: Look, judge: Judge, lost: Set[NotePlace]
) -> FoundNotes:
    """Everything that a plan would do, store by store, and what is only shown."""
    shelves = [shelf_of(client, store) for store in stores]
    items: list[Item] = []
    findings: list[NoteFinding] = []
    for shelf in shelves:
        moved, left = rescued(shelf, shelves)
        items += moved
        findings += [*left, *_unread(shelf)]
        found = _in_store(shelf, {item.place for item in moved}, look, judge, lost)
        items += found.items
        findings += found.findings
    return FoundNotes(tuple(items), tuple(findings))


def _in_store(shelf: Shelf, taken: Set[NotePlace], look: Look, judge: Judge, lost: Set[NotePlace]) -> FoundNotes:
    doubles = list(_duplicates(shelf, taken))
    gone = taken | {item.place for item in doubles}
    missing, shown = _missing(shelf, gone, look)
    gone = gone | {item.place for item in missing}
    # Codex writes its index anew; a line of ours would be gone, or would be a line too many.
    has_index = shelf.client.index not in shelf.client.made_by_client
    entries = [*_dead_entries(shelf, lost), *_unlisted(shelf, gone)] if has_index else []
    return FoundNotes(
        (*doubles, *missing, *entries), (*shown, *_contradictions(shelf, gone, judge), *_long_index(shelf))
    )


def _unread(shelf: Shelf) -> Iterator[NoteFinding]:
    for name, reason in shelf.store.unread:
        yield NoteFinding("left_alone", NotePlace(shelf.store.name, name), details=(reason,))


def _duplicates(shelf: Shelf, taken: Set[NotePlace]) -> Iterator[Item]:
    """Of files that say the same or nearly the same, all but one."""
    changed = {file.place: file.changed_at for file in shelf.store.files}

    def worth(place: NotePlace) -> tuple[bool, float, str]:
        return place.name in shelf.lines, changed[place], place.name

    texts = {place: comparable(_statement(note)) for place, note in shelf.notes.items() if place not in taken}
    kept: dict[tuple[str, ...], list[NotePlace]] = {}
    for place in sorted(texts, key=worth, reverse=True):
        alike = kept.setdefault(texts[place].facts, [])
        other = next((each for each in alike if nearly_same(texts[place], texts[each])), None)
        if other is None:
            alike.append(place)
            continue
        is_same = texts[place].words == texts[other].words
        line = shelf.entry_of(place.name)
        needs = shelf.need(place, other, *([shelf.index] if line else []))
        yield Item("duplicate", "remove", place, other, line, ("the same" if is_same else "nearly the same",), needs)


def _statement(note: Note) -> str:
    return note.body.strip() or note.description


def _missing(shelf: Shelf, taken: Set[NotePlace], look: Look) -> tuple[list[Item], list[NoteFinding]]:
    """Files of which every path is gone go; those of which some are, or which speak of that, are shown."""
    items, findings = [], []
    for place, note in shelf.notes.items():
        paths = named_paths(f"{note.description}\n{note.body}") if place not in taken else ()
        states = {path: look(shelf.store, path) for path in paths}
        gone = tuple(path for path in paths if states[path] == "gone")
        if not gone:
            continue
        is_dead = len(gone) == len(paths) and note.type not in _OF_THE_PERSON and not _speaks_of_absence(note)
        line = shelf.entry_of(place.name)
        needs = shelf.need(place, *([shelf.index] if line else []))
        if is_dead:
            items.append(Item("missing_paths", "remove", place, None, line, gone[:_MOST_SHOWN], needs))
        else:
            findings.append(NoteFinding("missing_paths", place, details=gone[:_MOST_SHOWN]))
    return items, findings


def _speaks_of_absence(note: Note) -> bool:
    return bool(_ABSENCE.search(f"{note.description}\n{note.body}"))


def _dead_entries(shelf: Shelf, lost: Set[NotePlace]) -> Iterator[Item]:
    """Entries without a file. One that the mirror can bring back is no dead one, nor one that could not be read."""
    there = {file.place.name for file in shelf.store.files} | {name for name, _ in shelf.store.unread}
    for entry in read_entries(shelf.index_data):
        below_unread = any(entry.target.startswith(f"{name}/") for name, _ in shelf.store.unread)
        if entry.target in there or below_unread or NotePlace(shelf.store.name, entry.target) in lost:
            continue
        yield Item("dead_entry", "drop_entry", shelf.index, None, entry.line, (entry.target,), shelf.need(shelf.index))


def _unlisted(shelf: Shelf, taken: Set[NotePlace]) -> Iterator[Item]:
    """Files that the index does not name, so that no session finds them."""
    for place, note in shelf.notes.items():
        is_known = place in taken or place.name in shelf.lines or is_named(place.name, shelf.index_data)
        if not is_known and (note.name or note.description):
            line = entry_line(place.name, note)
            yield Item("unlisted", "add_entry", place, None, line, (), shelf.need(place, shelf.index))


def _long_index(shelf: Shelf) -> Iterator[NoteFinding]:
    lines = shelf.index_data.rstrip(b"\n").count(b"\n") + 1
    most = shelf.client.loaded_lines
    if most and lines > most:
        yield NoteFinding("long_index", shelf.index, details=(str(lines), str(most)))


def _contradictions(shelf: Shelf, taken: Set[NotePlace], judge: Judge) -> Iterator[NoteFinding]:
    said = [(place, _statement(note)) for place, note in shelf.notes.items() if place not in taken][:_MOST_COMPARED]
    for one, other, differs in judge([text for _, text in said]):
        details = tuple(part for pair in differs[:_MOST_SHOWN] for part in pair)
        yield NoteFinding("contradiction", said[one][0], said[other][0], details)


# Stores that no session reads any more: of a folder that is gone, or of one work tree of several.


def is_stranded(shelf: Shelf) -> bool:
    project = shelf.store.project
    return bool(shelf.client.stores and shelf.store.files) and (
        project.is_gone or bool(project.repository and project.folder and project.folder != project.repository)
    )


def rescued(shelf: Shelf, shelves: Sequence[Shelf]) -> tuple[list[Item], list[NoteFinding]]:
    """Its files go to the store of the main work tree; where that is not known, somebody has to look."""
    if not is_stranded(shelf):
        return [], []
    project = shelf.store.project
    if not project.repository or is_slug_of(shelf.store.name, project.repository):
        return [], [NoteFinding("stranded", NotePlace(shelf.store.name, ""), details=(project.folder,))]
    target = _target(shelf, shelves)
    if any((target.store, target.name) == (each.store.name, name) for each in shelves for name, _ in each.store.unread):
        return [], [NoteFinding("stranded", NotePlace(shelf.store.name, ""), details=(project.folder,))]
    if target.store == shelf.store.name:
        return [], []
    return list(_moves(shelf, target, shelves)), []


def _target(shelf: Shelf, shelves: Sequence[Shelf]) -> NotePlace:
    """The index of the store that the files go to."""
    repository = shelf.store.project.repository
    known = (each.store.name for each in shelves if is_slug_of(each.store.name, repository))
    return NotePlace(next(known, slug(repository)), shelf.client.index)


def _moves(shelf: Shelf, target: NotePlace, shelves: Sequence[Shelf]) -> Iterator[Item]:
    there = next((each for each in shelves if each.store.name == target.store), None)
    digests = dict(there.digests) if there else {}
    copies = {digest: place for place, digest in digests.items()}
    taken = set(digests) | {NotePlace(target.store, name) for name, _ in (there.store.unread if there else ())}
    for place, note in shelf.notes.items():
        line = shelf.entry_of(place.name)
        own = shelf.need(place, *([shelf.index] if line else []))
        if copy := copies.get(shelf.digests[place]):
            needs = (*own, Need(copy, digests[copy]))
            yield Item("stranded", "remove", place, copy, line, (shelf.store.project.folder,), needs)
            continue
        goal = _free(NotePlace(target.store, place.name), taken)
        taken.add(goal)
        added = entry_line(goal.name, note)
        needs = (*own, Need(goal, ABSENT), Need(target, digests.get(target, ABSENT)))
        yield Item("stranded", "move", place, goal, line, (shelf.store.project.folder, added), needs)


def _free(wanted: NotePlace, taken: set[NotePlace]) -> NotePlace:
    """A name that nothing has, near to the one that is wanted."""
    stem, ending = posixpath.splitext(wanted.name)
    place, number = wanted, 1
    folded = {each.name.casefold() for each in taken}  # some disks see no case
    while place.name.casefold() in folded:
        number += 1
        place = NotePlace(wanted.store, f"{stem}-{number}{ending}")
    return place
