"""Where a passage of code stands."""

from __future__ import annotations

from datetime import datetime

from memsweep.model.frozen import frozen
from memsweep.model.times import moment_or_none


@frozen
class CodePlace:
    """Where a passage of code stands, and when its file was last seen to be so."""

    path: str
    file_path: str
    language: str
    symbol: str
    kind: str
    verified_at: datetime | None


def code_place(
    path: str | None, root: str, language: str, symbol: str, kind: str, verified_at: int | None
) -> CodePlace | None:
    """From what an engine keeps of a chunk; None if it is no code."""
    if path is None:
        return None
    verified = moment_or_none(verified_at)
    return CodePlace(path, f"{root.rstrip('/')}/{path}", language, symbol, kind, verified)
