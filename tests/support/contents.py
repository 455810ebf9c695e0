"""What a workspace holds, as the library tells it: every memory, every entity, every fact."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memsweep.app import Memory, make_app
from memsweep.model.listing import MOST_LISTED, ListedMemory
from memsweep.settings import load_settings
from tests.support.inside import dump_of
from tests.support.paging import pages_of


@contextmanager
def opened(home: Path, workspace: str = "default") -> Iterator[Memory]:
    """The memory of a home that another process has written."""
    app = make_app(load_settings({"MEMSWEEP_HOME": str(home)}))
    try:
        yield app.memory(workspace)
    finally:
        app.close()


def listed(memory: Memory) -> list[ListedMemory]:
    """All that is not in the trash, what is stale or has expired too, the oldest first."""
    every: Any = {"filters": {"include_expired": True}, "limit": MOST_LISTED}
    pages = list(pages_of(memory.memories, **every))
    found = [each for page in pages for each in page.memories]
    assert len(found) == pages[-1].total
    return found[::-1]


def ids(memory: Memory) -> list[str]:
    return [each.id for each in listed(memory)]


def texts(memory: Memory) -> list[str]:
    return [memory.get(each.id).text for each in listed(memory)]


def texts_in(home: Path, workspace: str = "default") -> list[str]:
    with opened(home, workspace) as memory:
        return texts(memory)


def ids_in(home: Path, workspace: str = "default") -> list[str]:
    with opened(home, workspace) as memory:
        return ids(memory)


def names(memory: Memory) -> list[str]:
    """Of all entities, in order."""
    return sorted(entity.name for entity in dump_of(memory).entities)


def facts(memory: Memory) -> dict[tuple[str, str, str], float | None]:
    """Weights by what is said, facts that have ended too."""
    graph = dump_of(memory)
    name = {entity.id: entity.name for entity in graph.entities}
    return {(name[fact.source], fact.relation, name[fact.target]): fact.weight for fact in graph.relations}
