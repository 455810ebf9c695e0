"""Values at some paths in metadata as properties of live memories, with an index each, which a setting asks for.

A query cannot look into the JSON of metadata. The graph says itself which paths it has properties for, so who writes
a memory keeps them, whatever their own settings are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import Any

from memsweep.errors import StoreAway, StoreBusy, StoreError
from memsweep.model.conditions import Condition, Scalar, value_at
from memsweep.model.text import mapping
from memsweep.store.falkor.transaction import GraphHandle, Transaction
from memsweep.store.things.memories import MEMORY

_KEPT = "metadata_index"
_STORED = "MATCH (m:{label}) RETURN m.key, m.metadata"
_SET = "MATCH (m:{label} {{ref: toString(row.key)}}) SET m += row.set"


def _property(path: str) -> str:
    return f"metadata_{blake2b(path.encode(), digest_size=6).hexdigest()}"


def values_of(meta: Mapping[str, Any], kept: str) -> dict[str, Any]:
    """Return the properties of a memory with this metadata, as its graph wants them; nothing where it is damaged."""
    if not (paths := meta.get(_KEPT)):
        return {}
    try:
        metadata = mapping(kept)
    except (TypeError, ValueError, RecursionError):
        metadata = {}
    return {_property(path): _found_by(value_at(metadata, path.split("."))) for path in paths}


def _found_by(value: Scalar | None) -> Scalar | None:
    """Return the form of a value that an index finds: of texts it misses long ones, and white space at the end."""
    return blake2b(value.encode(), digest_size=16).hexdigest() if isinstance(value, str) else value


def keep(graph: GraphHandle, paths: tuple[str, ...]) -> None:
    """Have these properties and indexes, and no others."""
    with graph.writing() as tx:
        there = set(tx.meta.get(_KEPT) or ())
        if there == set(paths):
            return
        for statement in (
            *(f"CREATE INDEX FOR (m:Memory) ON (m.{_property(path)})" for path in set(paths) - there),
            *(f"DROP INDEX ON :Memory({_property(path)})" for path in there - set(paths)),
        ):
            try:
                graph.link.change(graph.name, statement)
            except (StoreAway, StoreBusy):
                raise
            except StoreError:  # it is there, or gone already
                continue
        tx.set_meta(**{_KEPT: list(paths)})
        _fill(tx, dict.fromkeys(map(_property, there)))


def _fill(tx: Transaction, none: Mapping[str, None]) -> None:
    for label in MEMORY.labels("any"):
        rows = tx.ask(_STORED.format(label=label))
        tx.do(
            _SET.format(label=label),
            [{"key": key, "set": {**none, **values_of(tx.meta, kept)}} for key, kept in rows],
        )


def among(conditions: Iterable[Condition]) -> tuple[str, dict[str, Any]]:
    """Return a condition on `m` that an index answers, with its values; what it lets pass is compared afterwards."""
    parts, values = list[str](), dict[str, Any]()
    for place, asked in enumerate(each for each in conditions if each.is_indexed):
        name, at = f"at{place}", f"m.{_property('.'.join(asked.path))}"
        if asked.op == "in":
            parts.append(f"{at} IN ${name} AND ")
            values[name] = [*map(_found_by, asked.values)]
        elif asked.op != "exists" and not isinstance(asked.values[0], str):  # texts are in no order there
            parts.append(f"{at} {asked.op[0]}= ${name} AND ")  # large whole numbers are equal there
            values[name] = asked.values[0]
    return "".join(parts), values
