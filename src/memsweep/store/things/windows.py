"""Context windows and their segments: declared for every engine. Pure."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, get_args

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import declare
from memsweep.model.segment import Generation, Role, SegmentType

_CLOCK = c.COUNT.but(as_row=lambda value: 0 if value is None else value)
"""Nodes from before it was kept for all windows lack it."""


class WindowHead(NamedTuple):
    id: Annotated[str, c.uid("lost-{}")]
    created_at: Annotated[int, c.MOMENT]
    config: Annotated[Mapping[str, Any], c.OBJECT.but(in_words=True)]
    focus: Annotated[Mapping[str, Any], c.OBJECT.but(in_words=True)]
    tokens: Annotated[int, c.COUNT] = 0
    segments: Annotated[int, c.COUNT] = 0
    stashed: Annotated[int, c.COUNT] = 0
    changes: Annotated[int, c.COUNT] = 0
    full_from: Annotated[int, c.COUNT] = 0
    places: Annotated[int, c.COUNT] = 0
    turns: Annotated[int, c.COUNT] = 0
    counted_by: Annotated[str, c.TEXT.but(default="")] = ""
    # no active segment of the generation has a turn before this one
    next_young: Annotated[int, _CLOCK] = 0
    next_old: Annotated[int, _CLOCK] = 0
    key: Annotated[int, c.KEY] = 0


class SegmentRow(NamedTuple):
    project: Annotated[int, c.LINK.but(remedy=f.to(0), found_by="project")]
    # what lost its place comes behind all others
    place: Annotated[int, c.NUMBER.but(remedy=lambda damaged, row: 1_000_000_000 + row["rowid"], named="place_ref")]
    turn: Annotated[int, c.NUMBER.but(named="turn_ref")]
    id: Annotated[str, c.uid("lost-{}").but(unique=False, named="id_ref")]
    type: Annotated[SegmentType, c.choice(*get_args(SegmentType)).but(remedy=f.to("note"))]
    created_at: Annotated[int, c.MOMENT.but(remedy=f.like("last_touched_at"))]
    last_touched_at: Annotated[int, c.MOMENT.but(remedy=f.like("created_at"))]
    pinned: Annotated[bool, c.KEPT.but(default=None)]
    generation: Annotated[Generation, c.choice(*get_args(Generation)).but(remedy=f.to("old"))]
    gc_survival_count: Annotated[int, c.NUMBER]
    refcount: Annotated[int, c.NUMBER]
    file_path: Annotated[str | None, c.MAYBE_TEXT.but(in_words=True, found_by="file_path")]
    first_line: Annotated[int | None, c.MAYBE_NUMBER]
    last_line: Annotated[int | None, c.MAYBE_NUMBER]
    tags: Annotated[tuple[str, ...], c.WORDS.but(in_words=True)]
    topic_id: Annotated[str | None, c.MAYBE_TEXT.but(in_words=True)]
    tokens: Annotated[int, c.NUMBER]
    role: Annotated[Role | None, c.MAYBE_TEXT.but(fits=f.or_null(f.one_of(*get_args(Role))), remedy=f.to(None))]
    task_id: Annotated[str | None, c.MAYBE_TEXT.but(in_words=True)]
    refs: Annotated[tuple[str, ...], c.WORDS]
    version: Annotated[int, c.VERSION] = 1
    stash: Annotated[int | None, c.TRASH.but(found_by="stash")] = None
    trash: Annotated[int | None, c.TRASH] = None
    text: Annotated[str, c.TEXT.but(in_words=True)] = ""
    origin: Annotated[int | None, c.MAYBE_LINK] = None
    key: Annotated[int, c.KEY] = 0


class SegmentLink(NamedTuple):
    """A segment refers to an id of its window."""

    project: Annotated[int, c.LINK.but(beside=True)]
    target: Annotated[str, c.TEXT.but(remedy=f.drop, named="target", beside=True)]
    source: Annotated[int, c.LINK.but(found_by="source", refers="segment", to_node=str, from_node=int, as_property=str)]


def _is_range(row: f.Row) -> bool:
    first, last = row["first_line"], row["last_line"]
    return first is last is None or (first is not None and last is not None and first <= last)


PROJECT = declare(WindowHead, "project", "Project")
SEGMENT = declare(
    SegmentRow, "segment", "Segment", bins=True, together=(f.Together(("first_line", "last_line"), _is_range),)
)
SEGMENT_LINK = declare(SegmentLink, "segment_link", "SegmentLink", known_by=("target", "source"))
