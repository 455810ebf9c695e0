"""Check the filters of a search. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from memsweep.errors import BadInput
from memsweep.model.checks import fitting, flag, only, plain_text
from memsweep.model.conditions import make_conditions
from memsweep.model.frozen import fields_of
from memsweep.model.origin import TIERS, UNKNOWN
from memsweep.model.roles import ROLES
from memsweep.model.search import KINDS, Filters
from memsweep.model.times import parse_time

Choice = TypeVar("Choice", bound=str)
_LONGEST = 4096  # of a path
_KNOWN = tuple(name for name in fields_of(Filters) if name != "held_back")


def make_filters(value: object = None) -> Filters:
    """Filters from an object such as `{"tags": ["api"], "date_from": "2026-01-01"}`."""
    if value is None:
        return Filters()
    if isinstance(value, Filters):
        value = {name: getattr(value, name) for name in _KNOWN}
    if not isinstance(value, Mapping):
        raise BadInput(f"filters must be an object, not {type(value).__name__}.")
    only(value, _KNOWN, "filters")
    given = {key: item for key, item in value.items() if item is not None}
    filters = Filters(
        tags=_tags(given.get("tags", ())),
        source=_text(given["source"], "source") if "source" in given else None,
        date_from=parse_time(given["date_from"], "date_from") if "date_from" in given else None,
        date_to=parse_time(given["date_to"], "date_to", end_of_day=True) if "date_to" in given else None,
        include_stale=flag(given.get("include_stale", False), "filters.include_stale"),
        path=_text(given["path"], "path") if "path" in given else None,
        language=_text(given["language"], "language").lower() if "language" in given else None,
        symbol_kind=_text(given["symbol_kind"], "symbol_kind").lower() if "symbol_kind" in given else None,
        as_of=parse_time(given["as_of"], "as_of", end_of_day=True) if "as_of" in given else None,
        tier=_tier(given["tier"]) if "tier" in given else None,
        client=_text(given["client"], "client") if "client" in given else None,
        session=_text(given["session"], "session") if "session" in given else None,
        kind=_one_of(given["kind"], "kind", KINDS) if "kind" in given else None,
        role=_one_of(given["role"], "role", ROLES) if "role" in given else None,
        include_tests=flag(given.get("include_tests", True), "filters.include_tests"),
        include_expired=flag(given.get("include_expired", False), "filters.include_expired"),
        metadata=make_conditions(given.get("metadata", {})),
    )
    if filters.date_from and filters.date_to and filters.date_from > filters.date_to:
        raise BadInput(f"date_from {given['date_from']} is after date_to {given['date_to']}.")
    return filters


def _tags(value: object) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise BadInput(f"filters.tags must be a list of tags, not {value!r:.80}.")
    return tuple(dict.fromkeys(_text(tag, "tags") for tag in value))


def _text(value: object, what: str) -> str:
    return fitting(plain_text(value, f"filters.{what}"), f"filters.{what}", _LONGEST).strip()


def _tier(value: object) -> str:
    if value not in (*TIERS, UNKNOWN.tier):
        raise BadInput(f"filters.tier must be one of {', '.join((*TIERS, UNKNOWN.tier))}, not {value!r:.80}.")
    return str(value)


def _one_of(value: object, what: str, known: Sequence[Choice]) -> Choice:
    found = [each for each in known if each == value]
    if not found:
        raise BadInput(f"filters.{what} must be {', '.join(known[:-1])} or {known[-1]}, not {value!r:.80}.")
    return found[0]
