"""Statements on receipts. Pure text; values are always bound."""

from __future__ import annotations

_ROW = "select id, uid, plan, undone_at, purged_at from receipt"
GET = f"{_ROW} where uid = ?"
AT = f"{_ROW} where id in (select value from json_each(?))"
NOT_PURGED = f"{_ROW} where purged_at is null and created_at <= ? order by id"
ADD = """
    insert into receipt (uid, plan, action, strategy, actor, created_at, counts, skipped, undone_at)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?) returning id"""
SET_UNDONE = "update receipt set undone_at = ? where id = ?"
SET_PURGED = "update receipt set purged_at = ? where id = ?"
