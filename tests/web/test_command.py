"""`memsweep ui` as a process: the link, the first page, the end."""

import http.client
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.support.commands import MEMSWEEP, environment
from tests.support.http import is_hung_up_on
from tests.support.waiting import PATIENCE, wait_for


@contextmanager
def page(home: Path, **settings: str) -> Iterator[tuple[subprocess.Popen[str], int, str]]:
    """The process, its port, and the one-time token."""
    command = [*MEMSWEEP, "ui", "--port", "0", "--no-open"]
    env = environment(home) | settings
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ui:
        try:
            assert ui.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)/login#(\S+)", ui.stdout.readline())
            assert found is not None
            yield ui, int(found[1]), found[2]
        finally:
            ui.kill()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_a_link_serves_and_ends_when_it_is_told_to(home: Path, ending: signal.Signals) -> None:
    with page(home) as (ui, port, token):
        headers = {"origin": f"http://127.0.0.1:{port}", "content-type": "application/x-www-form-urlencoded"}
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as browser:
            browser.request("POST", "/login", f"token={token}", headers)
            answer = browser.getresponse()
            assert (answer.status, answer.headers["location"]) == (303, "/")
        ui.send_signal(ending)
        out, err = ui.communicate(timeout=PATIENCE)
        assert token not in out + err
        assert "Traceback" not in err
        assert ui.returncode in (0, -ending)


@pytest.mark.slow
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_no_other_account_reads_the_link_from_the_command_line_of_the_browser(tmp_path: Path, umask: int) -> None:
    """A browser that writes down how it was called, and what it was shown."""
    home, seen, shown = tmp_path / "home", tmp_path / "seen", tmp_path / "shown"
    browser = tmp_path / "browser"
    browser.write_text(
        f"#!{sys.executable}\n"
        "import os, pathlib, sys, urllib.parse, urllib.request\n"
        "page = pathlib.Path(urllib.request.url2pathname(urllib.parse.urlsplit(sys.argv[1]).path))\n"
        "modes = [oct(each.stat().st_mode & 0o777) for each in (page, page.parent)]\n"
        f"pathlib.Path({str(shown)!r}).write_text(page.read_text())\n"
        f"draft = pathlib.Path({str(seen)!r} + '.new')\n"
        "draft.write_text(' '.join([*modes, str(page), *sys.argv, *os.environ.values()]))\n"
        f"draft.rename({str(seen)!r})\n"
    )
    browser.chmod(0o700)
    command = [*MEMSWEEP, "ui", "--port", "0"]
    env = environment(home) | {"BROWSER": f"{browser} %s"}
    with subprocess.Popen(
        command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, umask=umask
    ) as ui:
        try:
            assert ui.stdout is not None
            found = re.search(r"http://127\.0\.0\.1:(\d+)/login#(\S+)", ui.stdout.readline())
            assert found is not None
            wait_for(seen.exists, "the browser")
            address, port, token = found[0], int(found[1]), found[2]
            assert token not in seen.read_text()
            file_mode, folder_mode, file, *_ = seen.read_text().split()
            assert (file_mode, folder_mode) == ("0o600", "0o700")
            page = shown.read_text()
            assert f'http-equiv="refresh" content="0;url={address}"' in page
            assert '<meta name="referrer" content="no-referrer">' in page
            assert Path(file).exists()
            headers = {"origin": f"http://127.0.0.1:{port}", "content-type": "application/x-www-form-urlencoded"}
            for status, said in ((303, ""), (403, "A browser logged in with this link at")):
                with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)) as visitor:
                    visitor.request("POST", "/login", f"token={token}", headers)
                    answer = visitor.getresponse()
                    assert (answer.status, said in answer.read().decode()) == (status, True)
                assert not Path(file).exists()
            ui.send_signal(signal.SIGTERM)
            out, err = ui.communicate(timeout=PATIENCE)
            assert token not in out + err
        finally:
            ui.kill()


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_the_file_that_leads_to_the_link_goes_with_the_page(home: Path, ending: signal.Signals) -> None:
    """Told at once, before the server runs, and as a job in the background, which a shell has ignore SIGINT."""
    command = ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *MEMSWEEP, "ui", "--port", "0"]
    env = environment(home) | {"BROWSER": "true"}
    with subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as ui:
        try:
            assert ui.stdout is not None
            ui.stdout.readline()
            assert list((home / "page").iterdir()) != []
            ui.send_signal(ending)
            ui.communicate(timeout=PATIENCE)
            assert list((home / "page").iterdir()) == []
        finally:
            ui.kill()


def connected(port: int, *pieces: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    for piece in pieces:
        connection.sendall(piece)
    return connection


@pytest.mark.slow
def test_who_never_finishes_is_hung_up_on_and_many_idle_ones_shut_nobody_out(home: Path) -> None:
    with page(home, MEMSWEEP_HTTP_PATIENCE_SECONDS="3") as (_, port, _):
        host = f"Host: 127.0.0.1:{port}\r\n".encode()
        idle = [connected(port) for _ in range(500)]
        answer = connected(port, b"GET /login HTTP/1.1\r\nConnection: close\r\n", host, b"\r\n")
        assert is_hung_up_on(answer).startswith(b"HTTP/1.1 200 ")
        head = connected(port, b"GET /login HTTP/1.1\r\n", host)
        body = connected(
            port,
            b"POST /login HTTP/1.1\r\nContent-Length: 100\r\nContent-Type: application/x-www-form-urlencoded\r\n",
            f"Origin: http://127.0.0.1:{port}\r\n".encode(),
            host,
            b"\r\nt",
        )
        assert {is_hung_up_on(each) for each in (*idle, head)} == {b""}
        assert is_hung_up_on(body).startswith(b"HTTP/1.1 408 ")


def test_a_port_that_is_taken_is_named(run: Callable[..., object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("ui", "--port", str(port), "--no-open")
    assert done.status == 4
    assert f"cannot listen on port {port}" in done.err
    assert "--port" in done.err
