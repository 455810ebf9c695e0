"""The results of a check of a workspace: findings, and what was done about them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Finding:
    """An invariant that does not hold: how often, and a few of the places."""

    invariant: str
    count: int
    samples: tuple[str, ...] = ()
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class Checkup:
    """The result of a doctor: findings, what kept it from a repair, and what a repair could not save."""

    workspace_id: str
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    stranded: tuple[tuple[str, str], ...] = ()
    """Workspaces whose project is gone, and where it was: nothing is wrong with them, but nobody is led there."""
    remarks: tuple[str, ...] = ()
    """What is no damage, and worth a look."""

    @property
    def left(self) -> tuple[Finding, ...]:
        return tuple(finding for finding in self.findings if not finding.repaired)


@dataclass(frozen=True, slots=True)
class Compaction:
    """Sizes on disk; not finished means that another process still reads what would be given back."""

    bytes_before: int
    bytes_after: int
    finished: bool


@dataclass(frozen=True, slots=True)
class Seal:
    """The description that a backup has of itself."""

    workspace_id: str
    taken_at: datetime
    version: str
    memories: int
    digest: str


@dataclass(frozen=True, slots=True)
class Backup:
    path: str
    size_bytes: int
    seal: Seal


@dataclass(frozen=True, slots=True)
class RestoreRequest:
    """The workspace that is to be made of a copy. What is there is put aside if `replace`, or the copy is refused."""

    workspace_id: str
    replace: bool
    receipt_id: str
    actor: str
    now: datetime


@dataclass(frozen=True, slots=True)
class Restored:
    """A workspace made from a backup, and the receipt of the one that had to make way for it."""

    workspace_id: str
    seal: Seal
    receipt_id: str | None = None
    notes: tuple[str, ...] = ()
