"""Look at the memory of a client, mirror it, plan, apply, undo, bring back, purge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import datetime, timedelta

from memsweep.adopt.clients import AdoptClient
from memsweep.adopt.dead import find_dead, is_note
from memsweep.adopt.mirror import Mirror, SeenFile, purged, with_caught
from memsweep.adopt.notes import edited_index, entry_line, is_named, read_note
from memsweep.adopt.projects import look_at
from memsweep.adopt.reading import (
    AdoptDependencies,
    ClientReading,
    ClientScope,
    caught_by,
    path_of,
    read,
    read_named,
    refuse_unknown,
    still_lost,
)
from memsweep.adopt.vault import Vault
from memsweep.adopt.writing import (
    Write,
    WriteRefused,
    change_file,
    ordered,
    refuse_large,
    selected,
    way_back,
    writes_back_to,
    writes_of,
)
from memsweep.errors import BadInput, Conflict, MemsweepError, NotFound
from memsweep.model.adopt import (
    ABSENT,
    CLIENT_RECEIPT,
    Applied,
    ClientLook,
    ClientPlan,
    ClientReceipt,
    FileChange,
    FileVersion,
    LostFile,
    MirrorPurged,
    NotePlace,
    Skipped,
    digest_of,
)
from memsweep.model.text import counted, shown
from memsweep.model.times import CLOCK_TOLERANCE


def look(tools: AdoptDependencies, scope: ClientScope, *, dry_run: bool = False) -> ClientLook:
    """Mirror what is there, and plan what could go. A dry run writes nothing at all."""
    refuse_unknown(tools, scope)
    with nullcontext() if dry_run else tools.vault.locked():
        before = tools.vault.mirror()
        found = read(tools, scope, before, dry_run=dry_run)
        gone = still_lost(tools, found)
        dead = find_dead(
            tools.client,
            found.stores,
            lambda store, path: look_at(store, path, tools.home),
            tools.judge,
            {each.place for each in gone},
        )
        now = tools.clock()
        plan_id = tools.new_id("plan") if dead.items and not dry_run else ""
        expires_at = now + timedelta(hours=tools.plan_hours)
        plan = ClientPlan(plan_id, tools.client.name, now, expires_at, dead.items, dead.findings)
        if plan_id:
            tools.vault.drop_plans(now)
            tools.vault.save_plan(replace(plan, findings=()))  # which are only shown
        new = 0 if dry_run else found.mirror.count - before.count
        return ClientLook(tools.client.name, tools.root, found.stores, tuple(gone), plan, len(found.contents), new)


def lost(tools: AdoptDependencies, scope: ClientScope) -> list[LostFile]:
    """Return the files that somebody else deleted since the mirror saw them; nothing is written."""
    if not tools.vault.is_there:
        return []
    return still_lost(tools, read(tools, scope, tools.vault.mirror(), dry_run=True))


def apply(tools: AdoptDependencies, plan_id: str, *, allow_large: bool = False) -> Applied:
    """Do what a plan says, but for files that have changed since. A plan is applied once."""
    tools.vault.plan(plan_id)  # an unknown one makes no mirror
    with tools.vault.locked():
        plan = tools.vault.plan(plan_id)
        _refuse_unusable(plan, tools)
        names = {need.place.store for item in plan.items for need in item.needs}
        found = read_named(tools, names)
        kept, skipped = selected(plan.items, found.digests)
        if not allow_large:
            refuse_large(kept, found.contents)
        tools.vault.use_plan(plan_id)
        writes = writes_of(kept, found.contents, tools.client.index)
        return _write(tools, "apply", writes, found, skipped)


def undo(tools: AdoptDependencies, receipt_id: str) -> Applied:
    """Make every file what it was before, unless somebody has changed it since."""
    with tools.vault.locked():
        receipt = tools.vault.receipt(receipt_id)
        found = read_named(tools, {change.place.store for change in receipt.changes})
        back, conflicts = way_back(receipt, found.digests)
        done, failed = _make(tools, writes_back_to(back, tools.vault.content), found)
        tools.vault.mark_undone(receipt, tools.clock())  # last: an undo that was interrupted can be repeated
        _catch_up(tools, {change.place.store for change in receipt.changes})
        return Applied(receipt_id, tuple(each.change for each in done), (*conflicts, *failed))


def restore(
    tools: AdoptDependencies, scope: ClientScope, names: Sequence[str], *, everything: bool = False, version: str = ""
) -> Applied:
    """Bring back files that somebody else deleted, or make one what it was in another version."""
    if not names and (version or not everything):
        raise BadInput("no file to bring back was named.", hint="Name a file, or pass --all.")
    refuse_unknown(tools, scope)
    with tools.vault.locked():
        found = read(tools, scope, tools.vault.mirror())
        if version:
            place, old = chosen_version(found.mirror, found.names, names, version)
            wanted = {place: tools.vault.content(old.digest)}
        else:
            gone = chosen(still_lost(tools, found), names, everything=everything)
            wanted = {each.place: tools.vault.content(each.digest) for each in gone}
        return _write(tools, "restore", writes_back(tools.client, wanted, found.contents), found, [])


def history(tools: AdoptDependencies, scope: ClientScope, name: str) -> list[tuple[NotePlace, FileVersion]]:
    """The versions of a file that the mirror has, the newest first."""
    refuse_unknown(tools, scope)
    with tools.vault.locked():
        found = read(tools, scope, tools.vault.mirror())
        wanted = [place for place in found.mirror.versions if place.store in found.names and is_called(place, name)]
        if not wanted:
            raise NotFound(f"the mirror has no file {shown(name)}.")
        rows = [(place, version) for place in sorted(wanted) for version in reversed(found.mirror.versions[place])]
        return [(place, each) for place, each in rows if each.digest == ABSENT or tools.vault.has(each.digest)]


def purge(vault: Vault, before: datetime) -> MirrorPurged:
    """Delete versions and receipts that old for good; what the files are now stays."""
    if not vault.is_there:
        return MirrorPurged(0, 0, 0)
    with vault.locked():
        old = [receipt for receipt in vault.receipts() if receipt.at <= before]
        mirror, versions = purged(vault.mirror(), before)
        vault.save_mirror(mirror)  # first: a crash after it leaves contents that nothing speaks of, for the next purge
        for receipt in old:
            vault.drop_receipt(receipt.id)
        needed = {digest for each in vault.receipts() for change in each.changes for digest in change[1:]}
        return MirrorPurged(versions, len(old), vault.free(mirror.digests | needed))


def _refuse_unusable(plan: ClientPlan, tools: AdoptDependencies) -> None:
    now = tools.clock()
    if plan.client != tools.client.name:
        raise Conflict(f"plan {plan.id} is for {plan.client}; nothing was changed.")
    if now > plan.expires_at or plan.made_at - now > CLOCK_TOLERANCE:
        raise Conflict(f"plan {plan.id} has expired; nothing was changed.", hint="Make a new one.")


def _write(
    tools: AdoptDependencies, action: str, writes: Sequence[Write], found: ClientReading, skipped: Sequence[Skipped]
) -> Applied:
    """Keep what was and what will be, then say what is going to be done, then do it."""
    if not writes:
        return Applied("", (), tuple(skipped))
    for each in writes:
        for data in (found.contents.get(each.change.place), each.data):
            if data is not None:
                tools.vault.keep(data)
    receipt = ClientReceipt(
        tools.new_id(CLIENT_RECEIPT), tools.client.name, tools.clock(), action, tuple(each.change for each in writes)
    )
    tools.vault.save_receipt(receipt)
    done, failed = _make(tools, writes, found)
    _catch_up(tools, found.names | {each.change.place.store for each in writes})
    return Applied(receipt.id if done else "", tuple(each.change for each in done), (*skipped, *failed))


def _catch_up(tools: AdoptDependencies, stores: Iterable[str]) -> None:
    """Mirror what was done. Where that fails the next look does it, and the answer with its receipt is not lost."""
    with suppress(MemsweepError):
        read_named(tools, stores)


def _make(tools: AdoptDependencies, writes: Sequence[Write], found: ClientReading) -> tuple[list[Write], list[Skipped]]:
    done: list[Write] = []
    failed: list[Skipped] = []
    caught: list[tuple[NotePlace, SeenFile]] = []
    for each in writes:
        place, without = each.change.place, {one.place for one in failed}
        if missing := next((need for need in each.requires if need in without), None):
            failed.append(Skipped(place, f"{missing.name} could not be changed"))
            continue
        changed_at = _changed_at(found.mirror, each, writes)
        keep = caught_by(tools, caught)
        try:
            change_file(tools.root, path_of(tools, place), each.change.before, each.data, changed_at, keep)
        except WriteRefused as error:
            failed.append(Skipped(place, str(error)))
        else:
            done.append(each)
    if caught:
        tools.vault.save_mirror(with_caught(tools.vault.mirror(), caught, tools.clock()))
    return done, failed


def _changed_at(mirror: Mirror, write: Write, writes: Sequence[Write]) -> float | None:
    """A file that comes back, or that moves, keeps its age: clients tell their model how old a memory is."""
    digest = write.change.after
    if digest == ABSENT:
        return None
    sources = [write.change.place, *(each.change.place for each in writes if each.change.before == digest)]
    return next((at for place in sources if (at := mirror.changed_at(place, digest)) is not None), None)


_SHORTEST_DIGEST = 6


def is_called(place: NotePlace, name: str) -> bool:
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


def chosen_version(
    mirror: Mirror, stores: Set[str], names: Sequence[str], version: str
) -> tuple[NotePlace, FileVersion]:
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


def writes_back(
    client: AdoptClient, wanted: Mapping[NotePlace, bytes], contents: Mapping[NotePlace, bytes]
) -> list[Write]:
    """Each file as it was; a memory that the index does not name any more is named again."""
    after = dict(wanted)
    for place, data in wanted.items():
        index = NotePlace(place.store, client.index)
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
