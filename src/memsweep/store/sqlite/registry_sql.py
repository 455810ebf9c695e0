"""Statements on the registry: the workspaces of a home, and what is being done to their files. Pure text."""

from __future__ import annotations

LIST_WORKSPACES = "select name, description, created_at, project from workspace where deleted_at is null order by name"
FIND_WORKSPACE = "select file from workspace where name = ? and deleted_at is null"
# Whether no name can be another one, as far as can be seen at a glance.
NAMES_LOOK_SOUND = """
    select not exists (
        select 1 from workspace where typeof(name) <> 'text' or name glob '*[^a-z0-9_-]*'
          or typeof(file) <> 'text' or typeof(deleted_at) not in ('integer', 'null'))"""
OWNER_OF = "select project from workspace where name = ? and deleted_at is null"
WORKSPACE_OF = "select name from workspace where project = ? and project <> '' and deleted_at is null order by id"
WIPE = "pragma wal_checkpoint(truncate)"
ADOPT_WORKSPACE = """
    insert into workspace (name, file, description, created_at) values (?, ?, ?, ?) on conflict do nothing"""
DELETED_AT = "select deleted_at from workspace where file = ?"
# What somebody is at work on is purged the next time.
FORGET_WORKSPACES = """
    delete from workspace where deleted_at <= ? and file not in (select file from intent) returning file"""

# intents
NOTE_INTENT = """
    insert into intent (file, action, owner) values (?, ?, ?)
    on conflict (file) do update set action = excluded.action, owner = excluded.owner"""
# Names of our own making only: a row that is damaged is the doctor's.
INTENTS = """
    select file, action, owner from intent
    where typeof(file) = 'text' and typeof(owner) = 'text' and action in ('remove', 'mark')
      and file not glob '*[^ -~]*' and owner not glob '*[^0-9a-z]*'"""
IS_FILE_KNOWN = "select 1 from workspace where file = ?"
INTENTS_OF = "select file, action, file in (select file from workspace) from intent where owner = ? order by file"
MARK_INSTEAD = "update intent set action = 'mark' where file = ?"
DROP_INTENT = "delete from intent where file = ? and action = ?"
# If the registry says something else by now, whoever changed it has yet to settle it.
SETTLE_INTENT = """
    delete from intent where file = :file and action = 'mark'
      and (select deleted_at from workspace where file = :file) is :marked_at"""
NOTE_EVENT = "insert into pending_event (file, event) values (?, ?)"
PENDING_EVENTS = """
    select id, event from pending_event
    where file = ? and typeof(event) = 'text' and event not glob '*[^ -~]*' and json_valid(event) order by id"""
DROP_EVENTS = "delete from pending_event where file = ? and id <= ?"
ADD_AUDIT_ONCE = """
    insert into audit (at, actor, action, subject, reason) select :at, :actor, :action, :subject, :reason
    where not exists (
        select 1 from audit where subject = :subject and at = :at and action = :action and reason = :reason)"""

# of a workspace's file, for a glance at it
COUNT_LIVE = "select count(*) from memory where trash is null"
# Whatever changes what can be found is audited, or adds chunks, or takes some away.
REVISION = """
    select coalesce(group_concat(seq, '.'), '') || '.' || (select count(*) from memory where stale) || '.'
           || (select coalesce(max(id), 0) from chunk) from sqlite_sequence"""
