"""Check what a call hands in on its way to the store: secrets are redacted, refused, or only noticed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from memsweep.errors import BadInput
from memsweep.model.memory import NamedThing
from memsweep.model.text import listed
from memsweep.secrets.find import find, redacted

_LONGEST_NAME = 80


class Gate:
    """The gate of one call; it remembers which kinds of secrets it met."""

    def __init__(self, action: str) -> None:
        self.action = action
        self._kinds: dict[str, None] = {}

    def text(self, value: str, what: str = "text") -> str:
        """A text as it may be stored; `what` names it where it is refused."""
        if self.action == "off" or not (secrets := find(value)):
            return value
        self._kinds |= dict.fromkeys(secret.kind for secret in secrets)
        if self.action == "refuse":
            raise BadInput(
                f"{what} holds a secret ({listed(list(self._kinds))}); nothing was stored.",
                hint="Take it out; the setting secrets.action can also redact it.",
            )
        return redacted(value)[0] if self.action == "redact" else value

    def own_id(self, value: str, what: str) -> str:
        """A name by which something is found again: it stays as it is, or is refused."""
        if self.action in ("redact", "refuse") and (secrets := find(value)):
            kinds = listed(list(dict.fromkeys(secret.kind for secret in secrets)))
            raise BadInput(
                f"{what} holds a secret ({kinds}); nothing was stored.",
                hint="Choose another one: a name that things are found by cannot be redacted.",
            )
        return self.text(value, what) if self.action == "warn" else value

    def optional(self, value: str | None, what: str) -> str | None:
        return value if value is None else self.text(value, what)

    def texts(self, values: tuple[str, ...], what: str) -> tuple[str, ...]:
        return tuple(self.text(value, what) for value in values)

    def thing(self, thing: NamedThing) -> NamedThing:
        return NamedThing(self.text(thing.name, "an entity's name"), self.text(thing.type, "an entity's type"))

    def json(self, value: Any, what: str) -> Any:
        """The same for the keys and the texts of what came as JSON. A name before its value makes it a secret, too."""
        match value:
            case str():
                return self.text(value, what)
            case Mapping():
                return self._members(value, what)
            case list() | tuple():
                return [self.json(each, what) for each in value]
        return value

    def _members(self, value: Mapping[str, Any], what: str) -> dict[str, Any]:
        passed: dict[str, Any] = {}
        for key, each in value.items():
            name = first = self.text(key, what)
            while name in passed:  # two names that were secrets are still two
                name = f"{first} {len(passed)}"
            passed[name] = self._member(key, each, what)
        return passed

    def _member(self, key: str, value: Any, what: str) -> Any:
        """`{"api_key": "…"}`: what a text would say as `api_key: "…"`."""
        if not isinstance(value, str):
            return self.json(value, what)
        before = f'{key[-_LONGEST_NAME:]}: "'
        passed = self.text(f'{before}{value}"', what)
        if passed.startswith(before) and passed.endswith('"'):
            value = passed[len(before) : -1]
        return self.text(value, what)

    def saw(self, kinds: Iterable[str]) -> None:
        """Count kinds that somebody else met."""
        self._kinds |= dict.fromkeys(kinds)

    def met(self, other: Gate) -> None:
        """Count what another gate met."""
        self._kinds |= other._kinds

    @property
    def redacted(self) -> tuple[str, ...]:
        """The kinds that were redacted."""
        return tuple(self._kinds) if self.action == "redact" else ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the warnings about secrets that were stored as they are."""
        if not self._kinds or self.action != "warn":
            return ()
        return (f"Stored with a secret in it ({listed(list(self._kinds))}).",)

    @property
    def notes(self) -> tuple[str, ...]:
        """Either of them, as sentences."""
        return (f"Redacted: {listed(list(self._kinds))}.",) if self.redacted else self.warnings
