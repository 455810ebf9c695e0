"""What a client is told about arguments is what is accepted."""

from dataclasses import fields as fields_of
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import BadInput
from memsweep.model.checks import WHOLE
from memsweep.model.memory import RELATION
from memsweep.model.search import Filters
from memsweep.model.segment import ContextSegment
from memsweep.server import tools as arguments
from memsweep.server.tools.context import DESCRIPTORS, SEGMENT

OURS = {"generation", "gc_survival_count", "refcount", "last_touched_at"}  # fields of a segment that nobody hands in
SAMPLES: dict[str, Any] = {"string": "x", "number": 0.5, "integer": 1, "boolean": True}
TIME = "2026-01-01T00:00:00Z"


def _sample(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    if schema.get("format") == "date-time":
        return TIME
    match schema["type"]:
        case "object":
            return {name: _sample(each) for name, each in schema.get("properties", {}).items()}
        case "array":
            return [_sample(schema["items"])] * (2 if schema["items"] == WHOLE else 1)
    return SAMPLES[schema["type"]]


def test_the_filters_are_those_that_search_has(app: App) -> None:
    assert set(arguments.FILTERS_SHOWN["properties"]) == {field.name for field in fields_of(Filters)} - {"held_back"}
    app.memory().remember("something")
    app.memory().search("x", filters=_sample(arguments.FILTERS_SHOWN))


def test_the_fields_of_a_segment_are_those_that_it_has(app: App) -> None:
    assert set(SEGMENT["properties"]) == {field.name for field in fields_of(ContextSegment)} - OURS
    segment = {**_sample(SEGMENT), "references": []}
    assert app.memory().context("p").add([segment]).segment_ids == (segment["segment_id"],)
    app.memory().context("p").analyze(descriptors=_sample(DESCRIPTORS))


def test_relations_and_batches_are_taken_as_they_are_described(app: App) -> None:
    memory = app.memory()
    memory.remember("Ada and Bob", entities=["Cy", {"name": "Di", "type": "Person"}], relations=[_sample(RELATION)])
    batch = _sample(arguments.BATCH)
    for each in batch["relations"]:
        del each["source"]  # which has to be a memory that is there
    memory.graph.relate_many(batch)
    memory.graph.build("Ada knows Bob", {**_sample(arguments.BUILD_OPTIONS), "types": {"Ada": "Person"}})


def test_a_field_that_is_not_described_is_refused(app: App) -> None:
    memory = app.memory()
    memory.remember("something")
    with pytest.raises(BadInput, match="more"):
        memory.search("x", filters={"more": 1})
    with pytest.raises(BadInput, match="more"):
        memory.graph.relate_many({"more": 1})
