"""Statements on rows that several rooms read or write. Pure text; values are always bound."""

from __future__ import annotations

GET_META = "select value from meta where key = ?"
SET_META = "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"
ADD_AUDIT = "insert into audit (at, actor, action, subject, counts, reason) values (?, ?, ?, ?, ?, ?)"
PLAN_ITEMS = "select kind, key, version, reason, evidence from plan_item where plan = ? order by position"
