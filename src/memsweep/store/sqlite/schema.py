"""Tables of a workspace file and of the registry, as ordered migrations. Pure text.

A row that is in the trash has a `trash` number; everything that reads goes through the `live_…` views.
Integer keys inside, text ids only at the doors. `chunk.id` never comes back (AUTOINCREMENT) and grows
in the order of commits, so vectors that were read once need not be read again.
"""

from __future__ import annotations

# Each entry takes a file from its index to the next version. Never change one that was released.
WORKSPACE_MIGRATIONS: tuple[str, ...] = (
    """
    create table meta (key text primary key, value) without rowid;

    create table thread (id integer primary key, uid text not null unique);

    create table memory (
        id integer primary key autoincrement,
        uid text not null unique,
        text text not null,
        tags text not null default '[]',
        source text not null default '',
        metadata text not null default '{}',
        thread integer,
        created_at integer not null,
        updated_at integer not null,
        last_seen_at integer,
        expires_at integer,
        stale integer not null default 0,
        pinned integer not null default 0,
        content_hash blob not null,
        version integer not null default 1,
        trash integer
    );
    create index memory_by_hash on memory (content_hash) where trash is null;
    create index memory_by_trash on memory (trash) where trash is not null;
    create index memory_by_stale on memory (stale) where stale;

    create table memory_tag (tag text not null, memory integer not null, primary key (tag, memory)) without rowid;

    create table chunk (
        id integer primary key autoincrement,
        uid text not null unique,
        memory integer not null,
        position integer not null,
        text text not null,
        start integer not null,
        first_line integer not null,
        last_line integer not null,
        hash blob not null,
        stream integer,
        stream_position integer,
        trash integer
    );
    create index chunk_by_memory on chunk (memory, position);
    create index chunk_by_place on chunk (stream, stream_position) where stream is not null;
    create index chunk_by_trash on chunk (trash) where trash is not null;

    create table vector (chunk integer primary key, data blob not null);

    create table entity (
        id integer primary key autoincrement,
        uid text not null unique,
        name text not null,
        name_key text not null,
        type text not null,
        type_key text not null,
        confidence real not null default 1.0,
        handed_in integer not null default 0,
        pinned integer not null default 0,
        created_at integer not null,
        last_seen integer not null,
        version integer not null default 1,
        trash integer
    );
    create unique index entity_by_name on entity (name_key, type_key) where trash is null;

    create table relation (
        id integer primary key autoincrement,
        uid text not null unique,
        subject integer not null,
        object integer not null,
        relation text not null,
        relation_key text not null,
        weight real,
        evidence integer not null default 1,
        handed_in integer not null default 0,
        created_at integer not null,
        last_seen integer not null,
        valid_at integer,
        invalid_at integer,
        version integer not null default 1,
        trash integer
    );
    create unique index relation_by_ends on relation (subject, relation_key, object)
        where trash is null and invalid_at is null;
    create index relation_by_object on relation (object);

    create table mention (
        chunk integer not null, entity integer not null, trash integer, primary key (chunk, entity)
    ) without rowid;
    create index mention_by_entity on mention (entity);

    create table name_seen (
        name_key text primary key, name text not null, evidence integer not null, chunks text not null
    ) without rowid;

    create view live_memory as select * from memory where trash is null;
    create view live_chunk as
        select id, uid, memory, position, spread_script(text) as text, text as plain, first_line, last_line,
               stream, stream_position
        from chunk where trash is null;
    create view live_entity as select * from entity where trash is null;
    create view live_relation as select * from relation where trash is null;
    create view live_mention as select * from mention where trash is null;

    create virtual table chunk_fts using fts5(
        text, content='live_chunk', content_rowid='id', tokenize="porter unicode61 remove_diacritics 2"
    );
    create virtual table chunk_word using fts5vocab('chunk_fts', 'row');
    """,
)

REGISTRY_MIGRATIONS: tuple[str, ...] = (
    """
    create table workspace (
        id integer primary key,
        name text not null,
        file text not null unique,
        description text not null default '',
        created_at integer not null,
        deleted_at integer
    );
    create unique index workspace_by_name on workspace (name) where deleted_at is null;
    """,
)
