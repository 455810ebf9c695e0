"""Statements on receipts. Pure text; values are always bound."""

from __future__ import annotations

_ROW = "select id, uid, plan, undone_at, purged_at from receipt"
GET = f"{_ROW} where uid = ?"
AT = f"{_ROW} where id in (select value from json_each(?))"
NOT_PURGED = f"{_ROW} where purged_at is null and created_at <= ? order by id"
# What recovers one memory holds nothing.
PAGE = """
    select id, uid, plan, action, strategy, actor, created_at, counts, skipped, undone_at, purged_at
    from receipt where action <> 'recover' and (:before is null or id < :before) and (not :holding or id in (
        select trash from memory where trash is not null union select trash from chunk where trash is not null
        union select trash from entity where trash is not null union select trash from relation where trash is not null
        union select trash from segment where trash is not null union select receipt from revision))
    order by id desc limit :limit"""
_KEYS = "(select value from json_each(:keys))"
HELD = {
    "memories": f"select trash, count(*), total(length(text)) from memory where trash in {_KEYS} group by trash",
    "chunks": f"select trash, count(*), total(length(text)) from chunk where trash in {_KEYS} group by trash",
    "entities": f"select trash, count(*), total(length(name)) from entity where trash in {_KEYS} group by trash",
    "relations": f"select trash, count(*), total(length(relation)) from relation where trash in {_KEYS} group by trash",
    "segments": f"select trash, count(*), total(length(text)) from segment where trash in {_KEYS} group by trash",
    "stashed": f"select stash, count(*), 0 from segment where trash is null and stash in {_KEYS} group by stash",
    "revisions": f"select receipt, count(*), total(length(before)) from revision where receipt in {_KEYS} group by 1",
}
ADD = """
    insert into receipt (uid, plan, action, strategy, actor, created_at, counts, skipped, undone_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id"""
SET_UNDONE = "update receipt set undone_at = ? where id = ?"
SET_PURGED = "update receipt set purged_at = ? where id = ?"
