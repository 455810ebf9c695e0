"""Rows that hold somebody's words beside memories: once, over the rows of any engine."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from memsweep.model.columns import Declaration, part
from memsweep.model.graph_rows import Alias, EntityRecord, Name
from memsweep.model.text import case_key, name_key, spelled
from memsweep.store.rows import Find, Rows, Values, Where, is_in
from memsweep.store.things import collected, graph, memories, windows
from memsweep.store.things.graph import ENTITY, EntityRow, MentionLink, NameSeen

_THINGS = (
    memories.REVISION,
    memories.MEMORY_ACT,
    memories.ORIGIN,
    graph.ENTITY,
    graph.RELATION,
    windows.SEGMENT,
    memories.THREAD,
    windows.PROJECT,
    collected.PLAN,
    collected.RECEIPT,
    collected.AUDIT,
)
KINDS: dict[str, Declaration] = {each.table: each for each in _THINGS}
"""In the order in which they are looked through: names come after the texts that they were found in."""

part(EntityRecord, ENTITY)
_MANY = 100
"""Of so many memories, a graph is asked first whether any entity is in the trash."""


class Record(NamedTuple):
    """A row with its words, by the names of their columns; lists and JSON as they are written in Python."""

    kind: str
    key: int
    id: str
    version: int
    trash: int | None
    values: Mapping[str, Any]


class Records:
    """Rows with words, and what has none of its own."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def page(self, kind: str, after: int, limit: int) -> list[Record]:
        """So many beyond a key, in the order of their keys."""
        (found,) = self._rows.ask(Find(KINDS[kind].row, (("key", ">", after),), "any", limit=limit))
        return [_record(KINDS[kind], row) for row in found]

    def at(self, kind: str, keys: Collection[int]) -> dict[int, Record]:
        found = self._rows.find(KINDS[kind].row, ("key", "in", keys), bin="any")
        return {row.key: _record(KINDS[kind], row) for row in found}

    def aliases(self) -> list[Alias]:
        """All of them."""
        return self._rows.ask(Find(Alias, order=("name_key", "type_key")))[0]

    def entity_names(self) -> list[tuple[str, int]]:
        """Return the names of live entities as they are compared, other names included, each with its entity."""
        own, others = self._rows.ask(Values(EntityRow, ("name_key", "key")), Find(Alias, order=()))
        live = {key for _, key in own}
        return [*map(tuple, own), *((each.name_key, each.entity) for each in others if each.entity in live)]

    def names_seen(self) -> list[str]:
        """Names that are only counted yet."""
        return [row.name for row in self._rows.ask(Find(NameSeen, order=("name_key",)))[0]]

    def write(self, kind: str, changed: Iterable[tuple[int, Mapping[str, Any]]]) -> None:
        """Other values of rows, by their keys; their versions grow."""
        it, rows = KINDS[kind], dict(changed)
        if rows:
            names = [name for name in it.columns if it.columns[name].in_words]
            words = {key: [values[it.in_file(name)] for name in names] for key, values in rows.items()}
            self._rows.change(it.row, names, words)

    def description(self) -> str:
        """Return the description of the workspace."""
        return str(self._rows.told("description") or "")

    def describe(self, description: str) -> None:
        """Set it as the workspace says it of itself; the list of workspaces has a copy."""
        self._rows.tell(description=description)

    def forget_names(self, names: Collection[str]) -> None:
        """Names are not counted any more."""
        self._rows.free(NameSeen, *is_in("name", names))


class NewEntity(NamedTuple):
    id: str
    name: str
    name_key: str
    type: str
    type_key: str
    created_at: int


