"""Power cuts that once lost something, each as its own story. They run in a process of their own, which forks."""

import json

import pytest

from tests.support.commands import run_warm

STORIES = {
    "the first memory of a new home": (False, [[0, "add"]]),
    "the first memory of a home that the schedule had made": (False, [[1, "schedule"], [0, "add"]]),
    "a memory added while somebody else had opened the log": (True, [[0, "stats"], [1, "add"]]),
}
PROGRAM = """
import json, random, sys
from pathlib import Path
from tests.faults import examining, lab, story

prepared, acts = json.loads(sys.argv[1])
with lab.place() as folder:
    told = story.tell_exactly(folder, acts, prepared=prepared)
    for event in told.events:
        told.disk.follow(event)
    told.disk.image(folder / "image", "dropped", random.Random(0))
    with lab.opened(folder / "image" / "home") as app:
        texts = [hit.passage.text for hit in app.memory().search("note about Grace Hopper").hits]
print(json.dumps(texts))
"""


@pytest.mark.parametrize("name", STORIES)
def test_what_was_acknowledged_is_there_although_nothing_unsynced_is(name: str) -> None:
    ran = run_warm("-c", PROGRAM, json.dumps(STORIES[name]))
    assert any("about Grace Hopper 🐘" in text for text in ran.json), ran
