"""An error names a value, and repeats at most 200 characters of it, however long it is."""

import itertools
from typing import Any

import pytest

from memsweep.errors import MAX_ECHO, BadInput, brief
from memsweep.model.checks import MOST_BYTES, MOST_OTHER_BYTES
from memsweep.model.text import MAX_TEXT_BYTES
from tests.support.client import MODES, ServerClient
from tests.support.counts import some_of

# Shorter than the limit of an argument. No stretch of it occurs twice, so that any part of it can be found.
LONG = " ".join(str(number) for number in range(10_000, 10_650))
UNBROKEN = LONG.replace(" ", "")
SMALL: dict[str, Any] = {"string": "x", "integer": 1, "number": 0.5, "boolean": True, "array": [], "object": {}}


def repeats(answer: str, value: str) -> int:
    """The longest stretch of a value that an answer holds."""
    longest = 0
    for start in range(len(answer)):
        while start + longest < len(answer) and answer[start : start + longest + 1] in value:
            longest += 1
    return longest


# Right by their form, or wrong.
VALUES: list[Any] = [LONG, UNBROKEN, [UNBROKEN], {UNBROKEN: LONG}, [{UNBROKEN: LONG}]]


def _required(schema: dict[str, Any], name: str) -> dict[str, Any]:
    others = {other: schema["properties"][other] for other in schema.get("required", []) if other != name}
    return {other: SMALL[field.get("type", "string")] for other, field in others.items()}


@pytest.fixture(scope="module", params=some_of(MODES, 1))
def mode(request: pytest.FixtureRequest) -> str:
    """One generation of the protocol shows it; a soak takes both."""
    return str(request.param)


@pytest.mark.soak
def test_no_tool_repeats_a_long_value(server: ServerClient) -> None:
    tried, wrong = 0, []
    for tool in server.tools().values():
        schema = tool.input_schema
        for name in [*schema["properties"], UNBROKEN]:
            if name == "text":  # is kept, and may be long
                continue
            for value in VALUES:
                result = server.call_raw(tool.name, {**_required(schema, name), name: value})
                if result.is_error:
                    tried += 1
                    (content,) = result.content
                    said = content.text  # type: ignore[union-attr]
                    if max(repeats(said, LONG), repeats(said, UNBROKEN)) > MAX_ECHO or "unexpectedly" in said:
                        wrong.append((tool.name, name[:20], said[:300]))
    assert wrong == []
    assert tried > 300


@pytest.mark.soak
def test_every_argument_of_every_tool_has_a_length(server: ServerClient) -> None:
    for tool in server.tools().values():
        schema = tool.input_schema
        for name in schema["properties"]:
            too_long = "x" * (MOST_BYTES.get(name, MOST_OTHER_BYTES) + 1)
            if len(too_long) < MAX_TEXT_BYTES:
                result = server.call_raw(tool.name, {**_required(schema, name), name: too_long})
                (content,) = result.content
                assert f"Error: {name} has {len(too_long):,} bytes; at most" in content.text  # type: ignore[union-attr]


@pytest.mark.parametrize(("quote", "long"), list(itertools.product(["", "'", '"'], [LONG, UNBROKEN])))
def test_a_sentence_keeps_the_ends_of_a_long_value(quote: str, long: str) -> None:
    said = str(BadInput(f"file {quote}{long}{quote} is not there.", hint="Look again."))
    assert said.startswith(f"file {quote}10000")
    assert said.endswith(f"{quote} is not there. Look again.")
    assert repeats(said, long) <= MAX_ECHO
    assert len(said) < 300


@pytest.mark.parametrize("sentence", ["short", "it's the client's own", "x" * 200, "a word " * 80])
def test_a_sentence_of_ordinary_length_stays_as_it_is(sentence: str) -> None:
    assert brief(sentence) == sentence
