"""Context windows, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.segment import ContextSegment, Generation
from memsweep.model.window import Held, WindowRow, WindowState
from memsweep.store.ports.items import ItemRows
from memsweep.store.receipts import Plans

OriginOf = Callable[[ContextSegment], Origin]


class Segments(Protocol):
    """The context windows of a workspace. An open window is one transaction: all of it or nothing."""

    def windows(self) -> list[WindowRow]:
        """Those with segments, in the window or in the stash, by name."""

    def reading(self, project_id: str) -> AbstractContextManager[OpenWindow]:
        """A window as it is at one moment, or `NotFound`."""

    def writing(
        self, project_id: str, *, create_at: datetime | None = None, origin: Origin = UNKNOWN
    ) -> AbstractContextManager[OpenWindow]:
        """A window to change, or `NotFound` unless it may be made; what is added to it comes from `origin`."""


class OpenWindow(Protocol):
    """One context window inside a transaction. Lists are in session order; the state is saved at the end."""

    @property
    def project_id(self) -> str: ...

    @property
    def state(self) -> WindowState: ...

    @property
    def items(self) -> ItemRows: ...

    @property
    def plans(self) -> Plans: ...

    def active(self) -> list[Held]: ...

    def live(self) -> list[Held]:
        """Active and stashed."""

    def find(self, segment_ids: Iterable[str]) -> dict[str, Held]:
        """Those of these that are active or stashed."""

    def origins(self, segment_ids: Iterable[str]) -> dict[str, Origin]:
        """Where those of these that are active or stashed came from."""

    def ever_known(self, segment_ids: Iterable[str]) -> set[str]:
        """Those of these that are active, stashed or in the trash."""

    def tombstoned(self, texts: Sequence[str]) -> set[str]:
        """Those of these texts that were forgotten for good and may not be learned again."""

    def next_to_examine(self, count: int, generation: Generation) -> list[Held]:
        """Active segments of a generation in turn, so that small steps come round to everything."""

    def of_files(self, paths: Iterable[str]) -> list[Held]:
        """Active segments that hold these files or parts of them."""

    def last_messages(self, count: int) -> set[str]: ...

    def referenced(self, segment_ids: Iterable[str]) -> set[str]:
        """Those of these that another active segment refers to."""

    def matches(self, query: str, count: int) -> dict[int, float]:
        """The places of the stashed segments that match best, with their scores."""

    def stashed_at(self, places: Iterable[int]) -> dict[int, Held]: ...

    def stashed(self, before: int | None, limit: int) -> list[Held]:
        """The stash, from the last place (or from that before one) to the first."""

    def add(self, segments: Iterable[ContextSegment], origin_of: OriginOf | None = None) -> None:
        """Each with the origin of the window, or its own."""

    def age(self, survivors: Iterable[tuple[int, ContextSegment]]) -> None:
        """Generation and survival count, by key."""

    def pin(self, held: Iterable[Held], pinned: bool) -> None: ...

    def stash(self, held: Sequence[Held], receipt: int) -> None: ...

    def restore(self, held: Sequence[Held]) -> None: ...

    def trash(self, held: Sequence[Held], receipt: int) -> None: ...

    def add_receipt(self, receipt_id: str, plan_id: str | None, action: str, actor: str, now: datetime) -> int: ...

    def fill_receipt(self, receipt: int, stashed: int, deleted: int, refused: Iterable[tuple[str, str]]) -> None: ...

    def audit(
        self, action: str, subject: str, counts: dict[str, int], reason: str, actor: str, now: datetime
    ) -> None: ...
