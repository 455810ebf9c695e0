"""Files that a person names: only regular ones are opened, and never more is read than there was at first."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from memsweep.errors import BadInput, NotFound, StoreFull
from memsweep.regular import NotRegular, open_regular
from memsweep.store.drafts import plain_refusals

_PIECE_BYTES = 1 << 20


class Regular:
    """A regular file that is open for reading, of the size that it had when it was opened."""

    def __init__(self, path: Path, file: BinaryIO, size: int) -> None:
        self.path, self.size = path, size
        self._file, self._at = file, 0

    def read(self, most_bytes: int = _PIECE_BYTES) -> bytes:
        """The next bytes; empty at the end, wherever the file ends by now."""
        with plain_refusals(self.path):
            piece = self._file.read(min(most_bytes, self.size - self._at))
        self._at += len(piece)
        return piece

    def skip_hole(self) -> int:
        """Go to where the next bytes are that take place on the disk; how far from the beginning."""
        try:
            self._at = min(os.lseek(self._file.fileno(), self._at, os.SEEK_DATA), self.size)
        except AttributeError:
            return self._at  # not on this system
        except OSError as error:
            if error.errno == errno.ENXIO:  # only a hole is left
                self._at = self._file.seek(self.size)
        return self._at


@contextmanager
def opened(path: Path, most_bytes: int) -> Iterator[Regular]:
    """A regular file of at most so many bytes, or a link to one. It is looked at before it is opened, and after."""
    with _open(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise BadInput(f"{path} has {size:,} bytes; at most {most_bytes:,} are accepted.")
        yield Regular(path, file, size)


def _open(path: Path) -> BinaryIO:
    try:
        return open(open_regular(path), "rb", buffering=0)  # the caller closes it
    except (FileNotFoundError, NotADirectoryError):
        raise NotFound(f"there is no file {path}.") from None
    except NotRegular as error:
        raise BadInput(
            f"{path} is {error.kind}, not a regular file; nothing was changed.", hint="Name a file."
        ) from None
    except (OSError, UnicodeEncodeError) as error:
        with plain_refusals(path):
            raise error


def copy_rest(file: Regular, target: Path, named: Path, head: bytes = b"") -> None:
    """Write what was read already, and what follows, into a file that is there; errors speak of `named`.

    Holes stay holes: a small file that claims to be large does not fill the disk.
    """
    with plain_refusals(named):
        copy = target.open("wb")
    with copy:
        piece = head
        while piece:
            with plain_refusals(named):
                copy.write(piece)
                copy.seek(file.skip_hole())
            piece = file.read()
        with plain_refusals(named):
            copy.truncate()


def require_space(folder: Path, wanted_bytes: int, what: Path) -> None:
    with plain_refusals(folder):
        free = shutil.disk_usage(folder).free
    if free < wanted_bytes:
        raise StoreFull(
            f"{what} needs {wanted_bytes:,} bytes in {folder}, where {free:,} are free; nothing was changed.",
            hint="Free some space.",
        )


def read_text(path: Path, most_bytes: int, *, may_be_cut: bool = False) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    with opened(path, most_bytes) as file:
        pieces = iter(file.read, b"")
        return decoded(b"".join(pieces), str(path), may_be_cut=may_be_cut)


def decoded(raw: bytes, named: str, *, may_be_cut: bool = False) -> str:
    """The text; one that may be cut short may end in the middle of a character, which is left out."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if may_be_cut and error.reason == "unexpected end of data":
            return raw[: error.start].decode("utf-8-sig")
        raise BadInput(f"{named} is not text in UTF-8 ({error.reason} at byte {error.start:,}).") from None
