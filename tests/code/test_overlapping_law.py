"""Whatever happens in folders that lie inside each other: no file has two memories, and none shows an old text."""

import tempfile
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.code.sandbox import Sandbox
from tests.code.indexed_workspace import IndexedWorkspace
from tests.code.overlapping import CONTENTS, IGNORED, PATHS, ROOTS, OverlappingRoots
from tests.support.counts import rounds
from tests.support.memory_disk import MEMORY_DISK

change = st.one_of(
    st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(CONTENTS)),
    st.tuples(st.just("write"), st.sampled_from(PATHS), st.sampled_from(CONTENTS)),
    st.tuples(st.just("delete"), st.sampled_from(PATHS)),
    st.tuples(st.just("move"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.tuples(st.just("ignore"), st.sampled_from(ROOTS), st.sampled_from(IGNORED)),
    st.tuples(st.just("prune")),
)
index = st.tuples(st.just("index"), st.sampled_from(ROOTS))
histories = st.lists(st.one_of(change, index), min_size=3, max_size=16)


@settings(max_examples=rounds(10, 40))
@given(steps=histories)
def test_no_history_leaves_two_memories_or_an_old_text(sandbox: Sandbox, unsynced: None, steps: list[Any]) -> None:
    with (
        tempfile.TemporaryDirectory(dir=MEMORY_DISK) as folder,
        IndexedWorkspace(Path(folder) / "home", sandbox) as workspace,
    ):
        overlap = OverlappingRoots(workspace, Path(folder) / "r")
        for step in steps:
            overlap.do(*step)
        overlap.settle()
