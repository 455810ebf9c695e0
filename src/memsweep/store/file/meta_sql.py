"""Statements on rows that several rooms read or write. Pure text; values are always bound."""

from __future__ import annotations

GET_META = "select value from meta where key = ?"
SET_META = "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"
ADD_AUDIT = "insert into audit (at, actor, action, subject, counts, reason) values (?, ?, ?, ?, ?, ?)"
PLAN_ITEMS = "select kind, key, version, reason, evidence from plan_item where plan = ? order by position"
UNMARK = "delete from meta where key = 'deleted_at'"

# the mark beside a file: AUTOINCREMENT never goes back, and nearly every transaction makes a row of such a table
ROWS_EVER = "select cast(total(seq) as integer) from sqlite_sequence"
HAS_COUNTERS = "select exists (select 1 from sqlite_schema where name = 'sqlite_sequence')"
