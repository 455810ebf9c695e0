"""The types of tools' arguments as clients see them: objects with their fields, words to choose from, dates.

The checks themselves, and their sentences, are those of the features; a test compares the names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from memsweep.model.origin import TIERS, UNKNOWN
from memsweep.model.roles import ROLES
from memsweep.model.search import KINDS

Schema = dict[str, Any]
TEXT: Schema = {"type": "string"}
NUMBER: Schema = {"type": "number"}
WHOLE: Schema = {"type": "integer"}
FLAG: Schema = {"type": "boolean"}
TIME: Schema = {"type": "string", "format": "date-time"}


def items_of(kind: Schema) -> Schema:
    return {"type": "array", "items": kind}


def one_of(words: Sequence[str]) -> Schema:
    return {"type": "string", "enum": list(words)}


def fields(required: Sequence[str] = (), **kinds: Schema) -> Schema:
    """An object with these fields and no others."""
    named = {name.removesuffix("_"): kind for name, kind in kinds.items()}  # `from_`, which Python has a use for
    closed: Schema = {"properties": named, "additionalProperties": False}
    return {"type": "object", **closed, **({"required": list(required)} if required else {})}


def looks_like(schema: Mapping[str, Any], about: str | None = None) -> Any:
    """A parameter that a client sees so, whatever its type in Python is."""
    return Field(description=about, json_schema_extra=dict(schema))


Time = Annotated[str | None, looks_like({"format": "date-time"})]

FILTERS = fields(
    tags=items_of(TEXT),
    source=TEXT,
    date_from=TIME,
    date_to=TIME,
    include_stale=FLAG,
    include_expired=FLAG,
    path={**TEXT, "description": "file, folder or pattern"},
    language=TEXT,
    symbol_kind=TEXT,
    as_of=TIME,
    tier=one_of([*TIERS, UNKNOWN.tier]),
    client=TEXT,
    session=TEXT,
    kind=one_of(KINDS),
    role=one_of(ROLES),
    include_tests=FLAG,
    metadata={
        "type": "object",
        "additionalProperties": {},
        "description": '{"ticket.id": 42, "score": {">=": 3}}',
    },
)
WHOSE = fields(session=TEXT, client=TEXT, tier=one_of(TIERS), source=TEXT, since=TIME, until=TIME)
ENTITY: Schema = {"anyOf": [TEXT, fields(["name"], name=TEXT, type=TEXT)]}
RELATION = fields(
    ["from", "relation", "to"], from_=TEXT, relation=TEXT, to=TEXT, weight=NUMBER, from_type=TEXT, to_type=TEXT
)
BATCH = fields(
    entities=items_of(fields(["name"], local_id=TEXT, name=TEXT, type=TEXT)),
    relations=items_of(
        fields(
            ["from", "relation", "to"],
            from_=TEXT,
            relation=TEXT,
            to=TEXT,
            weight=NUMBER,
            valid_at=TIME,
            replaces=FLAG,
            source=TEXT,
        )
    ),
)
BUILD_OPTIONS = fields(
    types={"type": "object", "additionalProperties": TEXT},
    default_type=TEXT,
    weight=NUMBER,
    related=FLAG,
    dry_run=FLAG,
)
