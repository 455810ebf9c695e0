"""Tables of the registry, which names the workspaces, as ordered migrations. Pure text."""

from __future__ import annotations

# Each entry takes a file from its index to the next version. Never change one that was released.
REGISTRY_MIGRATIONS: tuple[str, ...] = (
    """
    create table workspace (
        id integer primary key,
        name text not null,
        file text not null unique,
        description text not null default '',
        created_at integer not null,
        deleted_at integer,
        receipt text
    );
    create unique index workspace_by_name on workspace (name) where deleted_at is null;
    """,
    # What is about to be done to a file, and by whom; see `intents`.
    """
    create table intent (file text primary key, action text not null, owner text not null) without rowid;
    """,
    # What the audit log of a file has yet to say; see `workspace_events`.
    """
    create table pending_event (id integer primary key, file text not null, event text not null);
    """,
    # The project that a workspace was made for; empty: for none.
    """
    alter table workspace add column project text not null default '';
    create index workspace_by_project on workspace (project) where project <> '';
    """,
    # Who may come in over HTTP, by the hash of a secret; see `model.token`.
    """
    create table token (
        digest text primary key,
        name text not null,
        workspaces text not null,
        read_only integer not null,
        created_at integer not null,
        expires_at integer,
        revoked_at integer
    ) without rowid;
    create unique index token_by_name on token (name) where revoked_at is null;
    """,
)
