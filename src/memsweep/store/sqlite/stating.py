"""Facts that come with a text: given beside it, or stated in it again. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence

import apsw

from memsweep.model.contribution import Speaker
from memsweep.model.memory import NamedThing, NewFact
from memsweep.model.stating import stated
from memsweep.model.text import name_key
from memsweep.store.file.connect import insert, row
from memsweep.store.journals import contribute, fact_state
from memsweep.store.sqlite import sql
from memsweep.store.sqlite.rows import SqliteRows


def state_fact(db: apsw.Connection, new: NewFact, entities: Mapping[NamedThing, int], by: Speaker) -> int:
    """Create the relation, or strengthen it if it is known; its key."""
    fact = new.fact
    subject, target = entities[fact.subject], entities[fact.object]
    kind = name_key(fact.relation)
    known = row(db, sql.GET_RELATION, (subject, kind, target))
    if known is None:
        values = {
            "uid": new.id,
            "subject": subject,
            "object": target,
            "relation": fact.relation,
            "key": kind,
            "weight": 1.0 if fact.weight is None else fact.weight,
            "now": by.at,
            "origin": by.origin,
        }
        key, before = insert(db, sql.ADD_RELATION, values), None
    else:
        key, before = known[0], fact_state(*known[1:])
    contribute(SqliteRows(db), by.act("state", key, before)._replace(value=fact.weight))
    return int(key)


def mention_again(db: apsw.Connection, chunks: Sequence[int], explicit: Collection[int], by: Speaker) -> None:
    """Known relations that these chunks state grow by a mention, each once; those given beside the text have grown."""
    rows = [item for item in db.execute(sql.MENTIONED_RELATIONS, (json.dumps(chunks),)) if item[0] not in explicit]
    done: set[int] = set()
    for key, text, subject, relation, target, *state in rows:
        if key not in done and any(True for _ in stated(text, [(subject, relation, target)])):
            done.add(key)
            contribute(SqliteRows(db), by.act("mention", key, fact_state(*state)))
