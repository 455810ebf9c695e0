"""Hands its pipes, arguments and environment to a process that forks one like it: `python hand_over.py SOCKET -m …`.

Executed alone and often, so it imports nothing of ours, and nothing of Python that is not built in: `json` and `socket`
take longer to import than Python takes to start. See `warm_python`.
"""

import _socket
import marshal
import os
import sys

STATUS_BYTES = 4
_LOST = 70


def main() -> None:
    place, *arguments = sys.argv[1:]
    order = marshal.dumps({"arguments": arguments, "env": dict(os.environ), "folder": os.getcwd()})
    line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    line.connect(place)
    pipes = b"".join(descriptor.to_bytes(4, sys.byteorder) for descriptor in range(3))
    line.sendmsg([len(order).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, pipes)])
    line.sendall(order)
    for descriptor in range(3):  # they belong to the other one alone
        os.close(descriptor)
    said = line.recv(STATUS_BYTES, _socket.MSG_WAITALL)
    status = int.from_bytes(said, "big", signed=True) if said else _LOST
    if status < 0:
        import signal

        if -status not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


if __name__ == "__main__":
    main()
