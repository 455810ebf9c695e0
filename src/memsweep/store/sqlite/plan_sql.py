"""Statements on plans. Pure text; values are always bound."""

from __future__ import annotations

GET = """
    select plan.id, plan.uid, plan.strategy, plan.created_at, expires_at, digest, summary, receipt.uid
    from plan left join receipt on receipt.id = plan.receipt where plan.uid = ?"""
ITEMS = """
    select kind, key, version, reason, evidence from plan_item where plan = ? and position >= ?
    order by position limit ?"""
ADD = """
    insert into plan (uid, strategy, created_at, expires_at, digest, summary) values (?, ?, ?, ?, ?, ?) returning id"""
ADD_ITEM = "insert into plan_item (plan, position, kind, key, version, reason, evidence) values (?, ?, ?, ?, ?, ?, ?)"
USE = "update plan set receipt = ? where id = ?"
DROP_UNUSED_ITEMS = """
    delete from plan_item where plan in (select id from plan where expires_at < ? and receipt is null)"""
DROP_UNUSED = "delete from plan where expires_at < ? and receipt is null"
