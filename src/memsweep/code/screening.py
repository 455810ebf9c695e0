"""A file's text as it may be stored: without the keys that somebody wrote into it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from memsweep.code.secret_text import RULES_VERSION
from memsweep.code.text import Decoded
from memsweep.model.text import listed
from memsweep.redact.find import find, redacted


class Screened(NamedTuple):
    """What may be stored (nothing, if the file is refused), and what to say of it."""

    decoded: Decoded | None
    warning: str = ""


def screen(path: str, decoded: Decoded, action: str) -> Screened:
    """Lines stay where they are, so that a reader finds in the file what a chunk shows."""
    kinds = list(dict.fromkeys(secret.kind for secret in find(decoded.text))) if action != "off" else []
    if not kinds:
        return Screened(decoded)
    match action:
        case "refuse":
            return Screened(None, f"{path}: not indexed, it holds a secret ({listed(kinds)})")
        case "warn":
            return Screened(decoded, f"{path}: indexed with a secret in it ({listed(kinds)})")
    text, kinds_found = redacted(decoded.text, keep_lines=True)
    return Screened(replace(decoded, text=text), f"{path}: redacted a secret ({listed(list(kinds_found))})")


def holds_secrets(text: str) -> bool:
    return bool(find(text))


def judged_by(action: str) -> str:
    """The rules that a content was judged by, as they stand before its hash; other ones read it once more."""
    rules = f"rules{RULES_VERSION}"
    return rules if action == "redact" else f"{rules}-{action}"
