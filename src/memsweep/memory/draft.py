"""Check what a caller wants remembered. Every refusal names the value and what to do. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memsweep.errors import BadInput
from memsweep.model.checks import MOST_BYTES, few, flag, label, only, share
from memsweep.model.gate import Gate
from memsweep.model.memory import CODE_SOURCE, Fact, MemoryDraft, NamedThing
from memsweep.model.superseding import MOST_SUPERSEDED
from memsweep.model.text import check_text, refuse_lone_surrogate
from memsweep.model.times import parse_time

MAX_TAGS = 64
MAX_METADATA_BYTES = MOST_BYTES["metadata"]
MAX_METADATA_DEPTH = 64

_NUL_IN_JSON = re.compile(rb"(?<!\\)(?:\\\\)*\\u0000")


def make_draft(
    text: object,
    *,
    tags: object = None,
    source: object = "",
    metadata: object = None,
    thread_id: object = None,
    entities: object = None,
    relations: object = None,
    expires_at: object = None,
    pinned: object = False,
    supersedes: object = None,
) -> MemoryDraft:
    return MemoryDraft(
        text=checked_text(text),
        tags=checked_tags(tags),
        source=_source(source),
        metadata=checked_metadata(metadata),
        thread_id=None if thread_id in (None, "") else label(thread_id, "thread_id"),
        entities=None if entities is None else tuple(_thing(e) for e in _items(entities, "entities")),
        facts=tuple(_fact(r) for r in _items(relations, "relations")),
        expires_at=None if expires_at in (None, "") else parse_time(expires_at, "expires_at"),
        pinned=flag(pinned, "pinned"),
        supersedes=_ids(supersedes, "supersedes"),
    )


def through_gate(draft: MemoryDraft, gate: Gate) -> MemoryDraft:
    """The draft as it may be stored."""
    return replace(
        draft,
        text=gate.text(draft.text),
        tags=tuple(dict.fromkeys(gate.texts(draft.tags, "a tag"))),
        source=gate.text(draft.source, "source"),
        metadata=gate.json(draft.metadata, "metadata"),
        thread_id=gate.optional(draft.thread_id, "thread_id"),
        entities=None if draft.entities is None else tuple(gate.thing(thing) for thing in draft.entities),
        facts=tuple(
            replace(
                fact,
                subject=gate.thing(fact.subject),
                relation=gate.text(fact.relation, "a relation"),
                object=gate.thing(fact.object),
            )
            for fact in draft.facts
        ),
    )


def checked_text(value: object) -> str:
    return check_text(value, "text")


def _items(value: object, what: str) -> list[Any]:
    if value is None:
        return []
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise BadInput(f"{what} must be a list, not {type(value).__name__}.")
    return few(list(value), what)


def checked_tags(value: object) -> tuple[str, ...]:
    return tuple(few(list(dict.fromkeys(label(tag, "a tag") for tag in _items(value, "tags"))), "tags", MAX_TAGS))


def _ids(value: object, what: str) -> tuple[str, ...]:
    items = _items(value, what)
    if len(items) > MOST_SUPERSEDED:
        raise BadInput(f"{what} has {len(items)} ids; at most {MOST_SUPERSEDED} are accepted.")
    for each in items:
        if not isinstance(each, str):
            raise BadInput(f"{what} must be a list of memory ids, and {each!r:.80} is none.")
    return tuple(dict.fromkeys(items))


def _source(value: object) -> str:
    source = "" if value in (None, "") else label(value, "source")
    if source == CODE_SOURCE:
        raise BadInput(f"source {CODE_SOURCE!r} is kept for indexed code.", hint="Choose another source.")
    return source


def checked_metadata(value: object) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise BadInput(f"metadata must be an object, not {type(value).__name__}.")
    try:
        encoded = json.dumps(dict(value), allow_nan=False, ensure_ascii=False).encode()
        loaded: dict[str, Any] = json.loads(encoded)
    except UnicodeEncodeError:
        refuse_lone_surrogate(value, "metadata")
        raise
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"metadata cannot be written as JSON ({error}).") from None
    if _NUL_IN_JSON.search(encoded):
        raise BadInput("metadata contains a NUL character.", hint="Remove it.")
    if len(encoded) > MAX_METADATA_BYTES:
        raise BadInput(f"metadata has {len(encoded):,} bytes; at most {MAX_METADATA_BYTES:,} are accepted.")
    if _is_deeper(loaded, MAX_METADATA_DEPTH):
        raise BadInput(f"metadata is nested more than {MAX_METADATA_DEPTH} levels deep.")
    return loaded


def _is_deeper(value: Any, levels: int) -> bool:
    here = [value]
    for _ in range(levels):
        here = [inner for item in here if isinstance(item, dict | list) for inner in _inside(item)]
    return any(isinstance(item, dict | list) for item in here)


def _inside(item: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return item.values() if isinstance(item, dict) else item


def _thing(value: object, what: str = "an entity") -> NamedThing:
    if isinstance(value, NamedThing):
        value = {"name": value.name, "type": value.type}
    if isinstance(value, str):
        return NamedThing(label(value, f"{what}'s name"), "")
    if not isinstance(value, Mapping) or "name" not in value:
        raise BadInput(f"{what} must be a name or {{name, type}}, not {value!r:.80}.")
    only(value, ("name", "type"), what)
    kind = label(value["type"], f"{what}'s type") if value.get("type") else ""
    return NamedThing(label(value["name"], f"{what}'s name"), kind)


def _fact(value: object) -> Fact:
    if isinstance(value, Fact):
        return value
    if not isinstance(value, Mapping) or not {"from", "to", "relation"} <= value.keys():
        raise BadInput(f"a relation must be {{from, relation, to}}, not {value!r:.80}.")
    only(value, ("from", "from_type", "relation", "to", "to_type", "weight"), "a relation")
    weight = share(value["weight"], "a relation's weight") if "weight" in value else None
    ends = ({"name": value[end], "type": value.get(f"{end}_type")} for end in ("from", "to"))
    subject, target = (_thing(end, "a relation's end") for end in ends)
    return Fact(subject, label(value["relation"], "a relation's name"), target, weight)
