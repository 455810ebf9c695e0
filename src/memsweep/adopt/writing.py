"""Changes files that somebody else may be writing at the same moment: nothing of theirs is lost.

A file is taken aside before it is removed, and exchanged for its successor, so that what was really there can be
looked at. If it is not what was expected it goes back, and the change is not made. A process that dies in between
leaves a file beside, whose name begins with `.memsweep-`; the next run puts it back.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from memsweep.adopt.folders import OURS, refuse_links
from memsweep.adopt.notes import edited_index
from memsweep.errors import Conflict
from memsweep.model.adopt import ABSENT, ClientReceipt, FileChange, Item, NotePlace, Skipped, digest_of
from memsweep.regular import WRITING, read_regular
from memsweep.store.drafts import sync

_ASIDE, _DRAFT = ".aside", ".draft"
_MOST_BYTES = 256 * 1024**2
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_ATTEMPTS = 5

Caught = Callable[[Path, bytes], None]
"""Gets a content of somebody else that is not at its place any more."""


class WriteRefused(Exception):
    """The change was not made; says why."""


def change_file(
    root: str, file: Path, expected: str, data: bytes | None, changed_at: float | None, caught: Caught
) -> None:
    """Make a file from what is expected there into something else; None: it goes."""
    if reason := refuse_links(root, file):
        raise WriteRefused(reason)
    try:
        if data is None:
            _remove(file, expected, caught)
            return
        draft = _beside(file, _DRAFT)
        if expected == ABSENT:
            _make_folders(root, file.parent)
        try:
            _write_draft(draft, data, file if expected != ABSENT else None, changed_at)
            if expected == ABSENT:
                _give(draft, file)
            else:
                _exchange(draft, file, expected, data, caught)
        finally:
            _unlink(draft)
        _sync_folder(file.parent)
    except OSError as error:
        raise WriteRefused((error.strerror or "it cannot be written").lower()) from None


def put_back(folder: Path, names: Iterable[str], caught: Caught) -> None:
    """Clean up what a process left that died in the middle: nothing that was in a file is lost."""
    with contextlib.suppress(OSError):
        known = {_beside(folder / name, _ASIDE).name: folder / name for name in names}
        for file in sorted(folder.glob(f"{OURS}*")):
            is_draft = file.name.endswith(_DRAFT)
            place = known.get(file.name.removesuffix(_DRAFT).removesuffix(_ASIDE) + _ASIDE)
            if file.is_symlink() or (place is None and not is_draft):
                continue
            if place is not None:  # a draft of a file that never was is nobody's
                caught(place, read_regular(file, _MOST_BYTES, follow_symlinks=False))
            if place is not None and not is_draft:
                with contextlib.suppress(FileExistsError):
                    _give(file, place)
            _unlink(file)


def _beside(file: Path, ending: str) -> Path:
    """A name of ours in the same folder; short, since the other one may be as long as names can be."""
    return file.with_name(f"{OURS}{digest_of(os.fsencode(file.name))[:16]}{ending}")


def _remove(file: Path, expected: str, caught: Caught) -> None:
    aside = _beside(file, _ASIDE)
    os.rename(file, aside)
    try:
        data = read_regular(aside, _MOST_BYTES, follow_symlinks=False)
    except OSError:  # a link or a folder has come into its place
        if not os.path.lexists(file):
            os.rename(aside, file)
        raise
    if digest_of(data) == expected:
        aside.unlink()
        _sync_folder(file.parent)
        return
    try:
        _give(aside, file)
    except FileExistsError:
        caught(file, data)
    _unlink(aside)
    raise WriteRefused(CHANGED_SINCE)


def _write_draft(draft: Path, data: bytes, like: Path | None, changed_at: float | None) -> None:
    mode = (like.lstat().st_mode & 0o777) if like else 0o600
    handle = os.open(draft, WRITING | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(handle)
    if changed_at is not None:
        os.utime(draft, (changed_at, changed_at))


def _give(draft: Path, file: Path) -> None:
    """A name that nothing has; never the place of a file that has come meanwhile."""
    try:
        os.link(draft, file)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if os.path.lexists(file):
            raise FileExistsError(errno.EEXIST, "a file of that name has appeared meanwhile", str(file)) from None
        os.rename(draft, file)


def _exchange(draft: Path, file: Path, expected: str, data: bytes, caught: Caught) -> None:
    """The draft takes the place of the file, if the file is what is expected there."""
    if digest_of(read_regular(file, _MOST_BYTES, follow_symlinks=False)) != expected:
        raise WriteRefused(CHANGED_SINCE)
    if not _swapped(draft, file):
        os.replace(draft, file)  # here somebody who writes between the look and this line loses
        return
    taken = read_regular(draft, _MOST_BYTES, follow_symlinks=False)
    if digest_of(taken) == expected:
        return
    for _ in range(_ATTEMPTS):  # somebody was faster: theirs goes back, and of two of theirs the newer one stays
        caught(file, taken)
        if not _swapped(draft, file):
            break
        taken = read_regular(draft, _MOST_BYTES, follow_symlinks=False)
        if taken == data:
            break
    raise WriteRefused(CHANGED_SINCE)


def _swapped(one: Path, other: Path) -> bool:
    """Exchange two files in one step; False where the system cannot."""
    rename = _renameat2()
    if rename is None:
        return False
    done = rename(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    if done == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), str(other))


@cache
def _renameat2() -> Callable[..., int] | None:
    if sys.platform != "linux":
        return None
    try:
        found = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):
        return None
    found.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    found.restype = ctypes.c_int
    return found


def _make_folders(root: str, folder: Path) -> None:
    for part in reversed([folder, *folder.parents]):
        if part.is_relative_to(root) and not part.exists():
            part.mkdir(mode=0o700, exist_ok=True)


def _unlink(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()


def _sync_folder(folder: Path) -> None:
    with contextlib.suppress(OSError):
        sync(folder)


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
