"""Facts that come with a text: given beside it, or stated in it again. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import apsw

from memsweep.model.decay import age_days, restated
from memsweep.model.memory import NamedThing, NewFact
from memsweep.model.stating import stated
from memsweep.model.text import name_key
from memsweep.model.times import from_micros, to_micros
from memsweep.store.file.connect import insert, row
from memsweep.store.sqlite import sql


def state_fact(
    db: apsw.Connection,
    new: NewFact,
    entities: Mapping[NamedThing, int],
    edge_rate: float,
    now: datetime,
    origin: int | None,
) -> int:
    """Create the relation, or strengthen it if it is known; its key."""
    fact = new.fact
    subject, target = entities[fact.subject], entities[fact.object]
    kind = name_key(fact.relation)
    known = row(db, sql.GET_RELATION, (subject, kind, target))
    if known is not None:
        key, base, seen = known
        _see_again(db, key, base, seen, fact.weight, edge_rate, now)
        return int(key)
    values = {
        "uid": new.id,
        "subject": subject,
        "object": target,
        "relation": fact.relation,
        "key": kind,
        "weight": 1.0 if fact.weight is None else fact.weight,
        "now": to_micros(now),
        "origin": origin,
    }
    return insert(db, sql.ADD_RELATION, values)


def mention_again(
    db: apsw.Connection, chunks: Sequence[int], explicit: Collection[int], edge_rate: float, now: datetime
) -> None:
    """Known relations that these chunks state grow by a mention, each once; those given beside the text have grown."""
    rows = [item for item in db.execute(sql.MENTIONED_RELATIONS, (json.dumps(chunks),)) if item[0] not in explicit]
    done: set[int] = set()
    for key, text, *fact, base, seen in rows:
        if key not in done and any(True for _ in stated(text, [tuple(fact)])):
            done.add(key)
            _see_again(db, key, base, seen, None, edge_rate, now)


def _see_again(
    db: apsw.Connection,
    key: int,
    base: float | None,
    seen: int,
    weight: float | None,
    edge_rate: float,
    now: datetime,
) -> None:
    after = restated(1.0 if base is None else base, edge_rate, age_days(from_micros(seen), now), weight)
    db.execute(sql.SEE_AGAIN, (after, to_micros(now), key))
