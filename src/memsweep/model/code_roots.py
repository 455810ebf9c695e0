"""The folders that were indexed, as a whole. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from memsweep.model.audit import AuditEvent
from memsweep.model.counts import ranked
from memsweep.model.times import moment_or_none


@dataclass(frozen=True, slots=True)
class ScopeRuns:
    """The runs of one set of filters over a folder, as JSON; when the last one ended."""

    filters: str
    runs: int
    verified_at: datetime | None


@dataclass(frozen=True, slots=True)
class CodeRoot:
    """An indexed folder: its files by language, how many of them are stale, and how fresh that is."""

    path: str
    languages: Mapping[str, int]
    files: int
    lines: int
    stale_files: int
    scopes: tuple[ScopeRuns, ...]

    @property
    def verified_at(self) -> datetime | None:
        """When a run last compared it with the disk."""
        return max((each.verified_at for each in self.scopes if each.verified_at), default=None)


def code_roots(
    paths: Iterable[str],
    files: Iterable[tuple[str, str, bool, int, int]],
    scopes: Iterable[tuple[str, str, int, int | None]],
) -> tuple[CodeRoot, ...]:
    """From rows: files counted by root, language and staleness, with their lines; runs by root and filters."""
    counted, ran = list(files), sorted(scopes, key=lambda run: (-(run[3] or 0), run[1]))

    def root(path: str) -> CodeRoot:
        own = [each for each in counted if each[0] == path]
        live = [each for each in own if not each[2]]
        runs = tuple(
            ScopeRuns(filters, times, moment_or_none(at)) for place, filters, times, at in ran if place == path
        )
        languages = ranked((language, count) for _, language, _, count, _ in live)
        lines, stale = sum(each[4] for each in live), sum(each[3] for each in own if each[2])
        return CodeRoot(path, languages, sum(languages.values()), lines, stale, runs)

    return tuple(map(root, paths))


@dataclass(frozen=True, slots=True)
class CodeOverview:
    """The indexed folders, and the last runs that changed anything, the newest first."""

    roots: tuple[CodeRoot, ...] = ()
    runs: tuple[AuditEvent, ...] = ()
