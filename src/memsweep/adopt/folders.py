"""Reads the stores of a client. No link is followed, no pipe waited for, nothing of any size is read."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from memsweep.adopt.clients import ONLY_STORE, AdoptClient
from memsweep.errors import NotFound
from memsweep.model.adopt import ClientFile, ClientProject, ClientStore, NotePlace
from memsweep.regular import NotRegular, read_regular

OURS = ".memsweep-"
"""How the names of our own half-done files begin."""
_MOST_FILE_BYTES = 16 * 1024**2
_MOST_FILES = 10_000
_DEEPEST = 8
_NOT_MIRRORED = {".git"}  # Codex keeps the history of its folder there


def store_names(client: AdoptClient, root: str) -> list[str]:
    """The stores. A missing folder of the client is an error, an empty one is not."""
    if not client.stores:
        return [ONLY_STORE] if os.path.lexists(os.path.join(root, client.memory)) else []
    try:
        with os.scandir(os.path.join(root, client.stores)) as found:
            names = sorted(each.name for each in found if each.is_dir(follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise NotFound(f"the folder {error.filename} cannot be read ({error.strerror}).") from None
    return [name for name in names if os.path.lexists(os.path.join(root, client.store_path(name)))]


def store_folder(client: AdoptClient, root: str, store: str) -> str:
    return os.path.join(root, *client.store_path(store).split("/"))


def read_store(client: AdoptClient, root: str, store: str, project: ClientProject) -> ClientStore:
    """All files of a store, and what was not read of it."""
    folder = store_folder(client, root, store)
    files: list[ClientFile] = []
    unread: list[tuple[str, str]] = []
    if os.path.islink(folder):
        return ClientStore(store, project, unread=(("", "it is a link, and links are not followed"),))
    for name, reason in _names(folder, "", 0):
        if reason:
            unread.append((name, reason))
        elif len(files) == _MOST_FILES:
            unread.append((name, f"only {_MOST_FILES:,} files of a store are read"))
        else:
            try:
                files.append(_file(folder, NotePlace(store, name)))
            except FileNotFoundError:
                continue
            except OSError as error:
                unread.append((name, _why(error)))
    return ClientStore(store, project, tuple(files), tuple(unread))


def _file(folder: str, place: NotePlace) -> ClientFile:
    path = os.path.join(folder, *place.name.split("/"))
    data = read_regular(path, _MOST_FILE_BYTES, follow_symlinks=False)
    return ClientFile(place, data, os.stat(path, follow_symlinks=False).st_mtime)


def _names(folder: str, below: str, depth: int) -> Iterator[tuple[str, str]]:
    """Every name below a folder, with the reason why it is not to be read, if there is one."""
    try:
        with os.scandir(os.path.join(folder, *below.split("/")) if below else folder) as found:
            entries = sorted(found, key=lambda each: each.name)
    except FileNotFoundError:
        return
    except OSError as error:
        yield below, _why(error)
        return
    for each in entries:
        name = f"{below}/{each.name}" if below else each.name
        if each.name.startswith(OURS) or each.name in _NOT_MIRRORED:
            continue
        if each.is_symlink():
            yield name, "it is a link, and links are not followed"
        elif each.is_dir(follow_symlinks=False):
            if depth == _DEEPEST:
                yield name, f"it is more than {_DEEPEST} folders deep"
            else:
                yield from _names(folder, name, depth + 1)
        else:
            yield name, ""


def _why(error: OSError) -> str:
    if isinstance(error, NotRegular):
        return f"it is {error.kind}"
    return (error.strerror or "it cannot be read").lower()


def refuse_links(root: str, place: Path) -> str:
    """Why a file below the root is not to be touched: something on the way to it is no plain folder."""
    way = place.relative_to(root).parts
    for count in range(1, len(way) + 1):
        part = Path(root, *way[:count])
        try:
            mode = part.lstat().st_mode
        except FileNotFoundError:
            return ""
        except OSError as error:
            return _why(error)
        is_last = count == len(way)
        if not (stat.S_ISREG(mode) if is_last else stat.S_ISDIR(mode)):
            return f"{part.name} is a link or no regular file" if is_last else f"{part.name} is a link or no folder"
    return ""
