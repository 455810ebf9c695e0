"""Codex with the same plugin."""

import json
from pathlib import Path

from tests.real_clients.conftest import repository
from tests.real_clients.running import Machine, codex, configure_codex, install_in_codex
from tests.real_clients.scripted import Step, scripted
from tests.real_clients.test_claude import DECISION, MARK, drained


def session(machine: Machine, project: Path, prompt: str, *steps: Step, more: str = "") -> list[str]:
    """One session; each request as a text."""
    with scripted(*steps) as model:
        install_in_codex(machine, model.port, more)
        done = codex(machine, project, model.port, prompt)
        assert done.returncode == 0, done.stderr[-2000:]
        return model.texts()


def test_a_fact_of_one_session_is_in_the_first_request_of_the_next(machine: Machine, tmp_path: Path) -> None:
    project, other = repository(tmp_path / "shop"), repository(tmp_path / "other")
    session(machine, project, DECISION, Step("Noted."))
    drained(machine)
    assert "use Postgres for orders" in session(machine, project, "Go on with the order service.", Step("Yes."))[0]
    assert MARK not in session(machine, other, "Which database do we use for orders?", Step("No idea."))[0]


def test_what_a_compaction_loses_is_told_again(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    look = Step("Looking.", [("exec_command", {"cmd": "echo hi"})], input_tokens=900_000)
    requests = session(machine, project, DECISION, look, Step("Done."), more="model_auto_compact_token_limit = 15000")
    assert "From the conversation before it was compacted" in requests[-1]


def test_what_init_writes_is_started(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    with scripted(Step("Hello.")) as model:
        configure_codex(machine, model.port)
        machine.memsweep("init", "--client", "codex", "--yes", cwd=project)
        done = codex(machine, project, model.port, "Good morning to you.")
        assert done.returncode == 0, done.stderr[-2000:]
        offered = json.dumps(model.requests[0]["tools"])
    assert "search_memory" in offered
    assert "add_memory" in offered


def test_a_missing_memsweep_leaves_the_session_as_it_is(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    with scripted(Step("Hello.")) as model:
        install_in_codex(machine, model.port)
        (machine.home / "bin" / "memsweep").unlink()
        assert codex(machine, project, model.port, "Good morning to you.").returncode == 0
        assert MARK not in model.texts()[0]
