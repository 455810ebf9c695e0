"""Segments for a window, and what is in it."""

from typing import Any

from memsweep.context.service import ContextWindow
from tests.support import store_files


def some(segment_id: str, text: str = "some words", **more: Any) -> dict[str, Any]:
    return {"segment_id": segment_id, "text": text, **more}


def active(window: ContextWindow) -> list[str]:
    return [segment.segment_id for segment in window.segments()]


def stashed(window: ContextWindow) -> list[str]:
    here = set(active(window))
    return [segment.segment_id for segment in window.segments(stashed=True) if segment.segment_id not in here]


def problems(home: Any) -> list[str]:
    """Everything in the workspace file that contradicts itself, segments included."""
    file = store_files.file_of(home)
    found = store_files.problems(file)
    for name, statement in _EMPTY.items():
        found += [f"{name}: {row}" for row in store_files.query(file, statement)]
    with store_files.open_file(file) as db:
        db.execute("insert into segment_fts (segment_fts, rank) values ('integrity-check', 1)")
    return found


_EMPTY = {
    "counts that disagree": """
        select uid from project where (tokens, segments, stashed) <> (
            select coalesce(sum(case when stash is null then segment.tokens end), 0),
                   count(case when stash is null then 1 end), count(stash)
            from segment where segment.project = project.id and trash is null)""",
    "two in one place": "select project, place from segment group by project, place having count(*) > 1",
    "segment without window": "select uid from segment where project not in (select id from project)",
    "link without source": "select source from segment_link where source not in (select id from segment)",
    "words of what is not live": """
        select id from segment_fts_docsize where id not in (select id from segment where trash is null)""",
    "live without words": """
        select id from segment where trash is null and id not in (select id from segment_fts_docsize)""",
}
