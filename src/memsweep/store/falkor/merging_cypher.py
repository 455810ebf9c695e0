"""What merges wrote down, and other names: Cypher. Pure text; every value is a parameter."""

from __future__ import annotations

# moves
TARGETS = "MATCH (m:MergeMove {kind: 'target'}) RETURN DISTINCT m.receipt, m.a"
SPLITS = "MATCH (m:MergeMove {kind: 'split'}) RETURN m.receipt, m.a, m.b"
MOVES = """
    UNWIND $receipts AS receipt MATCH (m:MergeMove {receipt: receipt})
    WHERE ($kinds IS NULL OR m.kind IN $kinds) AND ($about IS NULL OR m.a IN $about)
    RETURN m.receipt, m.kind, m.a, m.b, m.c, m.said, m.place ORDER BY m.receipt, m.place"""
LAST_PLACES = "UNWIND $receipts AS receipt MATCH (m:MergeMove {receipt: receipt}) RETURN receipt, max(m.place)"
ADD_MOVE = """
    CREATE (:MergeMove {receipt: row.receipt, place: row.place, kind: row.kind, a: row.a, b: row.b, c: row.c,
                        said: row.said})"""
SET_MOVE = """
    MATCH (m:MergeMove {receipt: row.receipt}) WHERE m.place = row.place
    SET m.a = row.a SET m.b = row.b SET m.c = row.c SET m.said = row.said"""
DROP_MOVES = "MATCH (m:MergeMove {receipt: row}) DELETE m"
# Another entity stands for one that does not come back, or that is gone for good. Entities are known by their
# versions, and this is another one: a merge cannot make it as it was.
_TAKEN_OVER = "MATCH (m:MergeMove {receipt: row.receipt}) WHERE"
MOVE_TARGETS = f"{_TAKEN_OVER} m.kind IN ['target', 'split'] AND m.a = row.entity SET m.a = row.namesake SET m.c = NULL"
MOVE_NAMES = f"{_TAKEN_OVER} m.kind IN ['name', 'split name'] AND m.a = row.entity SET m.a = row.namesake"
MOVE_MENTION_MOVES = (
    f"{_TAKEN_OVER} m.kind IN ['mention', 'split mention', 'split subject', 'split object'] AND m.c = row.entity"
    " SET m.c = row.namesake"
)
MOVE_PARTS = f"{_TAKEN_OVER} m.kind = 'split' AND m.b = row.entity SET m.b = row.namesake"
HAND_OVER = (MOVE_TARGETS, MOVE_NAMES, MOVE_MENTION_MOVES, MOVE_PARTS)
