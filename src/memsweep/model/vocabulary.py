"""The closed sets of words that rows hold. Whoever checks a row needs nothing else of the model."""

from __future__ import annotations

from typing import Literal

ItemKind = Literal["memory", "chunk", "entity", "relation", "segment", "record"]
"""A record is what the workspace keeps of itself: an event, a plan, a receipt, what something was before."""

Act = Literal["state", "mention", "confirm", "correct", "see", "set", "end"]
ACTS: tuple[Act, ...] = ("state", "mention", "confirm", "correct", "see", "set", "end")
"""What is done to a fact."""

ActOnMemory = Literal["say", "update"]
ACTS_ON_MEMORIES: tuple[ActOnMemory, ...] = ("say", "update")
