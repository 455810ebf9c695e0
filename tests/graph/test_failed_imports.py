"""An import that fails, at whatever stage, makes no workspace."""

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.app import App, make_app
from memsweep.errors import MemsweepError
from memsweep.settings import load_settings
from tests.support.counts import rounds
from tests.support.engines import ENGINES, Home
from tests.support.memory_disk import MEMORY_DISK

names = st.text(max_size=12) | st.sampled_from(["a", "A", "á", "\u200b", " ", "\u0301", "ﬁ", "fi", "x" * 2000, "🎉"])
times = st.none() | st.sampled_from(
    ["2026-01-01", "0001-01-01", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00", "soon", 5]
)
numbers = st.none() | st.floats() | st.integers() | st.sampled_from([0, 1, 0.5, 2**61])
extras = st.fixed_dictionaries(
    {},
    optional={
        "created_at": times,
        "last_seen": times,
        "valid_at": times,
        "invalid_at": times,
        "weight": numbers,
        "confidence": numbers,
        "evidence": numbers,
        "pinned": st.booleans(),
        "aliases": st.lists(st.tuples(names, names), max_size=2).map(json.dumps) | names,
    },
)
ids = st.sampled_from(["a", "b", "c", "ent_000000000001", "rel_000000000001"])
entities = st.lists(
    st.tuples(ids, names, names, extras).map(lambda e: {**e[3], "id": e[0], "name": e[1], "type": e[2]})
)
relations = st.lists(
    st.tuples(ids, ids, ids, names, extras).map(
        lambda r: {**r[4], "id": r[0], "source": r[1], "target": r[2], "relation": r[3]}
    )
)


def refusal(app: App, workspace: str, graph: dict[str, Any]) -> str:
    try:
        app.memory(workspace).graph.load(json.dumps(graph))
    except MemsweepError as error:
        return str(error)
    return ""


@settings(max_examples=rounds(20, 60))
@given(st.lists(st.fixed_dictionaries({"entities": entities, "relations": relations}), min_size=1, max_size=3))
def test_an_import_makes_a_workspace_or_says_why_not(graphs: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder:
        for kind in ENGINES:
            home = Home(kind, Path(folder) / kind)
            app = make_app(load_settings(home.variables))
            for number, graph in enumerate(graphs):
                workspace = f"w{number}"
                said = refusal(app, workspace, graph)
                made = workspace in [each.id for each in app.workspaces()]
                assert made is (said == ""), said
                assert len(said) < 700
            app.close()
            home.close()
