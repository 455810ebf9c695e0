"""The origin of something: set by the door that it came through, never by what it says. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import Literal

from memsweep.errors import BadInput
from memsweep.model.frozen import frozen, replace

Tier = Literal["person", "agent", "tool", "import", "unknown"]
Door = Literal["mcp", "http", "cli", "page", "library", "hook", "import", "index"]

TIERS: tuple[str, ...] = ("person", "agent", "tool", "import")
"""Said by a person, concluded by an agent, printed by a tool, brought by an import or the web: most trusted first."""
TIER_OF_DOOR = {
    "cli": "person",
    "page": "person",
    "mcp": "agent",
    "http": "agent",
    "library": "agent",
    "hook": "tool",
    "import": "import",
    "index": "import",
}
_LONGEST = 80
_PLAIN = re.compile(
    r"(?:[A-Za-z]{1,14}(?:[_ .-]{1,2}[A-Za-z]{1,14})*|[\d.]{1,12}|ses_[a-z0-9]{12}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})?"
)
"""Names of programs, versions, and ids of sessions as we and others make them: no rule finds a secret in one."""


@frozen
class Origin:
    """A door, who came through it, and how far that is trusted; all empty for what is from before origins were kept.

    Names come from clients, so they are kept short and on one line: they are shown beside what was recalled.
    """

    door: str = ""
    client: str = ""
    version: str = ""
    session: str = ""
    tool: str = ""
    tier: str = "unknown"

    def __post_init__(self) -> None:
        for name in ("client", "version", "session", "tool"):
            object.__setattr__(self, name, _one_line(getattr(self, name)))

    def lowered(self, tier: str) -> Origin:
        """The same, trusted no more than this tier; an empty one changes nothing, a higher one is refused."""
        if not tier:
            return self
        if not isinstance(tier, str) or tier not in TIERS:
            raise BadInput(f"tier must be one of {', '.join(TIERS)}, not {tier!r:.40}.")
        if rank(tier) > rank(self.tier):
            raise BadInput(
                f"tier {tier!r} is above {self.tier!r}, the tier of this door; it can only be lowered.",
                hint="Leave it out, or name a lower one.",
            )
        return replace(self, tier=tier)

    def at_most(self, tier: str) -> Origin:
        """The same, trusted no more than this tier."""
        return replace(self, tier=tier) if rank(tier) < rank(self.tier) else self

    def through(self, door: Door) -> Origin:
        """The same, but brought by something less direct, such as an index run or an import."""
        return replace(self, door=door).at_most(TIER_OF_DOOR[door])

    @property
    def actor(self) -> str:
        """As the audit log names it."""
        return f"{self.door}:{self.client}"[:_LONGEST] if self.client else self.door

    @property
    def brief(self) -> str:
        """In a few words: `agent, claude-code`."""
        return ", ".join(filter(None, (self.tier, self.client or self.door)))


@lru_cache(maxsize=512)
@lru_cache(maxsize=1024)  # every hit has one, and there are few
def stored_origin(door: str | None, *rest: str | None) -> Origin:
    """From what an engine keeps, in the order of the fields; nothing at all is from before origins were kept."""
    return UNKNOWN if door is None else Origin(door, *(part or "" for part in rest))


def rank(tier: str) -> int:
    """Return how far a tier is trusted; an unknown one counts as an import."""
    return len(TIERS) - TIERS.index(tier) if tier in TIERS else 1


@lru_cache(maxsize=256)
def without_secrets(origin: Origin) -> Origin:
    """The same, with a mark in the place of a key that somebody has for a name; a session stays one of its own."""
    names = {name: getattr(origin, name) for name in ("client", "version", "session", "tool")}
    if all(map(_PLAIN.fullmatch, names.values())):
        return origin
    from memsweep.secrets.find import redacted  # the rules take long to load

    names = {name: redacted(value)[0] for name, value in names.items()}
    return replace(origin, **names | {"session": renamed_session(origin.session, names["session"])})


def renamed_session(session: str, redacted: str) -> str:
    """A session under a name without the key in it: two that were named by keys are still two."""
    if redacted == session:
        return session
    return f"{redacted} {blake2b(session.encode(), digest_size=4).hexdigest()}"


def _one_line(name: str) -> str:
    text = " ".join("".join(letter if letter.isprintable() else " " for letter in name).split())
    return text[:_LONGEST]


UNKNOWN = Origin()
