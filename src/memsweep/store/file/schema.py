"""Tables of a workspace file and of the registry, as ordered migrations. Pure text.

A row that is in the trash has a `trash` number; everything that reads goes through the `live_…` views.
Integer keys inside, text ids only at the doors; nobody asks for a chunk by its id, so there is no index of them.
`chunk.id` never comes back (AUTOINCREMENT) and grows in the order of commits, so vectors that were read once
need not be read again.
"""

from __future__ import annotations

from memsweep.store import words

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
        uid text not null,
        memory integer not null,
        position integer not null,
        text text not null,
        start integer not null,
        first_line integer not null,
        last_line integer not null,
        hash blob not null,
        stream integer,
        stream_position integer,
        symbol text not null default '',
        symbol_kind text not null default '',
        words text not null default '',
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
        current real,
        handed_in integer not null default 0,
        pinned integer not null default 0,
        created_at integer not null,
        last_seen integer not null,
        version integer not null default 1,
        trash integer
    );
    create index entity_by_trash on entity (trash) where trash is not null;
    create unique index entity_by_name on entity (name_key, type_key) where trash is null;

    create table relation (
        id integer primary key autoincrement,
        uid text not null unique,
        subject integer not null,
        object integer not null,
        relation text not null,
        relation_key text not null,
        weight real,
        current real,
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
    create index relation_by_subject on relation (subject);
    create index relation_by_object on relation (object);
    create index relation_by_trash on relation (trash) where trash is not null;

    create table mention (
        chunk integer not null, entity integer not null, trash integer, primary key (chunk, entity)
    ) without rowid;
    create index mention_by_entity on mention (entity);
    create index mention_by_trash on mention (trash) where trash is not null;

    create table relation_source (
        relation integer not null, memory integer not null, primary key (relation, memory)
    ) without rowid;
    create index relation_source_by_memory on relation_source (memory);

    create table alias (
        name_key text not null, type_key text not null, name text not null, entity integer not null, receipt integer,
        primary key (name_key, type_key)
    ) without rowid;
    create index alias_by_entity on alias (entity);
    create table merge_move (
        receipt integer not null, kind text not null, a integer not null, b integer, c integer, said text not null
    );
    create index merge_move_by_receipt on merge_move (receipt);

    create table code_root (id integer primary key, path text not null unique, total_files integer not null default 0);
    create table code_scope (
        id integer primary key, root integer not null, filters text not null, runs integer not null default 0,
        verified_at integer, unique (root, filters)
    );
    create table code_file (
        memory integer primary key,
        root integer not null,
        path text not null,
        language text not null,
        stamp text not null,
        digest text not null,
        read_at_ns integer not null,
        lines integer not null,
        functions integer not null,
        classes integer not null,
        encoding text not null,
        failure text not null default '',
        scope integer,
        verified_at integer
    );
    create index code_file_by_path on code_file (root, path);
    create table code_skip (
        root integer not null, path text not null, language text not null, stamp text not null, digest text not null,
        read_at_ns integer not null, primary key (root, path)
    ) without rowid;

    create table plan (
        id integer primary key autoincrement,
        uid text not null unique,
        strategy text not null,
        created_at integer not null,
        expires_at integer not null,
        digest text not null,
        summary text not null,
        receipt integer
    );
    create table plan_item (
        plan integer not null, position integer not null, kind text not null, key integer not null,
        version integer not null, reason text not null, evidence text not null default '{}',
        primary key (plan, position)
    ) without rowid;
    create table receipt (
        id integer primary key autoincrement,
        uid text not null unique,
        plan text,
        action text not null,
        strategy text not null,
        actor text not null,
        created_at integer not null,
        counts text not null default '{}',
        skipped text not null default '[]',
        undone_at integer,
        purged_at integer
    );
    create table audit (
        id integer primary key autoincrement, at integer not null, actor text not null, action text not null,
        subject text not null, counts text not null default '{}', reason text not null default ''
    );
    create index audit_by_subject on audit (subject);
    create table tombstone (hash blob primary key, at integer not null, memory text not null, reason text not null)
        without rowid;

    create table name_seen (
        name_key text primary key, name text not null, evidence integer not null, chunks text not null
    ) without rowid;

    create table project (
        id integer primary key autoincrement,
        uid text not null unique,
        created_at integer not null,
        tokens integer not null default 0,
        segments integer not null default 0,
        stashed integer not null default 0,
        changes integer not null default 0,
        full_from integer not null default 0,
        places integer not null default 0,
        turns integer not null default 0,
        counted_by text not null default '',
        config text not null default '{}',
        focus text not null default '{}'
    );
    create table segment (
        id integer primary key autoincrement,
        project integer not null,
        place integer not null,
        turn integer not null,
        uid text not null,
        type text not null,
        created_at integer not null,
        last_touched_at integer not null,
        pinned integer not null,
        generation text not null,
        gc_survival_count integer not null,
        refcount integer not null,
        file_path text,
        first_line integer,
        last_line integer,
        tags text not null,
        topic_id text,
        tokens integer not null,
        role text,
        task_id text,
        refs text not null,
        version integer not null default 1,
        stash integer,
        trash integer,
        text text not null
    );
    create index segment_by_uid on segment (project, uid);
    create unique index live_segment_by_uid on segment (project, uid) where trash is null;
    create unique index segment_by_place on segment (project, place);
    create index active_segment on segment (project, place) where stash is null and trash is null;
    create index active_message on segment (project, place)
        where type = 'message' and stash is null and trash is null;
    create index active_segment_by_turn on segment (project, generation, turn)
        where stash is null and trash is null;
    create index segment_by_stash on segment (stash) where stash is not null;
    create index segment_by_trash on segment (trash) where trash is not null;
    create table segment_link (
        project integer not null, target text not null, source integer not null, primary key (project, target, source)
    ) without rowid;
    create index segment_link_by_source on segment_link (source);

    create view live_memory as select * from memory where trash is null;
    create view live_chunk as
        select id, uid, memory, position, spread_script(text || ' ' || words) as text, first_line, last_line,
               stream, stream_position
        from chunk where trash is null;
    create view live_entity as select * from entity where trash is null;
    create view live_relation as select * from relation where trash is null;
    create view live_mention as select * from mention where trash is null;

    create virtual table chunk_fts using fts5(
        text, content='live_chunk', content_rowid='id', tokenize="porter unicode61 remove_diacritics 2"
    );
    create virtual table chunk_word using fts5vocab('chunk_fts', 'row');

    create view segment_text as select id, spread_script(text) as text from segment where trash is null;
    create virtual table segment_fts using fts5(
        text, content='segment_text', content_rowid='id', tokenize="porter unicode61 remove_diacritics 2"
    );
    """,
    # A newer read of a file does not leave a window before the older ones.
    """
    create index active_segment_by_file on segment (project, file_path)
        where file_path is not null and stash is null and trash is null;
    """,
    # What something was before it changed in place, held by the receipt of the change.
    """
    create table revision (
        id integer primary key autoincrement, receipt integer not null, kind text not null, item integer not null,
        at integer not null, before text not null
    );
    create index revision_by_receipt on revision (receipt);
    create index revision_by_item on revision (kind, item);
    """,
    # Which memory has taken the place of which; see `memsweep.model.superseding`.
    """
    create table supersession (
        old integer not null, new integer not null, at integer not null, primary key (old, new)
    ) without rowid;
    create index supersession_by_new on supersession (new);
    """,
    # Where things came from. Nothing: from before this was kept; of a mention, that of its memory.
    """
    create table origin (
        id integer primary key autoincrement,
        door text not null,
        client text not null,
        client_version text not null,
        session text not null,
        tool text not null,
        tier text not null
    );
    create index origin_by_value on origin (session, tool, client, client_version, door, tier);
    alter table memory add column origin integer;
    alter table entity add column origin integer;
    alter table relation add column origin integer;
    alter table mention add column origin integer;
    alter table segment add column origin integer;
    create index memory_by_origin on memory (origin) where origin is not null;
    """,
    # What made facts what they are, act by act; see `memsweep.model.contribution`.
    """
    create table contribution (
        id integer primary key autoincrement,
        relation integer not null,
        act text not null,
        at integer not null,
        rate real not null,
        value real,
        explicit integer not null,
        valid_at integer,
        origin integer,
        memory integer,
        before text,
        after text,
        trash integer
    );
    create index contribution_by_relation on contribution (relation);
    create index contribution_by_origin on contribution (origin);
    create index contribution_by_trash on contribution (trash) where trash is not null;
    """,
    # When somebody let a memory out of quarantine.
    """
    alter table memory add column released_at integer;
    """,
    # Memories in the order of listings, with all that a filter asks for, so that no text is read but those shown.
    """
    create index memory_by_number on memory (
        id, source, created_at, stale, pinned, expires_at, origin, released_at
    ) where trash is null;
    """,
    # Facts are found by how a name or a relation begins; what the code index says is not one of them.
    """
    create index entity_told on entity (name_key) where handed_in = 1 and trash is null;
    create index relation_told on relation (relation)
        where trash is null and relation_key not in ('calls', 'defines', 'imports', 'inherits');
    """,
    # Who said a memory again or updated it, act by act; see `memsweep.model.revision`.
    """
    create table memory_act (
        id integer primary key autoincrement,
        memory integer not null,
        act text not null,
        at integer not null,
        origin integer,
        said text not null,
        receipt integer,
        trash integer
    );
    create index memory_act_by_memory on memory_act (memory);
    create index memory_act_by_origin on memory_act (origin);
    create index memory_act_by_receipt on memory_act (receipt) where receipt is not null;
    create index memory_act_by_trash on memory_act (trash) where trash is not null;
    """,
    # Who said that one memory supersedes another; see `memsweep.model.superseding`.
    """
    alter table supersession add column origins text not null default '[]';
    """,
    # When somebody let a fact out of quarantine.
    """
    alter table relation add column released_at integer;
    """,
    # Facts are found by a word inside of a name, too.
    words.INDEXES,
    # What is let go in the end is found by when it was.
    """
    create index plan_unused on plan (expires_at) where receipt is null;
    create index plan_by_receipt on plan (receipt) where receipt is not null;
    create index receipt_purged on receipt (purged_at) where purged_at is not null;
    create index audit_by_time on audit (at) where action <> 'backup' and substr(action, 1, 7) <> 'import_';
    """,
    # What has expired is left out of every search, so few may be looked at to know which that is.
    """
    create index memory_by_expiry on memory (expires_at) where expires_at is not null and trash is null;
    """,
    # A small step begins where the last one stopped, in a file as in a graph.
    """
    alter table project add column next_young integer not null default 0;
    alter table project add column next_old integer not null default 0;
    """,
)

# what a file says of itself, and its log
GET_META = "select value from meta where key = ?"
SET_META = "insert into meta (key, value) values (?, ?) on conflict (key) do update set value = excluded.value"
ADD_AUDIT = "insert into audit (at, actor, action, subject, counts, reason) values (?, ?, ?, ?, ?, ?)"
PLAN_ITEMS = "select kind, key, version, reason, evidence from plan_item where plan = ? order by position"
UNMARK = "delete from meta where key = 'deleted_at'"

# the mark beside a file: AUTOINCREMENT never goes back, and nearly every transaction makes a row of such a table
ROWS_EVER = "select cast(total(seq) as integer) from sqlite_sequence"
HAS_COUNTERS = "select exists (select 1 from sqlite_schema where name = 'sqlite_sequence')"


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