class Entities:
    """Entities, live or in the trash."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def at(self, keys: Collection[int]) -> dict[int, EntityRecord]:
        return {row.key: row for row in self._rows.find(EntityRecord, ("key", "in", keys), bin="any")}

    def trashed_by(self, receipts: Collection[int]) -> list[EntityRecord]:
        """In the order of their keys."""
        return self._rows.find(EntityRecord, ("trash", "in", receipts), bin="trash")

    def live_named(self, names: Collection[Name]) -> dict[Name, EntityRecord]:
        found = self._rows.find(EntityRecord, ("name_key", "in", {name for name, _ in names}))
        return {each.full_name: each for each in found if each.full_name in names}

    def live_called(self, name_keys: Collection[str]) -> dict[str, int]:
        """Live ones that have these names, whatever their types, as their own or another one: the newest of each."""
        names: Where = ("name_key", "in", name_keys)
        own = [(each.key, each.name_key) for each in self._rows.find(EntityRecord, names)]
        others = self._rows.ask(Find(Alias, (names,), order=()))[0]
        live = {each.key for each in self._rows.find(EntityRecord, ("key", "in", {each.entity for each in others}))}
        return {
            name: key for key, name in sorted([*own, *((o.entity, o.name_key) for o in others if o.entity in live)])
        }

    def find(self, name_or_id: str) -> int | None:
        """Return the live entity of that id or name; of several the one that is surest.

        One that is spelled exactly so, beside another that differs in case alone, comes first; a name that is not an
        entity's may be the old name of one; any such one, whose case differs, comes last.
        """
        exact = case_key(name_or_id)
        names: Where = ("name_key", "in", {name_key(name_or_id), exact})
        by_id, named = self._rows.ask(
            Find(EntityRecord, (("id", "in", {name_or_id} if name_or_id.startswith("ent_") else ()),)),
            Find(EntityRecord, (names,)),
        )
        if by_id:
            return int(by_id[0].key)
        if not named:
            once, named = self._rows.ask(Find(Alias, (names,), order=()), Find(EntityRecord, in_any_case(name_or_id)))
            if once:
                named = self._rows.find(EntityRecord, ("key", "in", {each.entity for each in once})) or named
        return min(((each.name_key != exact, *by_certainty(each)) for each in named), default=(None,))[-1]

    def mentioned_by(self, memories: Collection[int]) -> set[int]:
        """Return entities in the trash that memories in the trash mention."""
        if len(memories) > _MANY and not self._rows.ask(Find(EntityRecord, (), "trash", limit=1))[0]:
            return set()
        where: tuple[Where, ...] = (("chunk.memory", "in", memories), ("entity.trash", "known", None))
        (found,) = self._rows.ask(Values(MentionLink, ("entity",), where, "any", distinct=True, near="trash"))
        return {key for (key,) in found}

    def trash(self, keys: Collection[int], receipt: int) -> None:
        self._rows.move(EntityRow, dict.fromkeys(keys, receipt))

    def hand_on(self, receipts: Mapping[int, int]) -> None:
        """Hand entities in the trash on to other receipts."""
        self._rows.move(EntityRow, receipts, bin="trash")

    def add(self, new: NewEntity) -> int:
        """A new one that somebody handed in; its key."""
        return self._rows.add([EntityRow(*new, last_seen=new.created_at)])[0]

    def set(self, changed: Iterable[EntityRecord]) -> None:
        """Strength and version of live ones."""
        strengths = {each.key: (*each.strength, each.version) for each in changed}
        self._rows.change(EntityRow, ("confidence", "last_seen", "explicit", "pinned", "version"), strengths)


def in_any_case(name: str) -> tuple[Where, ...]:
    """Return what the key of a name that another one has meets, which differs in nothing but letter case."""
    start = case_key(name).removesuffix(spelled(name))
    return ("name_key", ">=", start), ("name_key", "<", f"{start[:-1]} ")


def by_certainty(entity: EntityRecord | EntityRow) -> tuple[bool, bool, int, int]:
    """Of several entities of one name: handed in before found, pinned before not, seen last, oldest."""
    return not entity.explicit, not entity.pinned, -entity.last_seen, entity.key


class Aliases:
    """Other names of entities."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    def at(self, entities: Collection[int] = (), names: Collection[Name] = ()) -> list[Alias]:
        """Return those of these entities, and those that are one of these names; some may be there twice."""
        of, named = is_in("entity", entities), is_in("name_key", {name for name, _ in names})
        theirs, others = self._rows.ask(Find(Alias, of, order=()), Find(Alias, named, order=()))
        return [*theirs, *(each for each in others if each.full_name in names)]

    def put(self, aliases: Iterable[Alias]) -> None:
        """Add or replace, by name."""
        self._rows.put([*aliases], replace=True)

    def drop(self, names: Collection[Name]) -> None:
        self._rows.drop(Alias, sorted(names))

    def drop_of_receipt(self, receipt: int) -> None:
        self._rows.free(Alias, ("receipt", "=", receipt))


def _record(it: Declaration, row: Any) -> Record:
    values = {
        it.in_file(name): list(value) if isinstance(value := getattr(row, name), tuple) else value
        for name, column in it.columns.items()
        if column.in_words
    }
    uid = row.id if "id" in it.columns and "uid" not in values else f"{it.table} {row.key}"
    version, trash = getattr(row, "version", 0), row.trash if it.bins else None
    return Record(it.table, row.key, uid, version, trash, values)


def digest_of(values: Mapping[str, Any]) -> str:
    said = json.dumps(dict(values), sort_keys=True)
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
