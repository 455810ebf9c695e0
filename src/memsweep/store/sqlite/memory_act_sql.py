"""Statements of the acts of memories. Pure text; values are always bound, sets of keys JSON lists."""

from __future__ import annotations

# Either end may be in the trash by now, and the mention is there with it.
_ADD_MENTION = """
    insert into mention (chunk, entity, origin, trash)
    select chunk.id, entity.id, :origin, coalesce(chunk.trash, entity.trash) from chunk, entity
    where {} and entity.id = :entity
    on conflict do nothing"""
ADD_MENTION_AT = _ADD_MENTION.format("chunk.memory = :memory and chunk.position = :position")
