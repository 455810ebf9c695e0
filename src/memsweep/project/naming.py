"""Names of workspaces that are made for a project: readable, and never those of another one. Pure."""

from __future__ import annotations

import hashlib
import re
import unicodedata

_LONGEST_TITLE = 40
_DIGITS = 8
_OTHERS = re.compile(r"[^a-z0-9]+")
_NO_TEXT = "hex:"
_MADE_NAME = re.compile(rf".+-[0-9a-f]{{{_DIGITS}}}")


def workspace_name(title: str, owner: str, attempt: int = 0) -> str:
    """Such as `api-3f9a1c2e`: the name of the folder and a few digits of what it is told from others by."""
    identity = f"{owner}\0{attempt}" if attempt else owner
    digits = hashlib.blake2b(identity.encode(), digest_size=_DIGITS // 2).hexdigest()
    return f"{slug(title)}-{digits}"


def is_made_name(name: str) -> bool:
    """Return whether a name looks like one of `workspace_name`, which nobody chooses by accident."""
    return _MADE_NAME.fullmatch(name) is not None


def slug(title: str) -> str:
    """A folder's name in the letters that ids have; one that has none of them is a `project`."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
    return _OTHERS.sub("-", plain).strip("-")[:_LONGEST_TITLE].rstrip("-") or "project"


def title_of(repository: str) -> str:
    """Return the usual name of a repository: `api` for `…/api/.git`, `…/api.git` and `…/api/.bare`."""
    above, _, name = repository.replace("\\", "/").rstrip("/").rpartition("/")
    if name.startswith("."):
        name = above.rpartition("/")[2]
    return name.removesuffix(".git")


def as_text(path: bytes) -> str:
    """A path as every store can keep it; one that is no UTF-8 is spelt out."""
    try:
        return path.decode()
    except UnicodeDecodeError:
        return _NO_TEXT + path.hex()


def as_path(text: str) -> bytes:
    return bytes.fromhex(text.removeprefix(_NO_TEXT)) if text.startswith(_NO_TEXT) else text.encode()
