"""Segments on their way into a window: no secret is stored that the settings do not let in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memsweep.model.gate import Gate
from memsweep.model.segment import ContextSegment
from memsweep.model.tokens import CountTokens


class SegmentGate:
    """The gate of one call, which knows what it met in which segment."""

    def __init__(self, action: str, count: CountTokens) -> None:
        self._action, self._count = action, count
        self._met: dict[str, Gate] = {}

    def passed(self, segment: ContextSegment) -> ContextSegment:
        """The segment as it may be stored; what is shorter by then counts less."""
        gate = self._met[segment.segment_id] = Gate(self._action)
        for own in (segment.segment_id, *segment.references):
            gate.own_id(own, "the id of a segment")
        what = f"segment {segment.segment_id!r:.60}"
        text = gate.text(segment.text, what)
        return replace(
            segment,
            text=text,
            tokens=segment.tokens if text == segment.text else self._count(text),
            tags=gate.texts(segment.tags, what),
            file_path=gate.optional(segment.file_path, what),
            topic_id=gate.optional(segment.topic_id, what),
            task_id=gate.optional(segment.task_id, what),
        )

    def notes(self, stored: Iterable[ContextSegment]) -> tuple[str, ...]:
        """What to say of the secrets in these; one that was known before was not stored again."""
        together = Gate(self._action)
        for segment in stored:
            together.met(self._met[segment.segment_id])
        return together.notes


def passed_focus(focus: Mapping[str, Any], action: str) -> dict[str, Any]:
    """What is said of the task and the files, as it may be stored."""
    passed: dict[str, Any] = Gate(action).json(focus, "the task or a file")
    return passed


def check_own_id(project_id: str, action: str) -> None:
    """Refuse a window whose name is a secret."""
    Gate(action).own_id(project_id, "project_id")
