"""What is brought back from the mirror, and how it gets into the index again. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from memsweep.adopt.changing import Write, ordered
from memsweep.adopt.clients import Client
from memsweep.adopt.dead import is_note
from memsweep.adopt.mirror import Mirror
from memsweep.adopt.notes import edited_index, entry_line, is_named, read_note
from memsweep.errors import BadInput, NotFound
from memsweep.model.adopt import ABSENT, FileChange, FileVersion, LostFile, Place, digest_of
from memsweep.model.text import counted, shown

_SHORTEST_DIGEST = 6


def is_called(place: Place, name: str) -> bool:
    return name in (place.name, f"{place.store}/{place.name}")


def chosen(lost: Sequence[LostFile], names: Sequence[str], *, everything: bool) -> list[LostFile]:
    """The lost files of these names; a name that several have must say which."""
    if everything:
        return list(lost)
    found = []
    for name in names:
        called = [each for each in lost if is_called(each.place, name)]
        if not called:
            raise NotFound(f"no deleted file {shown(name)} is in the mirror.", hint="Look at what was deleted first.")
        if len(called) > 1:
            raise BadInput(
                f"{counted(len(called), 'deleted file')} are called {shown(name)}.",
                hint=f"Write {called[0].place.store}/{called[0].place.name}, for example.",
            )
        found += called
    return found


def chosen_version(mirror: Mirror, stores: Set[str], names: Sequence[str], version: str) -> tuple[Place, FileVersion]:
    """The file of that name, and the version of it whose digest begins so."""
    if len(names) != 1:
        raise BadInput("a version belongs to a single file.", hint="Name that file.")
    places = [place for place in mirror.versions if place.store in stores and is_called(place, names[0])]
    found = [
        (place, each)
        for place in places
        for each in mirror.versions[place]
        if each.digest != ABSENT and len(version) >= _SHORTEST_DIGEST and each.digest.startswith(version)
    ]
    if len({(place, each.digest) for place, each in found}) != 1:
        raise NotFound(
            f"{shown(names[0])} has no single version {shown(version)}.", hint="Its history shows the versions."
        )
    return found[-1]


def writes_back(client: Client, wanted: Mapping[Place, bytes], contents: Mapping[Place, bytes]) -> list[Write]:
    """Each file as it was; a memory that the index does not name any more is named again."""
    after = dict(wanted)
    for place, data in wanted.items():
        index = Place(place.store, client.index)
        note = read_note(data)
        has_entry = is_note(client, place.name) and bool(note.name or note.description)
        is_indexed = has_entry and client.index not in client.made_by_client and index not in wanted
        current = after.get(index, contents.get(index, b""))
        if is_indexed and not is_named(place.name, current):
            after[index] = edited_index(current, [], [entry_line(place.name, note)])
    return ordered(
        Write(FileChange(place, digest_of(contents[place]) if place in contents else ABSENT, digest_of(data)), data)
        for place, data in after.items()
    )
