"""Context windows: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

from memsweep.store.falkor.origin_cypher import FIELDS as _ORIGIN

FIND_PROJECT = """
    MATCH (p:Project {id: $id}) RETURN p.key, p.tokens, p.segments, p.stashed, p.changes, p.full_from, p.counted_by,
           p.config, p.focus, p.places, p.turns, coalesce(p.messages, 0),
           coalesce(p.next_young, 0), coalesce(p.next_old, 0)"""
PROJECTS = "MATCH (p:Project) RETURN p.id ORDER BY p.id"
WINDOWS = """
    MATCH (p:Project) WHERE p.segments + p.stashed > 0
    RETURN p.id, p.tokens, p.segments, p.stashed, p.counted_by ORDER BY p.id"""
_FIELDS = """
    s.key, s.version, s.place, s.stash IS NOT NULL, s.id, s.type, s.created_at, s.last_touched_at, s.pinned,
    s.generation, s.gc_survival_count, s.refcount, s.file_path, s.first_line, s.last_line, s.tags, s.topic_id,
    s.tokens, s.role, s.task_id, s.refs, s.text"""
SEGMENTS = f"MATCH (s:Segment {{project: $project}}) RETURN {_FIELDS}, s.turn"
BY_ID = f"UNWIND $names AS name MATCH (s:Segment {{id_ref: name}}) RETURN {_FIELDS}, s.turn"
ORIGINS = f"""
    UNWIND $names AS name MATCH (s:Segment {{id_ref: name}})
    OPTIONAL MATCH (o:Origin {{ref: toString(s.origin)}}) RETURN s.id, {_ORIGIN}"""
AT_PLACES = f"UNWIND $names AS name MATCH (s:Segment {{place_ref: name}}) RETURN {_FIELDS}, s.turn"
STASHED = f"""
    MATCH (s:Segment {{project: $project}}) WHERE s.stash IS NOT NULL AND s.place < $before
    RETURN {_FIELDS}, s.turn ORDER BY s.place DESC LIMIT $limit"""
IN_TURN = f"""
    UNWIND $names AS name MATCH (s:Segment {{turn_ref: name}}) WHERE s.stash IS NULL AND s.generation = $generation
    RETURN {_FIELDS}, s.turn ORDER BY s.turn LIMIT $limit"""
OF_FILES = f"""
    UNWIND $paths AS path MATCH (s:Segment {{project: $project, file_path: path}}) WHERE s.stash IS NULL
    RETURN {_FIELDS}, s.turn"""
MESSAGES = """
    UNWIND $names AS name MATCH (s:Segment {message_ref: name}) WHERE s.stash IS NULL AND NOT s.key IN $known
    RETURN s.place, s.id ORDER BY s.place DESC LIMIT $limit"""
REFERENCED = """
    UNWIND $ids AS id CALL {
        WITH id MATCH (l:SegmentLink {target: id[1]}) WITH id, l MATCH (s:Segment {ref: l.source})
        WHERE s.stash IS NULL AND s.id <> id[0] AND NOT s.key IN $known RETURN s.key AS source LIMIT 1
    } RETURN DISTINCT id[0]"""
TRASHED_IDS = "UNWIND $names AS name MATCH (s:TrashedSegment {id_ref: name}) RETURN DISTINCT s.id"

ADD_PROJECT = "CREATE (:Project {*row})"
SAVE_PROJECT = "MATCH (p:Project {ref: toString(row.key)}) SET p += row"
ADD_SEGMENT = "CREATE (:Segment {*row})"
ADD_LINK = "CREATE (:SegmentLink {target: row.target, source: row.source})"
CHANGE_SEGMENT = "MATCH (s:Segment {ref: toString(row.key)}) SET s += row.set"
TRASH_SEGMENT = (
    "MATCH (s:Segment {ref: toString(row.key)}) REMOVE s:Segment SET s:TrashedSegment SET s.trash = row.trash"
)

# undoing and purging
TRASHED_BY = "MATCH (s:TrashedSegment {trash: $receipt}) RETURN s.key, s.id, s.id_ref, s.turn, s.project"
STASHED_BY = "MATCH (s:Segment {stash: $receipt}) RETURN s.key, s.turn, s.project"
IDS_STASHED_BY = "MATCH (s:Segment {stash: $receipt}) RETURN s.id"
_WINDOW_OF = """
    MATCH (r:Receipt {ref: toString($receipt)}) MATCH (p:Project) WHERE $context + p.id = r.strategy WITH r, p"""
_IS_SUMMARY = "s.project = p.key AND s.type = 'summary' AND s.created_at = r.created_at"
SUMMARIES = f"""
    {_WINDOW_OF} MATCH (s:Segment {{project: p.key}}) WHERE {_IS_SUMMARY}
    RETURN s.key, s.project, s.id, s.pinned, s.refs ORDER BY s.place"""
TAKEN_SINCE = f"""
    {_WINDOW_OF} MATCH (s:TrashedSegment) WHERE s.stash = $receipt OR ({_IS_SUMMARY})
    WITH DISTINCT s.trash AS holder MATCH (t:Receipt {{ref: toString(holder)}})
    WHERE holder <> $receipt AND t.action <> 'undo' AND t.undone_at IS NULL RETURN t.id ORDER BY holder DESC"""
TAKEN = "UNWIND $names AS name MATCH (s:Segment {id_ref: name}) RETURN s.id_ref"
UNTRASH = "MATCH (s:TrashedSegment {ref: toString(row)}) REMOVE s:TrashedSegment SET s:Segment SET s.trash = NULL"
UNSTASH = "MATCH (s:Segment {ref: toString(row)}) SET s.stash = NULL SET s.version = s.version + 1"
RECOUNT = """
    MATCH (p:Project {ref: toString(row)}) OPTIONAL MATCH (s:Segment {project: row}) WHERE s.stash IS NULL
    WITH row, p, count(s) AS active, coalesce(sum(s.tokens), 0) AS tokens
    OPTIONAL MATCH (h:Segment {project: row}) WHERE h.stash IS NOT NULL
    WITH row, p, active, tokens, count(h) AS stashed
    SET p.segments = active, p.tokens = toInteger(tokens), p.stashed = stashed"""
# What comes back has the turn it had, which may be before the one that is next.
LOOK_AGAIN = """
    MATCH (p:Project {ref: toString(row.key)})
    SET p.next_young = CASE WHEN p.next_young > row.turn THEN row.turn ELSE p.next_young END,
        p.next_old = CASE WHEN p.next_old > row.turn THEN row.turn ELSE p.next_old END"""
# clearing
UNPINNED = "MATCH (s:Segment) WHERE NOT s.pinned RETURN s.key, s.project"
DYING_SEGMENTS = "UNWIND $receipts AS receipt MATCH (s:TrashedSegment {trash: receipt}) RETURN s.key"
FREE_LINKS = "MATCH (l:SegmentLink {source: toString(row)}) DELETE l"
FREE_SEGMENT = "MATCH (s:TrashedSegment {ref: toString(row)}) DELETE s"
