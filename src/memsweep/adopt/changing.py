"""From a plan to changes of files, and back. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from memsweep.adopt.notes import edited_index
from memsweep.errors import Conflict
from memsweep.model.adopt import ABSENT, ClientReceipt, FileChange, Item, NotePlace, Skipped, digest_of

CHANGED = "it has changed since the plan was made"
CHANGED_SINCE = "it has changed since"
CAP_FROM = 20
CAP_SHARE = 0.5


class Write(NamedTuple):
    """A change with its bytes; None: the file goes. It is not made unless those that it requires were."""

    change: FileChange
    data: bytes | None
    requires: tuple[NotePlace, ...] = ()


def selected(items: Iterable[Item], current: Mapping[NotePlace, str]) -> tuple[list[Item], list[Skipped]]:
    """The items whose files are all as the plan saw them; the rest, with the first file that is not."""
    kept, skipped = [], []
    for item in items:
        other = next((need.place for need in item.needs if current.get(need.place, ABSENT) != need.digest), None)
        if other is None:
            kept.append(item)
        elif other == item.place:
            skipped.append(Skipped(item.place, CHANGED))
        else:
            skipped.append(Skipped(item.place, f"{other.name} has changed since the plan was made"))
    return kept, skipped


def writes_of(items: Sequence[Item], contents: Mapping[NotePlace, bytes], index: str) -> list[Write]:
    """Return the writes for some items, ordered so that a crash keeps too much: new files, the index, removals."""
    after: dict[NotePlace, bytes | None] = {}
    requires: dict[NotePlace, tuple[NotePlace, ...]] = {}
    drop: dict[str, list[str]] = defaultdict(list)
    add: dict[str, list[str]] = defaultdict(list)
    for item in items:
        if item.action in ("remove", "move"):
            after[item.place] = None
            requires[item.place] = _required(item, index)
        if item.action == "move" and item.beside:
            after[item.beside] = contents[item.place]
            add[item.beside.store].append(item.details[-1])
        if item.action == "add_entry":
            add[item.place.store].append(item.line)
        elif item.line:
            drop[item.place.store].append(item.line)
    for store in dict.fromkeys((*drop, *add)):
        place = NotePlace(store, index)
        after[place] = edited_index(contents.get(place, b""), drop[store], add[store])
    return ordered(
        Write(FileChange(place, _digest(contents.get(place)), _digest(data)), data, requires.get(place, ()))
        for place, data in after.items()
    )


def _required(item: Item, index: str) -> tuple[NotePlace, ...]:
    own = [NotePlace(item.place.store, index)] if item.line else []
    goal = [item.beside, NotePlace(item.beside.store, index)] if item.action == "move" and item.beside else []
    return (*own, *goal)


def ordered(writes: Iterable[Write]) -> list[Write]:
    return sorted((each for each in writes if each.change.before != each.change.after), key=_rank)


def _rank(write: Write) -> tuple[int, NotePlace]:
    if write.change.before == ABSENT:
        return 0, write.change.place
    return (1 if write.change.after != ABSENT else 2), write.change.place


def _digest(data: bytes | None) -> str:
    return ABSENT if data is None else digest_of(data)


def refuse_large(items: Iterable[Item], contents: Mapping[NotePlace, bytes]) -> None:
    """No apply removes more than half of a store unless somebody says so; what is moved is not removed."""
    there = Counter(place.store for place in contents)
    going = Counter(item.place.store for item in items if item.action == "remove" and item.kind != "stranded")
    for store, number in going.items():
        if there[store] >= CAP_FROM and number > CAP_SHARE * there[store]:
            raise Conflict(
                f"this would remove {number:,} of {there[store]:,} files of the memory folder {store}, more than half;"
                " nothing was removed.",
                hint="Look at the plan; if it is right, pass allow_large=true.",
            )


def writes_back_to(changes: Sequence[FileChange], content: Callable[[str], bytes]) -> list[Write]:
    """An undo as writes. A file that moved leaves its new place only once it is at its old one again."""
    come = {each.after: each.place for each in changes if each.before == ABSENT}
    return ordered(
        Write(
            each,
            content(each.after) if each.after != ABSENT else None,
            (come[each.before],) if each.after == ABSENT and each.before in come else (),
        )
        for each in changes
    )


def way_back(receipt: ClientReceipt, current: Mapping[NotePlace, str]) -> tuple[list[FileChange], list[Skipped]]:
    """Return the changes of an undo: files that still are as the receipt left them. Unchanged ones need nothing."""
    back, conflicts = [], []
    for change in receipt.changes:
        now = current.get(change.place, ABSENT)
        if now == change.after:
            back.append(FileChange(change.place, change.after, change.before))
        elif now != change.before:
            conflicts.append(Skipped(change.place, CHANGED_SINCE))
    return back, conflicts
