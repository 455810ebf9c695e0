"""From the command to a server, with the client's first questions answered on the way. Standard library alone."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import suppress

from memsweep.errors import BadInput
from memsweep.project.resolver import existing_folder
from memsweep.server.front import Front
from memsweep.server.profiles import PROFILES, Profile
from memsweep.settings import load_settings

_OBJECTS_BETWEEN_LOOKS = 10_000
_M_ARENA_MAX = -8
"""As malloc.h has it."""


def look_for_cycles_seldom() -> None:
    """Of what a call makes hardly anything is part of a cycle: to look every 700 objects took 2 to 10 % of a search."""
    gc.set_threshold(_OBJECTS_BETWEEN_LOOKS)


def share_few_heaps() -> None:
    """Let all threads share two heaps: glibc has eight a core, and each keeps what the largest call needed of it."""
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # other libraries than glibc have one heap, and no such switch
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, 2)


def known_profile(name: str) -> Profile:
    for known in PROFILES:
        if known == name:
            return known
    raise BadInput(f"profile {name!r} is unknown.", hint=f"Use one of: {', '.join(PROFILES)}.")


def start(profile: str, project: str = "") -> None:
    """Serve until the client hangs up. What is heavy is imported while the front answers."""
    chosen = known_profile(profile)
    look_for_cycles_seldom()
    # Python's way to stop would wait for the thread that reads standard input; nothing here needs a farewell.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    settings = load_settings()  # a server that cannot serve does not greet
    folder = existing_folder(project) if project else ""
    front = Front()
    front.answer_early(chosen)
    share_few_heaps()

    from memsweep.app import make_app
    from memsweep.server.app import serve

    serve(make_app(settings, project=folder), chosen, front)
