"""What merges wrote down, and other names: statements. Pure text; values are always bound.

Sets of keys are JSON lists.
"""

from __future__ import annotations

# moves
TARGETS = "select distinct receipt, a from merge_move where kind = 'target'"
SPLITS = "select receipt, a, b from merge_move where kind = 'split'"
MOVES = """
    select receipt, kind, a, b, c, said, rowid from merge_move
    where receipt in (select value from json_each(:receipts))
      and (:kinds is null or kind in (select value from json_each(:kinds)))
      and (:about is null or a in (select value from json_each(:about)))
    order by receipt, rowid"""
ADD_MOVE = "insert into merge_move (receipt, kind, a, b, c, said) values (?, ?, ?, ?, ?, ?)"
SET_MOVE = "update merge_move set a = ?, b = ?, c = ?, said = ? where rowid = ?"
DROP_MOVES = "delete from merge_move where receipt in (select value from json_each(?))"
_OF_MERGES = "receipt in (select value from json_each(:receipts))"
# Entities are known by their versions, and a namesake is another one: a merge cannot make it as it was.
HAND_OVER = (
    f"update merge_move set a = :namesake, c = null where a = :entity and kind in ('target', 'split') and {_OF_MERGES}",
    f"update merge_move set a = :namesake where a = :entity and kind in ('name', 'split name') and {_OF_MERGES}",
    "update merge_move set c = :namesake where c = :entity"
    f" and kind in ('mention', 'split mention', 'split subject', 'split object') and {_OF_MERGES}",
    f"update merge_move set b = :namesake where b = :entity and kind = 'split' and {_OF_MERGES}",
)
