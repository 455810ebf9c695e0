"""Run a command as a user whom file permissions bind: `python ordinary.py COMMAND…`.

Root ignores permission bits because of two capabilities. They are dropped from the bounding set, so
the command that is executed does not get them back. (Another uid would do as well, but could not run
an interpreter that lives below /root.) Exit status 77: this machine does not allow it.
"""

import ctypes
import os
import sys

CANNOT = 77
_PR_CAPBSET_DROP = 24
_BINDING = (1, 2)  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH


def drop() -> bool:
    """Whether this process, once it has executed another program, is bound by permissions."""
    if os.geteuid() != 0:
        return True
    if not sys.platform.startswith("linux"):
        return False
    prctl = ctypes.CDLL(None).prctl
    return all(prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) == 0 for capability in _BINDING)


if __name__ == "__main__":
    if not drop():
        sys.exit(CANNOT)
    os.execv(sys.argv[1], sys.argv[1:])
