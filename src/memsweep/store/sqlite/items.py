"""The rows that plans speak of. Inside the caller's transaction."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import apsw

from memsweep.model.distinctive_words import WordGroups
from memsweep.model.ids import findable
from memsweep.model.plan import Kind, Survey
from memsweep.store.file.connect import one, row
from memsweep.store.file.words import any_of, having
from memsweep.store.ports.items import Around, Described, Keys, LiveRow
from memsweep.store.sqlite import gc_sql, item_sql, superseding_sql, surveying
from memsweep.store.sqlite.words import count_of as words_count


class SqliteItems:
    """Implements `memsweep.store.ports.items.ItemRows`."""

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def survey(self, needs: Collection[str], missing_files: Collection[int] = ()) -> Survey:
        return surveying.survey(self._db, needs, missing_files)

    def find(self, item_id: str) -> tuple[Kind, int, str | None] | None:
        found: tuple[Kind, int, str | None] | None = row(self._db, item_sql.FIND, {"id": findable(item_id)})
        return found

    def describe(self, wanted: Keys) -> dict[tuple[Kind, int], Described]:
        found: dict[tuple[Kind, int], Described] = {}
        for kind, keys in wanted.items():
            if kind == "relation":
                rows = self._rows(item_sql.DESCRIBE_RELATIONS, keys)
                found |= {(kind, key): _described_relation(*said) for key, *said in rows}
            else:
                rows = self._rows(item_sql.DESCRIBE[kind], keys)
                found |= {(kind, key): Described(*said) for key, *said in rows}
        return found

    def texts(self, memories: Collection[int]) -> dict[int, str]:
        return dict(self._rows(item_sql.TEXTS, memories))

    def survey_of(self, memories: Collection[int], entities: Collection[int] = ()) -> Survey:
        return surveying.survey_of(self._db, memories, entities)

    def same_text(self, memories: Collection[int]) -> set[int]:
        return {key for (key,) in self._rows(gc_sql.SAME_TEXT, memories)}

    def count_words(self, words: Collection[str]) -> dict[str, int]:
        return {word: words_count(self._db, word) for word in words}

    def with_any_word(self, words: Collection[str]) -> set[int]:
        return {key for (key,) in self._db.execute(gc_sql.WITH_ANY_WORD, (any_of(list(words)),))} if words else set()

    def with_words(self, words: WordGroups) -> set[int]:
        return {key for (key,) in self._db.execute(gc_sql.WITH_ANY_WORD, (having(words.needed, words.groups),))}

    def in_pieces(self, words: Collection[str]) -> set[int]:
        return {key for (key,) in self._db.execute(gc_sql.IN_PIECES, (any_of(list(words)),))}

    def last_seen(self, memories: Collection[int]) -> dict[int, int]:
        return dict(self._rows(item_sql.LAST_SEEN, memories))

    def superseded(self, memories: Collection[int]) -> set[int]:
        return {key for (key,) in self._rows(superseding_sql.STILL_SUPERSEDED, memories)}

    def live(self, wanted: Keys) -> dict[tuple[Kind, int], LiveRow]:
        return {
            (kind, key): LiveRow(version, bool(pinned), tuple(other for other in others if other is not None))
            for kind, keys in wanted.items()
            for key, version, pinned, *others in self._rows(item_sql.LIVE[kind], keys)
        }

    def ids(self, wanted: Keys) -> dict[tuple[Kind, int], str]:
        return {(kind, key): uid for kind, keys in wanted.items() for key, uid in self._rows(item_sql.IDS[kind], keys)}

    def count(self, kinds: Sequence[Kind]) -> dict[Kind, int]:
        return {kind: one(self._db, item_sql.COUNT[kind]) for kind in kinds}

    def chunks_of(self, memories: Collection[int]) -> list[int]:
        return [key for (key,) in self._rows(item_sql.CHUNKS_OF, memories)]

    def stated_by(self, memories: Collection[int]) -> list[tuple[int, bool]]:
        return [(key, bool(explicit)) for key, explicit in self._rows(item_sql.STATED_BY, memories)]

    def sources(self, relations: Collection[int]) -> list[tuple[int, int]]:
        return self._rows(item_sql.SOURCES, relations)

    def around(self, entities: Collection[int]) -> Around:
        return Around(self._rows(item_sql.MENTIONED_BY, entities), self._rows(item_sql.RELATIONS_AT, entities))

    def relations_at(self, entities: Collection[int]) -> set[int]:
        return {key for (key,) in self._rows(item_sql.RELATION_KEYS_AT, entities)}

    def pin(self, kind: Kind, key: int, pinned: bool) -> None:
        self._db.execute(item_sql.PIN[kind], (pinned, key))

    def _rows(self, statement: str, keys: Collection[int]) -> list[Any]:
        return self._db.execute(statement, {"keys": json.dumps(list(keys))}).fetchall() if keys else []


def _described_relation(
    uid: str, name: str, created_at: int, subject: str, target: str, subject_name: str, target_name: str
) -> Described:
    return Described(uid, name, created_at, ends=(subject, target), end_names=(subject_name, target_name))
