"""The content of a workspace's graph, and its indexes: those that it has, and those that it should have.

`key` is a number that is never used again, `ref` the same as text (which the indexes find ten times as fast),
`id` what people see. What is in the trash has another label
(or another type, for a relation), so no read that names the live one can meet it, and no index holds it.

(:Memory)-[:HAS_CHUNK {index}]->(:Chunk)-[:MENTIONS]->(:Entity)-[:RELATED_TO {key, relation, weight …}]->(:Entity)
(:Memory)-[:STATES {relation}]->(:Entity)      the relation of that key, which begins there, comes from this memory
(:Memory)-[:SUPERSEDES {at, origins}]->(:Memory)  one has taken the place of the other
(:Embedding {key, data})                       the vector of the chunk of that key: nothing else writes to it
(:Alias {name_key, type_key, entity})          a name that the entity of that key had before it was merged
(:Contribution {fact, act, origin …})          what made the relation of that key what it is, act by act
(:MemoryAct {of, act, said, origin …})         who said the memory of that key, said it again or updated it
(:Origin {door, client, session …})            where things came from that have its key as `origin`
(:SegmentLink {target, source})                a segment refers to an id of its window; both as the indexes find them
(:MergeMove {receipt, place, kind …})          what a merge moved, in this order
(:Revision {receipt, kind, item, before})      what something was before it changed in place
"""

from __future__ import annotations

import re
import time

from memsweep.errors import StoreAway, StoreBusy, StoreError
from memsweep.store.falkor import care_cypher, cypher
from memsweep.store.falkor.transaction import GraphHandle
from memsweep.store.falkor.words import CODE_KINDS

# Each takes a graph from its index to the next version. Never change one that was released.
MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE INDEX FOR (n:Memory) ON (n.ref, n.id, n.content_hash, n.stale, n.source, n.created_at,"
        " n.last_seen_at, n.root, n.path, n.language, n.thread)",
        "CREATE INDEX FOR (n:TrashedMemory) ON (n.ref, n.id, n.trash, n.root, n.thread)",
        "CREATE INDEX FOR (n:Chunk) ON (n.ref, n.id, n.stream)",
        "CREATE INDEX FOR (n:TrashedChunk) ON (n.ref, n.trash)",
        "CREATE INDEX FOR (n:Embedding) ON (n.key, n.ref)",
        "CREATE INDEX FOR (n:StagedEmbedding) ON (n.ref)",
        "CREATE INDEX FOR (n:Entity) ON (n.ref, n.id, n.name_key)",
        "CREATE INDEX FOR (n:TrashedEntity) ON (n.ref, n.id, n.trash)",
        "CREATE INDEX FOR ()-[r:RELATED_TO]-() ON (r.ref, r.id)",
        "CREATE INDEX FOR ()-[r:WAS_RELATED_TO]-() ON (r.ref, r.trash)",
        "CREATE INDEX FOR ()-[r:STATES]-() ON (r.relation)",
        "CREATE INDEX FOR (n:Thread) ON (n.id, n.ref)",
        "CREATE INDEX FOR (n:NameSeen) ON (n.name_key)",
        "CREATE INDEX FOR (n:CodeRoot) ON (n.path)",
        "CREATE INDEX FOR (n:Alias) ON (n.name_key, n.entity, n.receipt)",
        "CREATE INDEX FOR (n:MergeMove) ON (n.receipt)",
        "CREATE INDEX FOR (n:CodeScope) ON (n.ref, n.root)",
        "CREATE INDEX FOR (n:CodeSkip) ON (n.root)",
        "CREATE INDEX FOR (n:Plan) ON (n.id, n.ref, n.expires_at)",
        "CREATE INDEX FOR (n:PlanItem) ON (n.plan, n.ref)",
        "CREATE INDEX FOR (n:Receipt) ON (n.id, n.ref)",
        "CREATE INDEX FOR (n:AuditEvent) ON (n.key, n.subject)",
        "CREATE INDEX FOR (n:Tombstone) ON (n.hash, n.memory)",
        "CREATE INDEX FOR (n:Project) ON (n.id, n.ref)",
        "CREATE INDEX FOR (n:Segment) ON (n.ref, n.project, n.id_ref, n.place_ref, n.turn_ref, n.message_ref, n.stash)",
        "CREATE INDEX FOR (n:TrashedSegment) ON (n.ref, n.id_ref, n.trash)",
        "CREATE INDEX FOR (n:SegmentLink) ON (n.target, n.source)",
        "CALL db.idx.fulltext.createNodeIndex({label: 'Chunk', stopwords: []}, {field: 'terms', nostem: true})",
    ),
    ("CREATE INDEX FOR (n:Segment) ON (n.file_path)",),
    ("CREATE INDEX FOR (n:Origin) ON (n.ref)",),
    ("CREATE INDEX FOR (n:Contribution) ON (n.ref, n.fact)",),
    ("CREATE INDEX FOR (n:Memory) ON (n.key)",),
    (
        "CREATE INDEX FOR ()-[r:SUPERSEDES]-() ON (r.at)",
        "CREATE INDEX FOR (n:Revision) ON (n.key, n.receipt, n.item)",
    ),
    ("CREATE INDEX FOR (n:MemoryAct) ON (n.ref, n.of, n.receipt, n.trash)",),
    ("CALL db.idx.fulltext.createNodeIndex({label: 'Entity', stopwords: []}, {field: 'name_key', nostem: true})",),
    (
        "CREATE INDEX FOR (n:Receipt) ON (n.purged_at)",
        "CREATE INDEX FOR (n:AuditEvent) ON (n.at)",
        "CREATE INDEX FOR (n:Plan) ON (n.receipt)",
    ),
    # Not on `relation_key`: a query that has an end as well would begin at that index, and miss what points there.
    ("CREATE INDEX FOR ()-[r:RELATED_TO]-() ON (r.told)",),
    ("CREATE INDEX FOR (n:Memory) ON (n.expires_at)",),
)
SCHEMA = len(MIGRATIONS)


