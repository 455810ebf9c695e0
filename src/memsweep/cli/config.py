"""memsweep config …"""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from memsweep.cli.door import Json, show, show_pair
from memsweep.errors import AlreadyExists, BadSetting
from memsweep.model.frozen import is_frozen
from memsweep.settings import config_file, load_settings
from memsweep.settings.fields import About, Settings, about

cli = typer.Typer(help="The settings: show, path, init.", no_args_is_help=True)


@cli.command("show")
def show_settings(as_json: Json = False) -> None:
    """Show the settings in effect."""
    answer = load_settings().shown()

    def words(console: Any) -> None:
        for name, value in _flat(answer, ""):
            show_pair(console, f"{name:26}", json.dumps(value))

    show(answer, as_json, words)


@cli.command()
def path() -> None:
    """Print where memsweep.toml is read from."""
    print(config_file())


@cli.command()
def init() -> None:
    """Write a memsweep.toml with every setting and its default, commented out."""
    from memsweep.cli.config import example_file

    file = config_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w", encoding="utf-8") as out:
            out.write(example_file())
    except FileExistsError:
        raise AlreadyExists(f"{file} exists already.", hint="Edit it, or move it away first.") from None
    except OSError as error:
        raise BadSetting(f"{file} cannot be written ({error.strerror}).", hint="Set MEMSWEEP_CONFIG.") from None
    print(f"Wrote {file}.")


def _flat(values: dict[str, Any], prefix: str) -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for name, value in values.items():
        flat += _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else [(prefix + name, value)]
    return flat


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
