"""Statements of links between memories and those that took their place. Pure text; values are always bound."""

from __future__ import annotations

ANY_LINKS = "select exists (select 1 from supersession)"
OLDER = """
    select memory.uid, at from supersession join memory on memory.id = old and trash is null
    where new = ? order by old desc"""
NEWER = """
    select memory.uid, at from supersession join memory on memory.id = new and trash is null
    where old = ? order by new"""
# Of live memories alone.
LINKS = """
    select old, new, at from supersession join memory as older on older.id = old and older.trash is null
    join memory as newer on newer.id = new and newer.trash is null order by old, new"""
NOT_SUPERSEDED = """not exists (
    select 1 from supersession join memory as newer on newer.id = supersession.new and newer.trash is null
    where supersession.old = memory.id)"""


def superseded_chunks(up_to_a_moment: bool) -> str:
    """The chunks of what a live memory supersedes, or did so at a moment."""
    return f"""
        select chunk.id from supersession cross join memory as newer on newer.id = new and newer.trash is null
        cross join chunk on chunk.memory = old{" where at <= ?" if up_to_a_moment else ""}"""
