"""The types of tools' arguments as clients see them: objects with their fields, words to choose from, dates.

The checks themselves, and their sentences, are those of the features; a test compares the names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from memsweep.model.checks import FLAG, NUMBER, TEXT, TIME, Schema, fields, items_of, one_of
from memsweep.model.origin import TIERS
from memsweep.model.search import FILTERS


def looks_like(schema: Mapping[str, Any], about: str | None = None) -> Any:
    """A parameter that a client sees so, whatever its type in Python is."""
    return Field(description=about, json_schema_extra=dict(schema))


Time = Annotated[str | None, looks_like({"format": "date-time"})]

FILTERS_SHOWN = fields((), **{name: each.schema for name, each in FILTERS.items()})
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
