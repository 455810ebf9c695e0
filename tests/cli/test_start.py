"""What a command loads before it answers: a person waits for it, or a hook of a client."""

import io
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from memsweep import open_memory
from memsweep.cli.memory import plain
from tests.support.commands import run

OF_OTHER_COMMANDS = {
    "memsweep.model": "audit care code plan",
    "memsweep.memory": "agreement chunking names remember similar",
    "memsweep.store.file": "health",
    "memsweep.store.sqlite": "code collector reembedding repeats writing",
}


@pytest.mark.slow
def test_a_search_loads_nothing_that_only_other_commands_need(home: Path) -> None:
    with open_memory("notes", home=home) as memory:
        memory.remember("The build runs on machine 3.")
    code = (
        "import sys\nfrom memsweep.cli import run\n"
        "run(['search', 'which machine builds', '-w', 'notes'])\nprint(*sys.modules, file=sys.stderr)"
    )
    found = run([sys.executable, "-c", code], home=home)
    assert "The build runs on machine 3." in found.out
    others = {f"{room}.{name}" for room, names in OF_OTHER_COMMANDS.items() for name in names.split()}
    assert set(found.err.split()) & {"rich", "tokenizers", *others} == set()


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n")))
@example("a\tbc\t漢字\t")
@example("bell\a, back\b, \v, \f, \r")
def test_plain_text_is_what_rich_prints_off_a_terminal(text: str) -> None:
    printed = io.StringIO()
    Console(file=printed, highlight=False, emoji=False).print(Text(text), soft_wrap=True)
    assert printed.getvalue() == f"{plain(text)}\n"
