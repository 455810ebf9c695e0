"""Stores that no session reads any more: of a folder that is gone, or of one work tree of several. Pure."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from memsweep.adopt.clients import is_slug_of, slug
from memsweep.adopt.notes import entry_line
from memsweep.model.adopt import ABSENT, Finding, Item, Need, Place

if TYPE_CHECKING:
    from memsweep.adopt.dead import Shelf


def is_stranded(shelf: Shelf) -> bool:
    project = shelf.store.project
    return bool(shelf.client.stores and shelf.store.files) and (
        project.is_gone or bool(project.repository and project.folder and project.folder != project.repository)
    )


def rescued(shelf: Shelf, shelves: Sequence[Shelf]) -> tuple[list[Item], list[Finding]]:
    """Its files go to the store of the main work tree; where that is not known, somebody has to look."""
    if not is_stranded(shelf):
        return [], []
    project = shelf.store.project
    if not project.repository or is_slug_of(shelf.store.name, project.repository):
        return [], [Finding("stranded", Place(shelf.store.name, ""), details=(project.folder,))]
    target = _target(shelf, shelves)
    if any((target.store, target.name) == (each.store.name, name) for each in shelves for name, _ in each.store.unread):
        return [], [Finding("stranded", Place(shelf.store.name, ""), details=(project.folder,))]
    if target.store == shelf.store.name:
        return [], []
    return list(_moves(shelf, target, shelves)), []


def _target(shelf: Shelf, shelves: Sequence[Shelf]) -> Place:
    """The index of the store that the files go to."""
    repository = shelf.store.project.repository
    known = (each.store.name for each in shelves if is_slug_of(each.store.name, repository))
    return Place(next(known, slug(repository)), shelf.client.index)


def _moves(shelf: Shelf, target: Place, shelves: Sequence[Shelf]) -> Iterator[Item]:
    there = next((each for each in shelves if each.store.name == target.store), None)
    digests = dict(there.digests) if there else {}
    copies = {digest: place for place, digest in digests.items()}
    taken = set(digests) | {Place(target.store, name) for name, _ in (there.store.unread if there else ())}
    for place, note in shelf.notes.items():
        line = shelf.entry_of(place.name)
        own = shelf.need(place, *([shelf.index] if line else []))
        if copy := copies.get(shelf.digests[place]):
            needs = (*own, Need(copy, digests[copy]))
            yield Item("stranded", "remove", place, copy, line, (shelf.store.project.folder,), needs)
            continue
        goal = _free(Place(target.store, place.name), taken)
        taken.add(goal)
        added = entry_line(goal.name, note)
        needs = (*own, Need(goal, ABSENT), Need(target, digests.get(target, ABSENT)))
        yield Item("stranded", "move", place, goal, line, (shelf.store.project.folder, added), needs)


def _free(wanted: Place, taken: set[Place]) -> Place:
    """A name that nothing has, near to the one that is wanted."""
    stem, ending = posixpath.splitext(wanted.name)
    place, number = wanted, 1
    folded = {each.name.casefold() for each in taken}  # some disks see no case
    while place.name.casefold() in folded:
        number += 1
        place = Place(wanted.store, f"{stem}-{number}{ending}")
    return place
