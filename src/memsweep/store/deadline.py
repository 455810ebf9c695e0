"""What takes too long is given up, and nothing of it is kept."""

from __future__ import annotations

from memsweep.errors import StoreBusy


def too_slow(seconds: float) -> StoreBusy:
    return StoreBusy(
        f"the collection took longer than {seconds:g} s and was stopped; nothing was changed.",
        hint="Collect less at once, or raise gc.apply_seconds in the settings.",
    )
