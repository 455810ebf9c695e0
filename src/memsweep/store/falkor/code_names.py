"""The names of some files as entities: known, made, renamed, or beside one that differs in letter case alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from memsweep.model.code import FileWrite, other_case, things_of
from memsweep.model.memory import NamedThing
from memsweep.model.text import case_key, name_key, spelled
from memsweep.store.falkor import code_cypher
from memsweep.store.falkor.rows import FalkorRows
from memsweep.store.falkor.transaction import Transaction
from memsweep.store.names import Handled, Names, reads_of_names

NewId = Callable[[str], str]


class CodeNames:
    """Every name of some files, known or made; a name that is seen again is not a changed one."""

    def __init__(
        self, tx: Transaction, files: Sequence[FileWrite], now: int, new_id: NewId, origin: int | None
    ) -> None:
        self._now, self._new_id, self._origin = now, new_id, origin
        things = things_of(files)
        rows = FalkorRows(tx)
        found, aliases = rows.ask(*reads_of_names({thing.name for thing in things}))
        self.names = Names(rows, found, aliases)
        self.names.look_further()
        self._wanted = {(spelled(thing.name), name_key(thing.type)) for thing in things}
        doubtful = [
            known.row.key for thing in things if (known := self.names.find(thing)) and _is_other_case(known, thing)
        ]
        self._used = _used_elsewhere(tx, doubtful, {file.memory_id for file in files})
        self._found = {thing: self._see(thing) for thing in things}

    def __getitem__(self, thing: NamedThing) -> Handled:
        return self._found[thing]

    def _see(self, thing: NamedThing) -> Handled:
        known = self.names.find(thing)
        if known is not None and _is_other_case(known, thing):
            known = self._other_case(thing, known)
        elif known is None:
            known = self._add(thing)
        if known.row.last_seen < self._now:
            known.touch(last_seen=self._now)
        return known

    def _add(self, thing: NamedThing, named: str = "") -> Handled:
        uid, by = self._new_id("ent"), self._origin
        return self.names.add(thing, uid, self._now, by, named=named, explicit=False)

    def _other_case(self, thing: NamedThing, known: Handled) -> Handled:
        wanted = (spelled(known.row.name), name_key(thing.type)) in self._wanted
        given = known.row.explicit or known.row.pinned
        match other_case(wanted=wanted, used=known.row.key in self._used, given=given):
            case "renamed":
                known.change(name=thing.name)
            case "another":
                return self._add(thing, case_key(thing.name))
        return known


def _is_other_case(known: Handled, thing: NamedThing) -> bool:
    """Return whether an entity has this name but for letter case; one found by an old name has another one."""
    name = known.row.name
    return name_key(name) == name_key(thing.name) and spelled(name) != spelled(thing.name)


def _used_elsewhere(tx: Transaction, entities: list[int], written: set[str]) -> set[int]:
    if not entities:
        return set()
    asked = {"entities": entities}
    answers = tx.ask_all((code_cypher.MENTIONING, asked), (code_cypher.STATING, asked))
    return {key for rows in answers for key, memory in rows if memory not in written}
