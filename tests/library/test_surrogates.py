"""Half an emoji, as it is left where a text was cut, is refused in a sentence wherever text comes in."""

from collections.abc import Callable
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import MemsweepError
from memsweep.services.memory import Memory

HALF = "a\ud83d"
Call = Callable[[Memory], Any]


def _adding(**more: Any) -> Call:
    return lambda memory: memory.remember("a text", **more)


def _segment(**more: Any) -> Call:
    return lambda memory: memory.context("p").add([{"text": "a", "type": "note", **more}])


def _filter(**filters: Any) -> Call:
    return lambda memory: memory.search("a", filters=filters)


# what is named, and the call
CALLS: list[tuple[str, Call]] = [
    ("text", lambda memory: memory.remember(HALF)),
    ("tag", _adding(tags=[HALF])),
    ("source", _adding(source=HALF)),
    ("metadata", _adding(metadata={HALF: 1})),
    ("metadata.a[0].b", _adding(metadata={"a": [{"b": HALF}]})),
    ("thread_id", _adding(thread_id=HALF)),
    ("entit", _adding(entities=[HALF])),
    ("type", _adding(entities=[{"name": "a", "type": HALF}])),
    ("relation", _adding(relations=[{"from": HALF, "relation": "R", "to": "b"}])),
    ("filters.tags", _filter(tags=[HALF])),
    ("filters.source", _filter(source=HALF)),
    ("filters.path", _filter(path=HALF)),
    ("filters.language", _filter(language=HALF)),
    ("repo_path", lambda memory: memory.code.index(HALF)),
    ("from", lambda memory: memory.graph.relate(HALF, "R", "b")),
    ("relation", lambda memory: memory.graph.relate("a", HALF, "b")),
    ("from_entity", lambda memory: memory.graph.reinforce(HALF, "R", "b")),
    ("reason", lambda memory: memory.graph.reinforce("Ada", "KNOWS", "Bob", reason=HALF)),
    ("search", lambda memory: memory.graph.entities(HALF)),
    ("type", lambda memory: memory.graph.entities(entity_type=HALF)),
    ("entity", lambda memory: memory.graph.related(HALF)),
    ("relation_types[0]", lambda memory: memory.graph.related("Ada", relation_types=[HALF])),
    ("entities[0]", lambda memory: memory.graph.query(HALF)),
    ("entity", lambda memory: memory.graph.plan_merge([HALF], "Ada")),
    ("text", lambda memory: memory.graph.build(HALF)),
    ("segment", _segment(text=HALF)),
    ("segment", _segment(tags=[HALF])),
    ("segment", _segment(file_path=HALF)),
    ("segment", _segment(references=[HALF])),
    ("task_id", lambda memory: memory.context("p").analyze(task_id=HALF)),
]


@pytest.mark.parametrize(("named", "call"), CALLS, ids=[f"{number} {name}" for number, (name, _) in enumerate(CALLS)])
def test_half_an_emoji_is_refused_by_the_name_of_what_has_it(app: App, named: str, call: Call) -> None:
    memory = app.memory()
    memory.graph.relate("Ada", "KNOWS", "Bob")
    memory.context("p").add([{"text": "a", "type": "note"}])
    with pytest.raises(MemsweepError) as refused:
        call(memory)
    said = str(refused.value)
    assert "lone surrogate" in said
    assert named in said.partition("contains")[0]
    said.encode()  # and can be printed


@pytest.mark.parametrize(
    "call",
    [
        lambda memory: memory.get(HALF),
        lambda memory: memory.delete(HALF, confirm=True),
        lambda memory: memory.pin(HALF),
        lambda memory: memory.sweep.undo(HALF),
        lambda memory: memory.sweep.get_plan(HALF),
        lambda memory: memory.search("a", cursor=HALF),
        lambda memory: memory.search("a", filters={"date_from": HALF}),
        lambda memory: memory.context(HALF),
        lambda memory: memory.care.backup(HALF),
        lambda memory: memory.graph.export_file(f"{HALF}.json"),
        lambda memory: memory.graph.import_file(HALF),
    ],
)
def test_an_id_or_a_file_that_nothing_can_have_gets_a_sentence(
    app: App, call: Call, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    memory = app.memory()
    memory.graph.relate("Ada", "KNOWS", "Bob")
    with pytest.raises(MemsweepError) as refused:
        call(memory)
    assert "\\ud83d" in str(refused.value)
