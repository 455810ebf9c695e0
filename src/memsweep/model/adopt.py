"""The memory that a client keeps in files of its own, as values: stores, plans, changes, receipts. Pure."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, NamedTuple

CLIENT_RECEIPT = "clrcpt"
ABSENT = ""
"""The digest of a file that is not there."""
FindingKind = Literal[
    "duplicate", "missing_paths", "dead_entry", "unlisted", "stranded", "long_index", "contradiction", "left_alone"
]
Action = Literal["remove", "drop_entry", "add_entry", "move"]


class NotePlace(NamedTuple):
    """A file of a client: the store that it is in, and its path below that, with slashes."""

    store: str
    name: str


class ClientFile(NamedTuple):
    place: NotePlace
    data: bytes
    changed_at: float
    """Seconds since 1970, as the disk says."""


class ClientProject(NamedTuple):
    """The folder that a store belongs to, as far as that is known."""

    folder: str = ""
    """Empty where nobody knows."""
    is_gone: bool = False
    repository: str = ""
    """The main work tree of the git repository that the folder is, or was, a work tree of."""


@dataclass(frozen=True, slots=True)
class ClientStore:
    """One memory folder of a client, as it was read."""

    name: str
    project: ClientProject
    files: tuple[ClientFile, ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    """What is there and was not read, and why: links, pipes, files that are too large. "" is the folder itself."""


class Need(NamedTuple):
    """A condition of a change: the file must still have this content."""

    place: NotePlace
    digest: str


@dataclass(frozen=True, slots=True)
class Item:
    """One thing that an apply would do. `beside`: the file that stays instead, or where this one goes."""

    kind: FindingKind
    action: Action
    place: NotePlace
    beside: NotePlace | None = None
    line: str = ""
    """The line of the index that goes, or the one that is added."""
    details: tuple[str, ...] = ()
    needs: tuple[Need, ...] = ()


@dataclass(frozen=True, slots=True)
class NoteFinding:
    """Something to look at, which no apply touches."""

    kind: FindingKind
    place: NotePlace
    beside: NotePlace | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ClientPlan:
    id: str
    client: str
    made_at: datetime
    expires_at: datetime
    items: tuple[Item, ...]
    findings: tuple[NoteFinding, ...] = ()


class FileChange(NamedTuple):
    """A file before and after, by digests."""

    place: NotePlace
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class ClientReceipt:
    """The receipt of a change, written before anything is; each file says itself whether it was changed."""

    id: str
    client: str
    at: datetime
    action: str
    changes: tuple[FileChange, ...]
    undone_at: datetime | None = None


class LostFile(NamedTuple):
    """A file that somebody else deleted, of which the mirror has the bytes."""

    place: NotePlace
    digest: str
    size: int
    lost_at: datetime


class FileVersion(NamedTuple):
    """A version of a file from some time on; ABSENT if it was gone."""

    at: datetime
    digest: str
    size: int
    changed_at: float
    """As the disk said, in seconds since 1970."""
    receipt: str = ""
    """The receipt of ours that made it so; empty where somebody else did."""


@dataclass(frozen=True, slots=True)
class ClientLook:
    """A client's memory: its stores, the files that others deleted, and what could be done."""

    client: str
    root: str
    stores: tuple[ClientStore, ...]
    lost: tuple[LostFile, ...]
    plan: ClientPlan
    files: int
    mirrored: int
    """How many versions are new in the mirror."""


class Skipped(NamedTuple):
    place: NotePlace
    reason: str


@dataclass(frozen=True, slots=True)
class Applied:
    """`receipt_id` is empty where nothing was changed."""

    receipt_id: str
    changes: tuple[FileChange, ...]
    skipped: tuple[Skipped, ...]


class MirrorPurged(NamedTuple):
    versions: int
    receipts: int
    bytes_freed: int


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
