"""A plan as people look at it: what goes together is one group, and code is sorted by its folders."""

from __future__ import annotations

from dataclasses import dataclass

from memsweep.model.plan import PlanView, Totals


@dataclass(frozen=True, slots=True)
class PlanGroup:
    """An item that a rule named, and what goes only because it does."""

    root: PlanView
    followers: int = 0
    first: tuple[PlanView, ...] = ()
    """Some of these followers."""
    folder: str | None = None
    """Of an indexed file, below its root folder; empty for that folder itself."""


@dataclass(frozen=True, slots=True)
class Folder:
    """The groups of one folder, on all pages."""

    root: str
    path: str
    files: int
    chunks: int
    followers: int


@dataclass(frozen=True, slots=True)
class PlanGroups:
    """A page of groups: first the files by folder and name, then all else in the order of the plan."""

    groups: tuple[PlanGroup, ...]
    total: int
    folders: tuple[Folder, ...] = ()
    """All folders of the plan, in the order of the groups."""


@dataclass(frozen=True, slots=True)
class Preview:
    """The result that a collection by one strategy would have now; nothing is saved."""

    strategy: str
    totals: Totals
    """Of what a plan would name; chunks and facts that go along are not counted."""
    item_count: int = 0
    protected: int = 0
    groups: tuple[PlanGroup, ...] = ()
    """The first ones, in the order of a plan."""
    warnings: tuple[str, ...] = ()
    share: float = 0.0
    workspace_memories: int = 0
    problem: str = ""
    """Why nothing can be planned."""


@dataclass(frozen=True, slots=True)
class PlanDifference:
    """The items of a later plan that an earlier one did not name, and the other way round."""

    added: tuple[PlanView, ...]
    gone: tuple[PlanView, ...]
    added_count: int
    gone_count: int
    same_count: int
