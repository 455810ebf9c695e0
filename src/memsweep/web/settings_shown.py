"""The settings in force as rows, without anything that must stay secret. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from memsweep.settings import Settings


class SettingRow(NamedTuple):
    name: str
    value: str
    is_set: bool
    """Whether it is another value than the default."""


def settings_in_force(settings: Settings) -> list[SettingRow]:
    """Return the settings, changed ones first, each in the order of the documentation."""
    defaults = dict(_flat(Settings().shown()))
    rows = [
        SettingRow(name, _shown(name, value), value != defaults.get(name) and name != "home")
        for name, value in _flat(settings.shown())
    ]
    return sorted(rows, key=lambda row: not row.is_set)


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def _shown(name: str, value: Any) -> str:
    """Return a value to show. Addresses and commands of a notice often contain keys: only who is called is shown."""
    if name == "schedule.notify_url" and value:
        called = urlsplit(str(value))
        return f"{called.scheme}://{called.hostname or ''}/…"
    if name == "schedule.notify_command" and value:
        return f"{value[0]} …"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
