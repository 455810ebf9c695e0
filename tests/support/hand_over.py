"""Hands its pipes, arguments and environment to a process that forks one like it: `python hand_over.py SOCKET -m …`.

Executed alone and often, so it imports little and nothing of ours. See `warm_python`.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys

STATUS_BYTES = 4
_LOST = 70


def main() -> None:
    place, *arguments = sys.argv[1:]
    order = json.dumps({"arguments": arguments, "env": dict(os.environ), "folder": os.getcwd()}).encode()
    with socket.socket(socket.AF_UNIX) as line:
        line.connect(place)
        socket.send_fds(line, [len(order).to_bytes(4, "big")], [0, 1, 2])
        line.sendall(order)
        for descriptor in range(3):  # they belong to the other one alone
            os.close(descriptor)
        said = line.recv(STATUS_BYTES, socket.MSG_WAITALL)
    status = int.from_bytes(said, "big", signed=True) if said else _LOST
    if status < 0:
        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
