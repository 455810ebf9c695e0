"""docs/library.md: every operation has a line, and every example runs."""

import inspect
import re
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from scripts import write_docs

from memsweep import ContextHeap, open_memory
from memsweep.services.memory import BaseMemory
from tests.house.tree import ROOT
from tests.support.commands import run_warm

PAGE = (ROOT / "docs" / "library.md").read_text("utf-8")
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def documented(part: str) -> set[str]:
    _, _, rest = PAGE.partition(f"<!-- {part} -->\n")
    table, ended, _ = rest.partition(f"<!-- end of {part} -->")
    assert ended, f"docs/library.md has no table of {part}"
    return set(re.findall(r"^\| `(\w+)\(", table, re.MULTILINE))


def operations(thing: Any) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_") and inspect.isroutine(getattr(thing, name))}


def test_every_operation_of_every_service_has_a_line(home: Path) -> None:
    with open_memory("w", home=home) as memory:
        made_late = [name for name, value in vars(BaseMemory).items() if isinstance(value, cached_property)]
        services = {f"memory.{name}": getattr(memory, name) for name in made_late}
        things = {"memory": memory, "memory.context(…)": memory.context("x"), "ContextHeap": ContextHeap(), **services}
        assert set(things) == set(write_docs.LIBRARY)
        assert {name: documented(name) for name in things} == {name: operations(each) for name, each in things.items()}


def test_every_line_says_what_the_operation_does() -> None:
    assert re.findall(r"^\| `\w+\(.*\| +\|$", PAGE, re.MULTILINE) == []


def test_an_operation_without_a_line_would_be_noticed() -> None:
    class More(write_docs.GraphService[Any]):
        def newest(self) -> int:
            """The newest."""
            return 1

    assert operations(More) - documented("memory.graph") == {"newest"}
    assert "| `newest()` | `int` | The newest. |" in write_docs.operations_table(More)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_examples_run(number: int, home: Path, tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "a.py").write_text("def answer():\n    return 42\n")
    strict = f"import warnings; warnings.simplefilter('error')\n{EXAMPLES[number]}"
    ran = run_warm("-c", strict, home=home, cwd=tmp_path)
    assert ran.status == 0, ran.err
    assert ran.out
