"""The memsweep.toml that `memsweep config init` writes: every setting with its meaning and default. Pure."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memsweep.model.frozen import is_frozen
from memsweep.settings.fields import About, Settings, about

_HEAD = (
    "memsweep.toml: every setting with its default. Environment variables win, such as MEMSWEEP_HOME"
    " or MEMSWEEP_EMBEDDING_MODEL."
)


def example_file() -> str:
    return "\n".join([*_comment(_HEAD), *_lines(Settings())]) + "\n"


def _lines(values: Any) -> Iterator[str]:
    for name, meant in about(type(values)).items():
        value = getattr(values, name)
        yield ""
        if is_frozen(value):
            yield f"[{name}]  # {meant.meaning}"
            yield from _lines(value)
        else:
            yield from _comment(meaning_with_choices(meant))
            yield f"# {name} = {_toml(value)}"


def meaning_with_choices(meant: About) -> str:
    words = [meant.meaning, f"one of {', '.join(meant.choices)}" if meant.choices else ""]
    return "; ".join(filter(None, words))


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _toml(value: Any) -> str:
    match value:
        case Path():
            return '""'
        case Mapping():
            return "{}"
        case tuple():
            return json.dumps(list(value))
    return json.dumps(value)
