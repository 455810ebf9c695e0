"""The official conformance suite, for both generations of the protocol."""

from pathlib import Path

import pytest

from tests.protocol.conftest import Program
from tests.support.http import HttpServer

EXPECTED = Path(__file__).with_name("expected_failures.yml")


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_the_server_conforms(fixtures: HttpServer, program: Program, revision: str) -> None:
    ran = program(
        "conformance", "server", "--url", fixtures.url, "--requirements", revision, "--expected-failures", str(EXPECTED)
    )
    assert "✓ tools-call-simple-text" in ran.stdout, ran.stdout + ran.stderr
    assert "✓ dns-rebinding-protection" in ran.stdout
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
