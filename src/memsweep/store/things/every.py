"""All tables of a workspace file, in an order in which they can be written. Pure."""

from memsweep.store.things import code, collected, graph, memories, registry, windows

THINGS = (
    registry.META,
    memories.ORIGIN,
    memories.THREAD,
    memories.MEMORY,
    memories.MEMORY_TAG,
    memories.CHUNK,
    memories.VECTOR,
    graph.ENTITY,
    graph.RELATION,
    graph.MENTION,
    graph.RELATION_SOURCE,
    memories.SUPERSESSION,
    graph.CONTRIBUTION,
    memories.MEMORY_ACT,
    graph.ALIAS,
    graph.MERGE_MOVE,
    code.CODE_ROOT,
    code.CODE_SCOPE,
    code.CODE_FILE,
    code.CODE_SKIP,
    collected.PLAN,
    collected.PLAN_ITEM,
    collected.RECEIPT,
    memories.REVISION,
    collected.AUDIT,
    collected.TOMBSTONE,
    graph.NAME_SEEN,
    windows.PROJECT,
    windows.SEGMENT,
    windows.SEGMENT_LINK,
)
TABLES = {each.table: each for each in THINGS}
COLUMNS = {each.table: each.file_columns for each in THINGS}
REGISTRY_COLUMNS = {each.table: each.file_columns for each in registry.REGISTRY}
