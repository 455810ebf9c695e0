"""Files that come into being whole or not at all: written beside their place, synced, then given their name."""

from __future__ import annotations

import contextlib
import errno
import glob
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memsweep.errors import AlreadyExists, BadInput, StoreError, StoreFull, StoreReadOnly

_LONGEST_STEM = 40
_SIDE_FILES = ("", "-journal", "-wal", "-shm")
_NO_SPACE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_OWNER = re.compile(r"\.(\d{1,9})\.[0-9a-f]{8}\.draft$")
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK, errno.EACCES}


@contextmanager
def draft_of(target: Path, *, replace: bool = False, stem: str = "") -> Iterator[Path]:
    """An empty file that only its owner can read; it becomes `target` if nothing goes wrong.

    What killed processes left of earlier drafts is swept away.
    """
    if not replace and os.path.lexists(target):
        raise taken(target)
    folder, stem = target.parent, (stem or target.name)[:_LONGEST_STEM]
    draft = folder / f".{stem}.{os.getpid()}.{os.urandom(4).hex()}.draft"
    with plain_refusals(target):
        sweep(folder, stem)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        yield draft
        with plain_refusals(target):
            sync(draft)
            _give_name(draft, target, replace)
        _keep_name(target, replace)
    finally:
        remove(draft)


def _keep_name(target: Path, replace: bool) -> None:
    """Sync the name that a draft was given. Where that is refused, a new file is taken away again."""
    try:
        sync(target.parent)
    except OSError as error:
        if not replace and _is_removed(target):
            with plain_refusals(target):
                raise
        raise StoreError(
            f"{target} was written, but its folder cannot be synced ({error.strerror}); a power cut may undo it.",
            hint="Check the disk, then write it again.",
        ) from None


def _is_removed(file: Path) -> bool:
    try:
        file.unlink()
    except OSError:
        return False
    return True


@contextmanager
def scratch(folder: Path, stem: str) -> Iterator[Path]:
    """An empty file that only its owner can read, and that is gone afterwards; after a kill, with the next draft."""
    file = folder / f".{stem[:_LONGEST_STEM]}.{os.getpid()}.{os.urandom(4).hex()}.draft"
    with plain_refusals(file):
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        yield file
    finally:
        remove(file)


@contextmanager
def plain_refusals(target: Path) -> Iterator[None]:
    """Say in our words what the file system refuses."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError):
        raise BadInput(f"the folder {target.parent} does not exist.", hint="Make it first.") from None
    except UnicodeEncodeError:
        raise BadInput(f"{str(target)!a:.120} is not a valid file name.") from None
    except IsADirectoryError:
        raise BadInput(f"{target} is a folder.", hint="Name a file.") from None
    except PermissionError as error:
        raise StoreReadOnly(f"{target} cannot be used ({error.strerror}).", hint="Check the permissions.") from None
    except OSError as error:
        if error.errno in _NO_SPACE:
            raise StoreFull(f"no space left for {target}; nothing was changed.", hint="Free some space.") from None
        raise StoreError(f"{target} cannot be used ({error.strerror}); nothing was changed.") from None


def remove(file: Path) -> None:
    """A file with what SQLite may have put beside it."""
    for end in _SIDE_FILES:
        with contextlib.suppress(OSError):
            file.with_name(file.name + end).unlink()


def taken(target: Path) -> AlreadyExists:
    return AlreadyExists(f"{target} exists already; it was left as it is.", hint="Choose another name, or use --force.")


def _give_name(draft: Path, target: Path, replace: bool) -> None:
    if replace:
        draft.replace(target)
        return
    try:
        os.link(draft, target)  # unlike a rename, it never takes the place of a file that has come meanwhile
    except FileExistsError:
        raise taken(target) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        draft.replace(target)


def sync(path: Path) -> None:
    """Onto the disk, so that a power cut after this leaves it there."""
    if path.is_dir() and os.name != "posix":
        return
    file = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(file)
    finally:
        os.close(file)


def sweep(folder: Path, stem: str) -> None:
    """Remove the drafts of processes that are no more."""
    for draft in folder.glob(f".{glob.escape(stem)}.*.draft"):
        owner = _OWNER.search(draft.name)
        if owner and not _is_running(int(owner[1])):
            remove(draft)


def _is_running(pid: int) -> bool:
    if os.name != "posix":
        return True  # there, asking would end it
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
