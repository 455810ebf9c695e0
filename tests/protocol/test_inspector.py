"""The MCP Inspector: its strict lint of the tools, over both transports and in both generations, and its load run."""

import json
import sys

import pytest

from tests.protocol.conftest import Program
from tests.support.http import HttpServer

ERAS = ("legacy", "modern")


def inspect(program: Program, *arguments: str) -> str:
    ran = program("mcp-inspector", "--cli", *arguments)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-4000:]
    return ran.stdout


def over_http(server: HttpServer) -> tuple[str, ...]:
    return (server.url, "--header", f"Authorization: Bearer {server.first_token}")


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_the_tools_pass_the_strict_lint(served: HttpServer, program: Program, transport: str, era: str) -> None:
    stdio = (sys.executable, "-m", "memsweep", "serve", "--profile", "full")
    target = stdio if transport == "stdio" else over_http(served)
    said = inspect(program, *target, "--method", "tools/list", "--strict", "--protocol-era", era)
    assert {"add_memory", "prune_memory", "undo"} <= {tool["name"] for tool in json.loads(said)["tools"]}


@pytest.mark.parametrize("era", ERAS)
def test_two_hundred_calls_at_concurrency_eight_have_no_error(served: HttpServer, program: Program, era: str) -> None:
    said = inspect(
        program,
        *over_http(served),
        *("--method", "tools/call", "--tool-name", "search_memory", "--tool-args-json", '{"query": "harbour"}'),
        *("--load", "--load-requests", "200", "--load-concurrency", "8", "--protocol-era", era),
    )
    summary = json.loads(said)
    assert (summary["requests"], summary["errors"]) == (200, 0), summary
