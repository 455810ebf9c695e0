"""The fields of each tool's answer, as `docs/tools.md` explains them."""

import re
from functools import cache

from tests.support.environment import ROOT

_SECTION = re.compile(r"^### `(\w+)`(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)


@cache
def explained_names() -> dict[str, frozenset[str]]:
    """All names in the section of a tool: its arguments, and the fields of its answer."""
    page = (ROOT / "docs" / "tools.md").read_text("utf-8")
    return {tool: frozenset(re.findall(r"`(\w+)`", section)) for tool, section in _SECTION.findall(page)}
