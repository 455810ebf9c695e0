"""Limit the requests of a token: a bucket that fills steadily. Pure, but for who keeps the buckets."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rate:
    per_second: float
    burst: float


@dataclass(frozen=True, slots=True)
class Bucket:
    """The requests that were left at a moment."""

    left: float
    at: float


def take(bucket: Bucket | None, rate: Rate, now: float) -> tuple[Bucket, float]:
    """The bucket after a request, and how many seconds that has to wait; 0: it may come in.

    `now` never goes back. A request that has to wait takes nothing, so that waiting helps.
    """
    if bucket is None:
        bucket = Bucket(rate.burst, now)
    left = min(rate.burst, bucket.left + (now - bucket.at) * rate.per_second)
    if left < 1:
        return Bucket(left, now), (1 - left) / rate.per_second
    return Bucket(left - 1, now), 0.0


class Buckets:
    """One for each token."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._kept: dict[str, Bucket] = {}

    def seconds_to_wait(self, digest: str, now: float) -> float:
        self._kept[digest], seconds = take(self._kept.get(digest), self._rate, now)
        return seconds
