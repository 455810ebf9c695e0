"""`memsweep ui` as a process: the link, the first page, the end."""

from __future__ import annotations

import http.client
import re
import signal
import socket
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.commands import MEMSWEEP, environment


@pytest.mark.slow
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_a_link_serves_and_ends_when_it_is_told_to(home: Path, ending: signal.Signals) -> None:
    command = [*MEMSWEEP, "ui", "--port", "0", "--no-open"]
    with subprocess.Popen(
        command, env=environment(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as ui:
        assert ui.stdout is not None
        found = re.search(r"http://127\.0\.0\.1:(\d+)/login#(\S+)", ui.stdout.readline())
        assert found is not None
        port, token = int(found[1]), found[2]
        headers = {"origin": f"http://127.0.0.1:{port}", "content-type": "application/x-www-form-urlencoded"}
        with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as browser:
            browser.request("POST", "/login", f"token={token}", headers)
            answer = browser.getresponse()
            assert (answer.status, answer.headers["location"]) == (303, "/")
        ui.send_signal(ending)
        out, err = ui.communicate(timeout=30)
        assert token not in out + err.replace(found[0], "")
        assert "Traceback" not in err
        assert ui.returncode in (0, -ending)


def test_a_port_that_is_taken_is_named(run: Callable[..., object]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("ui", "--port", str(port), "--no-open")
    assert done.status == 4
    assert f"port {port} of this machine" in done.err
    assert "--port" in done.err
