"""Recognise a secret by its text, whatever its file is called.

Programs speak of keys, and tests carry them: of those only a file that begins with one is left out. Any other text is
if it holds a key, and data also if it is an account. Every pattern begins with a line or a word, so that no text makes
it slow.
"""

from __future__ import annotations

import re
from typing import Literal

Kind = Literal["program", "prose", "data"]

RULES_VERSION = 6
"""Raised with every new rule: files read under fewer are read once more.

3: what is binary, what is minified; 4: keys inside of files; 5: keys behind escapes, in tables, of more providers;
6: in pages, in heredocs, in outputs of Terraform.
"""

_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY|PuTTY-User-Key-File-|AGE-SECRET-KEY-|openssh-key-v1", re.ASCII
)
_COMMENT = ("#", "//", ";", "--", "/*", "*", "<!--", "%", "rem ", "REM ")
_PREAMBLE_LINES = 200

# Not a mere mention of it: what follows is as long as a line of a key is.
_KEY_INSIDE = re.compile(
    r"^[ \t]*-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----[ \t]*\n"
    r"(?:[ \t]*(?:[A-Za-z-]+:[^\n]*)?\n){0,8}[ \t]*[A-Za-z0-9+/=]{40}",
    re.MULTILINE | re.ASCII,
)
_KEY_IN_JSON = re.compile(r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY-----\\n[A-Za-z0-9+/=]{40}", re.ASCII)
_GOOGLE_ACCOUNT = re.compile(r'"type"\s*:\s*"(?:service_account|authorized_user|external_account)"')
_GOOGLE_SECRET = re.compile(r'"(?:private_key|refresh_token|client_secret)"\s*:\s*"[^"]')
_KUBE_KIND = re.compile(r'\bkind"?[ \t]*:[ \t]*"?Config\b')
_KUBE_PARTS = tuple(re.compile(rf'\b{part}"?[ \t]*:') for part in ("clusters", "users"))
_CLOUD_KEY = re.compile(r"^[ \t]*(?:export[ \t]+)?aws_secret_access_key[ \t]*[=:][ \t]*\S{30}", re.MULTILINE | re.I)


def is_secret_text(text: str, kind: Kind = "data") -> bool:
    """Return whether a file with this text must not be indexed."""
    if _begins_with_key(text):
        return True
    return kind != "program" and (_holds_key(text) or (kind == "data" and _is_account(text)))


def _begins_with_key(text: str) -> bool:
    """A key is the first thing in it, but for comments."""
    position = 0
    for _ in range(_PREAMBLE_LINES):
        end = text.find("\n", position)
        line = text[position : end if end >= 0 else None].strip("\ufeff \t\r\f\v")
        if _KEY.match(line):
            return True
        if end < 0 or (line and not line.startswith(_COMMENT)):
            return False
        position = end + 1
    return False


def _holds_key(text: str) -> bool:
    # The words are looked for first, here and below: most texts have none of them.
    return "PRIVATE KEY" in text and any(pattern.search(text) for pattern in (_KEY_INSIDE, _KEY_IN_JSON))


def _is_account(text: str) -> bool:
    """Of a cloud or a cluster, in the form in which their own tools keep it."""
    if '"type"' in text and _GOOGLE_ACCOUNT.search(text) and _GOOGLE_SECRET.search(text):
        return True
    if "Config" in text and _KUBE_KIND.search(text) and all(part.search(text) for part in _KUBE_PARTS):
        return True
    return _CLOUD_KEY.search(text) is not None
