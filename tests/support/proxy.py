"""Between a client and a server on the loopback: TLS for a server that has none, and replies that get lost."""

import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path

import pytest


class Proxy:
    """Passes bytes on in both directions until it is closed. With `tls` the client's side is encrypted."""

    def __init__(self, target: int, *, tls: ssl.SSLContext | None = None) -> None:
        self.lose_reply_to = b""
        """The client is cut off instead of getting the reply to a request with these bytes in it."""
        self.lose_reply_at = 0
        """The same for the so many-th request from now on, none for 0."""
        self.is_away_then = False
        """From then on, nobody is let in or answered."""
        self.asked = 0
        self.bytes_heard = 0
        """Of such a reply it still gets so many."""
        self.lost = 0
        self._target, self._tls = target, tls
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def close(self) -> None:
        for each in (self._listener, *list(self._open)):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        for thread in self._threads:
            thread.join(10)

    def _accept(self) -> None:
        while True:
            try:
                plain, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(plain,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, plain: socket.socket) -> None:
        client, server = plain, None
        self._open.add(plain)
        try:
            if self.is_away_then and self.lost:
                raise OSError
            if self._tls is not None:
                client = self._tls.wrap_socket(plain, server_side=True)
                self._open.add(client)
            server = socket.create_connection(("127.0.0.1", self._target))
            self._open.add(server)
            back = threading.Thread(target=self._answers, args=(server, client), daemon=True)
            back.start()
            self._requests(client, server)
            server.shutdown(socket.SHUT_WR)
            back.join(10)
        except (OSError, ValueError):
            pass  # either side went away, or the client did not trust us
        finally:
            for each in (client, plain, server):
                if each is not None:
                    self._open.discard(each)
                    each.close()

    def _requests(self, client: socket.socket, server: socket.socket) -> None:
        while sent := client.recv(1 << 16):
            self.asked += 1
            if (self.lose_reply_to and self.lose_reply_to in sent) or self.asked == self.lose_reply_at:
                self.lose_reply_to = b""
                self._doomed = client
            server.sendall(sent)

    _doomed: socket.socket | None = None

    def _answers(self, server: socket.socket, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            while answer := server.recv(1 << 16):
                if self._doomed is client:
                    self._doomed = None
                    self.lost += 1
                    client.sendall(answer[: self.bytes_heard])
                    break
                client.sendall(answer)
            client.shutdown(socket.SHUT_RDWR)


def certificate(folder: Path, name: str = "IP:127.0.0.1") -> tuple[Path, ssl.SSLContext]:
    """A certificate that nobody knows, as the file of its authority and as what a server needs."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here to make a certificate")
    crt, key = folder / "ca.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    command += ["-subj", "/CN=memsweep test", "-addext", f"subjectAltName={name}", "-days", "2"]
    subprocess.run([*command, "-keyout", key, "-out", crt], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(crt, key)
    return crt, context
