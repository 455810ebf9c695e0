"""A client's folder and its mirror, read together: what everything else decides on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from memsweep.adopt.clients import ONLY_STORE, AdoptClient
from memsweep.adopt.dead import Judge
from memsweep.adopt.folders import OURS, read_store, store_folder, store_names
from memsweep.adopt.mirror import Mirror, SeenFile, lost_files, observed, our_changes, with_caught
from memsweep.adopt.notes import bytes_of, text_of
from memsweep.adopt.projects import find_projects, find_tree
from memsweep.adopt.vault import Vault
from memsweep.adopt.writing import put_back
from memsweep.errors import NotFound
from memsweep.model.adopt import ClientFile, ClientProject, ClientStore, LostFile, NotePlace, digest_of


@dataclass(frozen=True, slots=True)
class ClientScope:
    """The stores of a command: those of a folder and its work trees, or all."""

    here: str
    all_projects: bool = False


@dataclass(frozen=True, slots=True)
class AdoptDependencies:
    """A client, its folder, the mirror of it, and what the steps need of the world."""

    client: AdoptClient
    root: str
    home: str
    """The person's, which paths of memories may lead to."""
    vault: Vault
    judge: Judge
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    plan_hours: float
    redacted: Callable[[str], str]
    """A text as it may be kept."""

    def kept(self, data: bytes) -> bytes:
        """A content as the mirror has it."""
        return bytes_of(self.redacted(text_of(data)))


@dataclass(slots=True)
class ClientReading:
    """The state of the disk and of the mirror at one moment."""

    stores: tuple[ClientStore, ...]
    mirror: Mirror
    names: frozenset[str]
    """Of the stores that were looked at, also of those that are gone."""
    contents: dict[NotePlace, bytes] = field(default_factory=dict)

    @property
    def digests(self) -> dict[NotePlace, str]:
        return {place: digest_of(data) for place, data in self.contents.items()}


def read(tools: AdoptDependencies, scope: ClientScope, mirror: Mirror, *, dry_run: bool = False) -> ClientReading:
    """The stores in scope, mirrored unless it is a dry run."""
    on_disk = store_names(tools.client, tools.root)
    known = sorted({*on_disk, *(place.store for place in mirror.versions)})
    projects = find_projects(tools.client, tools.root, known, scope.here)
    names = frozenset(known if scope.all_projects or not tools.client.stores else _near(scope.here, projects))
    if not names:
        _refuse_nothing(tools, scope, bool(known))
    return _mirrored(tools, names, projects, mirror, dry_run=dry_run)


def refuse_unknown(tools: AdoptDependencies, scope: ClientScope) -> None:
    """Refuse a scope without a memory or a mirror of one, before anything is made."""
    if not tools.vault.is_there and not store_names(tools.client, tools.root):
        _refuse_nothing(tools, scope, False)


def _refuse_nothing(tools: AdoptDependencies, scope: ClientScope, has_others: bool) -> None:
    where = "" if scope.all_projects or not tools.client.stores else f" for {scope.here}"
    hint = "Pass --all-projects to look at every project." if has_others else ""
    raise NotFound(f"{tools.client.title} keeps no memory{where} in {tools.root}.", hint=hint)


def _near(here: str, projects: Mapping[str, ClientProject]) -> list[str]:
    """The stores of a folder, of the work tree that it is in, and of every other work tree of the repository."""
    tree = find_tree(here)
    folders = {here, *((tree.top, tree.repository) if tree else ())} - {""}
    return [store for store, each in projects.items() if each.folder in folders or each.repository in folders]


def read_named(tools: AdoptDependencies, names: Iterable[str]) -> ClientReading:
    return _mirrored(tools, frozenset(names), {}, tools.vault.mirror())


def _mirrored(
    tools: AdoptDependencies,
    names: frozenset[str],
    projects: Mapping[str, ClientProject],
    mirror: Mirror,
    *,
    dry_run: bool = False,
) -> ClientReading:
    caught: list[tuple[NotePlace, SeenFile]] = []
    if not dry_run:
        _clean_up(tools, names, mirror, caught)
    stores = tuple(
        read_store(tools.client, tools.root, name, projects.get(name, ClientProject())) for name in sorted(names)
    )
    stores = tuple(_without(each, lambda file: tools.redacted(file.place.name) != file.place.name) for each in stores)
    files = [file for store in stores for file in store.files]
    kept = {file.place: tools.kept(file.data) for file in files}
    seen = {file.place: SeenFile(digest_of(kept[file.place]), len(kept[file.place]), file.changed_at) for file in files}
    unread = [NotePlace(store.name, name) for store in stores for name, _ in store.unread]
    ours = our_changes(tools.vault.receipts())
    now = tools.clock()
    after = with_caught(observed(mirror, seen, names, unread, now, ours), caught, now)
    if not dry_run and after != mirror:
        for place, data in kept.items():
            latest = mirror.latest(place)
            if latest is None or latest.digest != seen[place].digest:
                tools.vault.keep(data)
        tools.vault.save_mirror(after)
    stores = tuple(_without(each, lambda file: kept[file.place] != file.data) for each in stores)
    return ClientReading(stores, after, names, {file.place: file.data for store in stores for file in store.files})


def _without(store: ClientStore, holds_secret: Callable[[ClientFile], bool]) -> ClientStore:
    """The store with files left alone that hold a secret: they could not come back as they were."""
    held = {file.place: (file.place.name, "it holds a secret") for file in store.files if holds_secret(file)}
    files = tuple(file for file in store.files if file.place not in held)
    return replace(store, files=files, unread=(*store.unread, *held.values()))


def _clean_up(
    tools: AdoptDependencies, names: Iterable[str], mirror: Mirror, caught: list[tuple[NotePlace, SeenFile]]
) -> None:
    """Put back what a process of ours left beside its place when it died."""
    for store in names:
        top = store_folder(tools.client, tools.root, store)
        known: dict[str, list[str]] = {}
        for place in mirror.versions:
            if place.store == store:
                below, _, name = place.name.rpartition("/")
                known.setdefault(os.path.join(top, *below.split("/")) if below else top, []).append(name)
        for folder, _, files in os.walk(top) if not os.path.islink(top) else ():
            if any(name.startswith(OURS) for name in files):
                put_back(Path(folder), known.get(folder, []), caught_by(tools, caught))


def caught_by(tools: AdoptDependencies, caught: list[tuple[NotePlace, SeenFile]]) -> Callable[[Path, bytes], None]:
    """Keeps contents of somebody else that are not at their place any more."""

    def keep(file: Path, data: bytes) -> None:
        kept = tools.kept(data)
        seen = SeenFile(tools.vault.keep(kept), len(kept), tools.clock().timestamp())
        caught.append((_place_of(tools, file), seen))

    return keep


def _place_of(tools: AdoptDependencies, file: Path) -> NotePlace:
    way = file.relative_to(tools.root).parts
    return NotePlace(way[1], "/".join(way[3:])) if tools.client.stores else NotePlace(ONLY_STORE, "/".join(way[1:]))


def path_of(tools: AdoptDependencies, place: NotePlace) -> Path:
    return Path(store_folder(tools.client, tools.root, place.store)).joinpath(*place.name.split("/"))


def still_lost(tools: AdoptDependencies, found: ClientReading) -> list[LostFile]:
    """Return the files that somebody else deleted and that the mirror still has."""
    return [each for each in lost_files(found.mirror, found.names) if tools.vault.has(each.digest)]
