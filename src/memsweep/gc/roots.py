"""What keeps an entity alive. The predicate exists once. Pure."""

from __future__ import annotations

from collections.abc import Collection

from memsweep.model.plan import PERMANENT_TYPES, EntityRow, Survey


def is_root(entity: EntityRow) -> bool:
    """Alive by itself: pinned, permanent, or handed in explicitly."""
    return entity.pinned or entity.handed_in or entity.type_key in PERMANENT_TYPES


def rooted_entities(survey: Survey, without: Collection[int] = ()) -> set[int]:
    """Entities that are roots or are mentioned by a live memory other than those in `without`."""
    roots = {entity.key for entity in survey.entities if is_root(entity)}
    if without:
        gone = set(without)
        roots.update(entity for memory, entity in survey.mentions if memory not in gone)
    else:
        roots.update(entity for _, entity in survey.mentions)
    return roots
