"""Statements of the acts of memories. Pure text; values are always bound, sets of keys JSON lists."""

from __future__ import annotations

MENTIONS = """
    select chunk.memory, chunk.position, chunk.id, mention.entity, mention.origin
    from chunk join mention on mention.chunk = chunk.id
    where chunk.memory in (select value from json_each(?)) and (mention.trash is null or chunk.trash is not null)"""
# Either end may be in the trash by now, and the mention is there with it.
_ADD_MENTION = """
    insert into mention (chunk, entity, origin, trash)
    select chunk.id, entity.id, :origin, coalesce(chunk.trash, entity.trash) from chunk, entity
    where {} and entity.id = :entity
    on conflict do nothing"""
ADD_MENTION_AT = _ADD_MENTION.format("chunk.memory = :memory and chunk.position = :position")
# What a memory mentions as its own, with what is needed to tell whether its text does.
OWN_MENTIONS = """
    select chunk.position, mention.entity, entity.name, chunk.text
    from chunk join mention on mention.chunk = chunk.id and mention.origin is null
    join entity on entity.id = mention.entity
    where chunk.memory = ? and mention.trash is null"""
