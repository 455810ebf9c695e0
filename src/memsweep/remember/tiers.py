"""How far what was found is trusted: a little in the ranking, so that of two equal hits the better vouched one leads.

The weights are close to each other on purpose: an import that answers the question is still found before a person's
remark that does not. Among memories of one origin nothing changes. Pure.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from memsweep.model.search import Owner
from memsweep.remember.fusion import Row

WEIGHTS = {"person": 1.0, "agent": 0.98, "tool": 0.96}
OTHERS = 0.95
"""What an import or the web brought, and what nobody knows the origin of."""


_ROUNDED = 0.002  # more than what equal scores may differ by, where digits behind them do not count


def leading(rows: Sequence[Row], first: int) -> int:
    """How many rows of a ranking have to be weighed to know which are the first few, and in which order."""
    if len(rows) <= first:
        return len(rows)
    enough = OTHERS * rows[first - 1][0] + _ROUNDED  # scores are negative, the best first
    return bisect_right(rows, enough, key=lambda row: row[0])


def by_tier(rows: Sequence[Row], owners: Mapping[int, Owner]) -> list[Row]:
    """The ranking, with every score weighed by where its memory came from."""
    return sorted((row[0] * _weight(owners.get(row[1])), *row[1:]) for row in rows)


def _weight(owner: Owner | None) -> float:
    return OTHERS if owner is None else WEIGHTS.get(owner.tier, OTHERS)
