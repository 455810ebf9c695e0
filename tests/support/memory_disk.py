"""Where tests keep their files: in memory if the system offers that, because a disk makes every commit wait."""

import os

_PLACE = "/dev/shm"
_ROOM_BYTES = 2 << 30


def _find() -> str | None:
    """Not where it is small, as in many containers, or where the hooks of a repository could not run."""
    if not os.access(_PLACE, os.W_OK | os.X_OK):
        return None
    about = os.statvfs(_PLACE)
    is_roomy = about.f_bavail * about.f_frsize >= _ROOM_BYTES
    return _PLACE if is_roomy and not about.f_flag & os.ST_NOEXEC else None


MEMORY_DISK = _find()
