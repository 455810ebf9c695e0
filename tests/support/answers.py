"""What is in the answer of each tool, as its type says."""

from functools import cache
from typing import get_type_hints

from memsweep.app import App
from memsweep.server.app import tool_rows
from memsweep.settings import load_settings


@cache
def answer_fields() -> dict[str, tuple[str, ...]]:
    rows = tool_rows(App(load_settings({"MEMSWEEP_HOME": "/nonexistent"})), "full")
    return {row.function.__name__: tuple(get_type_hints(row.function)["return"].__annotations__) for row in rows}
