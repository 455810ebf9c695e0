"""Which prompts ask for something, and what that changes."""

import pytest

from memsweep.hooks.prompting import asked, least_relevance
from memsweep.settings.fields import HookSettings


@pytest.mark.parametrize(
    ("prompt", "asks"),
    [
        ("Which database did we choose for orders?", True),
        ("which database did we choose for orders", True),
        ("Ok, so what was the name of the bucket", True),
        ("Please tell me where the invoices are kept.", True),
        ("The build fails on the new machine, any idea?", True),
        ("In which month do we ship", True),
        ("Rename the function load_rows to read_rows.", False),
        ("Please rename the function load_rows.", False),
        ("Whatever you do, keep the tests green.", False),
        ("Fix the test that says 'why?' in its name.", False),
        ("Isolate the parser 🙂", False),
    ],
)
def test_a_prompt_that_asks_nothing_is_told_only_what_is_nearer_to_certain(prompt: str, asks: bool) -> None:
    for floor in (0.0, 0.5, 0.7, 1.0):
        least = least_relevance(prompt, HookSettings(least_relevance=floor))
        assert least == (floor if asks else pytest.approx(floor + (1 - floor) / 3))


@pytest.mark.parametrize("prompt", ["", "go on", "/compact what is next", "<memsweep-memory>a b c d</memsweep-memory>"])
def test_what_is_too_short_or_a_command_is_not_searched_for(prompt: str) -> None:
    assert asked(prompt) == ""
