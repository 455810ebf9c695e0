"""Links between segments: strong ones are followed, weak ones only raise a score."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memsweep.model.segment import ContextSegment


@dataclass(frozen=True, slots=True)
class References:
    """Strong references both ways, between segments that exist."""

    forward: dict[str, tuple[str, ...]]
    back: dict[str, tuple[str, ...]]


def read_references(segments: Sequence[ContextSegment]) -> References:
    """The references the segments carry; an id that is not among them is not a link."""
    known = {segment.segment_id for segment in segments}
    forward: dict[str, tuple[str, ...]] = {}
    back: dict[str, list[str]] = {}
    for segment in segments:
        if not segment.references:
            continue
        own = segment.segment_id
        targets = [target for target in dict.fromkeys(segment.references) if target in known and target != own]
        if targets:
            forward[own] = tuple(targets)
        for target in targets:
            back.setdefault(target, []).append(own)
    return References(forward, {target: tuple(sources) for target, sources in back.items()})


class WeakLinks:
    """The number of segments that share a topic, a tag or a file: group sizes, never pairs, so it stays linear."""

    def __init__(self, segments: Iterable[ContextSegment] = ()) -> None:
        self._sizes: dict[tuple[str, str], int] = {}
        for segment in segments:
            self.add(segment)

    def add(self, segment: ContextSegment) -> None:
        for key in weak_keys(segment):
            self._sizes[key] = self._sizes.get(key, 0) + 1

    def discard(self, segment: ContextSegment) -> None:
        for key in weak_keys(segment):
            self._sizes[key] -= 1

    def count(self, segment: ContextSegment) -> int:
        """Return how many other segments this one shares something with, once for each thing shared."""
        return sum(self._sizes[key] - 1 for key in weak_keys(segment))


def weak_keys(segment: ContextSegment) -> list[tuple[str, str]]:
    """The things a segment can share with others."""
    keys = [("tag", tag) for tag in dict.fromkeys(segment.tags)] if segment.tags else []
    if segment.topic_id is not None:
        keys.append(("topic", segment.topic_id))
    if segment.file_path is not None:
        keys.append(("file", segment.file_path))
    return keys
