"""One tree of errors; every class owns its code, its exit status and a hint what to do next.

MemsweepError                 1  anything below
├── BadInput                  2  a value that cannot be accepted
│   └── BadSetting            2  the same, in memsweep.toml or the environment
├── NotFound                  3  an id that is not there
│   └── UnknownWorkspace      3  a workspace that is not there
├── Conflict                  4  the state does not allow it
│   ├── AlreadyExists         4  the id is taken
│   ├── Unconfirmed           4  a destructive call without its confirmation
│   └── ModelMismatch         4  the workspace was embedded by another model
├── NotAllowed                4  the token does not go that far
├── StoreError                5  the disk or the engine refused
│   ├── StoreAway             5  the server cannot be reached
│   ├── StoreBusy             5  another process holds the write lock for too long
│   ├── StoreFull             5  no space left
│   ├── StoreReadOnly         5  the folder or the file cannot be written
│   ├── StoreCorrupt          5  the file is damaged, or is not ours
│   └── StoreTooNew           5  written by a newer memsweep
└── EmbedderError             6  the embedding service did not answer as it should
"""

from __future__ import annotations

import re

INSTALL = "uv tool install ."  # in a checkout: nothing is published under our name yet
MAX_ECHO = 200  # characters of one value that an error repeats
_MAX_SENTENCE = 600
_HEAD, _TAIL = 120, 77
# A value without spaces, or one in quotes.
_VALUE = re.compile(
    rf"(?<!\S)\S{{{MAX_ECHO + 1},}}+"
    r"|(?<![^\s(])'(?:[^'\\]++|\\.)*+'(?!\w)"
    r'|(?<![^\s(])"(?:[^"\\]++|\\.)*+"(?!\w)',
    re.DOTALL,
)


def install_extra(extra: str) -> str:
    """Return how an optional part is installed."""
    return f"In a checkout of memsweep: uv tool install '.[{extra}]', or pip install '.[{extra}]' where you use pip."


class MemsweepError(Exception):
    """Something a user can understand and act on: one sentence, and a hint."""

    code = "error"
    exit_status = 1

    def __init__(self, message: str, *, hint: str = "") -> None:
        self.message = brief(message)
        super().__init__(self.message)
        self.hint = brief(hint)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


def brief(sentence: str) -> str:
    """A sentence that repeats no secret, and only the two ends of a value that is too long to be read."""
    from memsweep.secrets.find import redacted  # late: most commands end without an error

    sentence = redacted(sentence)[0]
    if not sentence.isascii():  # half of a surrogate pair cannot be printed
        sentence = sentence.encode("utf-8", "backslashreplace").decode()
    if len(sentence) <= MAX_ECHO:
        return sentence
    return _ends(_VALUE.sub(lambda found: _ends(found.group(), MAX_ECHO), sentence), _MAX_SENTENCE)


def _ends(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:_HEAD]} … {text[-_TAIL:]}"


class BadInput(MemsweepError):
    code = "bad_input"
    exit_status = 2


class BadSetting(BadInput):
    code = "bad_setting"


class NotFound(MemsweepError):
    code = "not_found"
    exit_status = 3


class UnknownWorkspace(NotFound):
    code = "unknown_workspace"
    was_deleted = False


class Conflict(MemsweepError):
    code = "conflict"
    exit_status = 4


class AlreadyExists(Conflict):
    code = "already_exists"


class Unconfirmed(Conflict):
    code = "unconfirmed"


class ModelMismatch(Conflict):
    code = "model_mismatch"


class NotAllowed(MemsweepError):
    code = "not_allowed"
    exit_status = 4


class StoreError(MemsweepError):
    code = "store_error"
    exit_status = 5


class StoreAway(StoreError):
    code = "store_away"


class StoreBusy(StoreError):
    code = "store_busy"


class StoreFull(StoreError):
    code = "store_full"


class StoreReadOnly(StoreError):
    code = "store_read_only"


class StoreCorrupt(StoreError):
    code = "store_corrupt"


class StoreTooNew(StoreError):
    code = "store_too_new"


class EmbedderError(MemsweepError):
    code = "embedder_error"
    exit_status = 6