_INDEX_SECONDS = 30.0
_INDEX = re.compile(r"CREATE INDEX FOR (?P<pattern>\([^:]*+:(?P<label>\w++).*\)) ON \((?P<names>.*)\)")
_PROPERTY = re.compile(r"\w\.(\w+)")
_FULL_TEXT = re.compile(r"createNodeIndex\({label: '(?P<label>\w+)'.*{field: '(?P<name>\w+)'")


def missing(graph: GraphHandle) -> list[str]:
    """Properties that should have an index and have none, with their labels."""
    return sorted({f"{label}.{name}" for label, name, _ in _wanted().keys() - _there(graph)})


def make(graph: GraphHandle) -> None:
    """Make the indexes that are missing; the server fills them in the background."""
    wanted = _wanted()
    for label, name, kind in sorted(wanted.keys() - _there(graph)):
        try:
            graph.link.change(graph.name, wanted[label, name, kind])
        except StoreError as error:
            if "override" not in error.message:
                raise
            # The label has other indexes, and with them still knows how its full text is made.
            graph.link.change(graph.name, care_cypher.FULL_TEXT_AGAIN, label=label, field=name)


def bring_up_to_date(graph: GraphHandle) -> None:
    """Give an older graph what it lacks, which only makes search better: a server that refuses is left as it is."""
    try:
        make(graph)
        wait(graph)
        for step in care_cypher.FILL:
            graph.link.change(graph.name, step, code_kinds=sorted(CODE_KINDS))
        graph.link.change(graph.name, cypher.SET_SCHEMA, schema=SCHEMA)
    except (StoreAway, StoreBusy):
        raise
    except StoreError:  # no permission, no room, or another process has just made them
        return


def wait(graph: GraphHandle) -> None:
    """An index is made in the background, and a full text that is not ready finds nothing."""
    deadline = time.monotonic() + _INDEX_SECONDS
    while graph.ask(cypher.UNREADY_INDEXES)[0][0]:
        if time.monotonic() > deadline:
            raise StoreBusy(
                f"the indexes of {graph.name} were not ready after {_INDEX_SECONDS:g} s.", hint="Try again."
            )
        time.sleep(0.002)


def _there(graph: GraphHandle) -> set[tuple[str, str, str]]:
    rows = graph.ask(care_cypher.INDEXES)
    return {(label, name, kind) for label, types in rows for name, kinds in types.items() for kind in kinds}


def _wanted() -> dict[tuple[str, str, str], str]:
    """Label, property and kind of every index, and what makes it alone."""
    made: dict[tuple[str, str, str], str] = {}
    for statement in (each for step in MIGRATIONS for each in step):
        if found := _INDEX.match(statement):
            for name in _PROPERTY.findall(found["names"]):
                letter = found["names"][0]
                made[found["label"], name, "RANGE"] = f"CREATE INDEX FOR {found['pattern']} ON ({letter}.{name})"
        elif found := _FULL_TEXT.search(statement):
            made[found["label"], found["name"], "FULLTEXT"] = statement
    return made
