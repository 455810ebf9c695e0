"""The real Claude Code and Codex, without a screen, in a scratch home, with our plugin."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CLIENTS = Path(os.environ.get("MEMSWEEP_CLIENTS", ""))
CLAUDE = CLIENTS / "node_modules/@anthropic-ai/claude-code-linux-x64/claude"
CODEX = CLIENTS / "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
PLUGINS = Path(__file__).parents[2] / "plugins"
SECONDS = 120
_CODEX_CONFIG = """model = "scripted"
model_provider = "scripted"
check_for_update_on_startup = false
{more}
[model_providers.scripted]
name = "scripted"
base_url = "http://127.0.0.1:{port}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 0
stream_max_retries = 0
[analytics]
enabled = false
[features]
apps = false
"""


@dataclass(frozen=True)
class Machine:
    """A home of its own, with a `memsweep` on the path: ours, or whatever a test puts there."""

    home: Path

    @property
    def data(self) -> Path:
        return self.home / "memsweep"

    def environment(self, port: int) -> dict[str, str]:
        temporary = self.home / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        return {
            "HOME": str(self.home),
            "PATH": f"{self.home / 'bin'}:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "TMPDIR": str(temporary),
            "CLAUDE_CODE_TMPDIR": str(temporary),
            "MEMSWEEP_HOME": str(self.data),
            "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
            "ANTHROPIC_API_KEY": "dummy",
            "SCRIPTED_KEY": "dummy",
            "CODEX_HOME": str(self.home / ".codex"),
            "DISABLE_TELEMETRY": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
            "HTTPS_PROXY": f"http://127.0.0.1:{port}",
            "NO_PROXY": "127.0.0.1,localhost",
        }

    def put_memsweep(self, script: str = "") -> None:
        """A command called `memsweep`: the one that is tested, or a shell script."""
        folder = self.home / "bin"
        folder.mkdir(parents=True, exist_ok=True)
        command = script or f'exec "{sys.executable}" -P -m memsweep "$@"'
        path = folder / "memsweep"
        path.write_text(f"#!/bin/sh\n{command}\n")
        path.chmod(0o755)

    def put_clients(self) -> None:
        """The clients on the path, for commands that look for them."""
        for name, program in (("claude", CLAUDE), ("codex", CODEX)):
            (self.home / "bin" / name).symlink_to(program)

    def memsweep(self, *arguments: str, cwd: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "memsweep", *arguments],
            cwd=cwd,
            env=self.environment(9),
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=True,
        )
        return done.stdout


def claude(
    machine: Machine,
    port: int,
    project: Path,
    turns: Sequence[str],
    *flags: str,
    more: Mapping[str, str] | None = None,
    plugin: bool = True,
) -> list[dict[str, Any]]:
    """A session of these turns, each sent when the one before has its result; the events that it printed."""
    command = [str(CLAUDE), "-p", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    command += ["--include-hook-events", "--allowedTools", "Bash", "Write"]
    command += ["--plugin-dir", str(PLUGINS / "memsweep")] if plugin else []
    client = subprocess.Popen(
        [*command, *flags],
        cwd=project,
        env={**machine.environment(port), **(more or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert client.stdin is not None
    assert client.stdout is not None
    waiting, events = list(turns), []
    try:
        _send(client, waiting.pop(0))
        for line in client.stdout:
            if line.startswith("{"):
                events.append(json.loads(line))
                if events[-1].get("type") == "result":
                    if not waiting:
                        break
                    _send(client, waiting.pop(0))
        client.stdin.close()
        client.stdout.read()
        client.wait(SECONDS)
    finally:
        client.kill()
        client.wait()
        client.stdout.close()
        if client.stderr is not None:
            client.stderr.close()
    return events


def _send(client: subprocess.Popen[str], text: str) -> None:
    """As a program does that passes on what a person typed: it has to say so."""
    assert client.stdin is not None
    message = {"type": "user", "message": {"role": "user", "content": text}, "origin": {"kind": "human"}}
    client.stdin.write(json.dumps(message) + "\n")
    client.stdin.flush()


def configure_codex(machine: Machine, port: int, more: str = "") -> None:
    folder = machine.home / ".codex"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(_CODEX_CONFIG.format(port=port, more=more))


def install_in_codex(machine: Machine, port: int, more: str = "") -> None:
    configure_codex(machine, port, more)
    machine.memsweep("init", "--plugin", "--client", "codex", cwd=machine.home)


def codex(machine: Machine, project: Path, port: int, prompt: str, *flags: str) -> subprocess.CompletedProcess[str]:
    command = [str(CODEX), "exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-hook-trust"]
    return subprocess.run(
        [*command, "-s", "danger-full-access", *flags, prompt],
        cwd=project,
        env=machine.environment(port),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
