"""Claude Code with the plugin: what it is told, what it is spared, and what it never notices."""

import json
import os
from pathlib import Path

from tests.real_clients.conftest import git, repository
from tests.real_clients.running import Machine, claude
from tests.real_clients.scripted import Step, scripted
from tests.support.waiting import wait_for

DECISION = "We decided to use Postgres for orders because of the JSON queries."
MARK = "<memsweep-memory-"


def drained(machine: Machine) -> None:
    """Wait until the work in the background is done and its process is gone."""
    wait_for(lambda: not list(machine.data.glob("hooks/spool/*.json")) and not processes_of(machine))


def processes_of(machine: Machine) -> list[str]:
    """Processes that have the home of this machine in their environment."""
    found = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                environment = Path(entry.path, "environ").read_bytes()
            except OSError:
                continue
            if f"MEMSWEEP_HOME={machine.data}".encode() in environment.split(b"\0"):
                found.append(entry.name)
    return found


def test_a_fact_of_one_session_is_in_the_first_request_of_the_next_in_another_worktree(
    machine: Machine, tmp_path: Path
) -> None:
    project = repository(tmp_path / "shop")
    git(project, "worktree", "add", "-q", "../second")
    with scripted(Step("Noted.")) as model:
        claude(machine, model.port, project, [DECISION])
    drained(machine)
    with scripted(Step("Postgres.")) as model:
        claude(machine, model.port, tmp_path / "second", ["Go on with the order service, please."])
        first = model.texts()[0]
    assert "use Postgres for orders" in first
    assert first.count(MARK) >= 1


def test_another_project_is_told_nothing_of_it(machine: Machine, tmp_path: Path) -> None:
    project, other = repository(tmp_path / "a" / "shop"), repository(tmp_path / "b" / "shop")
    with scripted(Step("Noted.")) as model:
        claude(machine, model.port, project, [DECISION])
    drained(machine)
    with scripted(Step("I do not know.")) as model:
        claude(machine, model.port, other, ["Which database do we use for orders?"])
        assert not any("use Postgres for orders" in text for text in model.texts())


def test_a_prompt_gets_what_answers_it_once_and_most_prompts_get_nothing(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    machine.memsweep("remember", DECISION, cwd=project)
    prompts = [
        "Fix the typo in the README file.",
        "Which database did we choose for orders?",
        "And which database was it?",
    ]
    with scripted(*[Step("Yes.")] * 3) as model:
        claude(machine, model.port, project, prompts)
        said = [json.dumps(request["messages"][-3:]) for request in model.requests]
    assert "From this project's memory" not in said[0]
    assert "From this project's memory" in model.texts()[1]
    assert model.texts()[2].count("From this project's memory") == 1


def test_what_a_compaction_loses_is_told_again(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    with scripted(*[Step("Understood.")] * 4) as model:
        claude(machine, model.port, project, [DECISION, "/compact", "What is next?"])
        last = model.texts()[-1]
    assert "From the conversation before it was compacted" in last
    assert "use Postgres for orders" in last


def test_an_edit_is_searchable_at_once(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    machine.memsweep("index", ".", cwd=project)
    new = "def refund_customer(order):\n    return order.total\n"
    edit = Step("Writing.", [("Write", {"file_path": str(project / "refunds.py"), "content": new})])
    with scripted(edit, Step("Done.")) as model:
        claude(machine, model.port, project, ["Add a refund function."])
    drained(machine)
    assert "refunds.py" in machine.memsweep("search", "refund customer", "--json", cwd=project)


def plain_requests(machine: Machine, project: Path, script: str | None) -> list[list[str]]:
    """What the model is told when `memsweep` is this script, or missing."""
    if script is None:
        (machine.home / "bin" / "memsweep").unlink()
    else:
        machine.put_memsweep(script)
    with scripted(Step("Hello."), Step("Bye.")) as model:
        events = claude(machine, model.port, project, ["Good morning to you.", "And good night to you."])
        assert [event["result"] for event in events if event.get("type") == "result"] == ["Hello.", "Bye."]
        assert not any("hook" in text and "memsweep" in text.lower() for text in model.texts() if MARK in text)
        return [[message["role"] for message in request["messages"]] for request in model.requests]


def test_a_failing_a_garbage_and_a_missing_memsweep_leave_the_session_as_it_is(
    machine: Machine, tmp_path: Path
) -> None:
    project = repository(tmp_path / "shop")
    without = plain_requests(machine, project, None)
    assert plain_requests(machine, project, "exit 1") == without
    assert plain_requests(machine, project, "kill -9 $$") == without


def test_a_slow_memsweep_costs_its_time_and_nothing_else(machine: Machine, tmp_path: Path) -> None:
    """Slower than any of our own limits: the client's are the last ones."""
    project = repository(tmp_path / "shop")
    without = plain_requests(machine, project, None)
    assert plain_requests(machine, project, "exec sleep 300") == without
    wait_for(lambda: not processes_of(machine))


def test_what_init_writes_is_started(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    machine.memsweep("remember", DECISION, cwd=project)
    machine.memsweep("init", "--client", "claude-code", "--yes", cwd=project)
    ask = Step("Looking.", [("mcp__memsweep__search_memory", {"query": "which database for orders"})])
    with scripted(ask, Step("Postgres.")) as model:
        allowed = ("--allowedTools", "mcp__memsweep")
        events = claude(machine, model.port, project, ["Which database is it?"], *allowed, plugin=False)
        assert "use Postgres for orders" in model.texts()[-1]
    (started,) = [event for event in events if event.get("subtype") == "init"]
    assert [each for each in started["mcp_servers"] if each["name"] == "memsweep"]
    assert machine.memsweep("init", "--undo", "--yes", cwd=project)
    with scripted(Step("Hello.")) as model:
        events = claude(machine, model.port, project, ["Good morning to you."], plugin=False)
    (started,) = [event for event in events if event.get("subtype") == "init"]
    assert not [each for each in started["mcp_servers"] if each["name"] == "memsweep"]


def test_the_plugin_that_init_adds_works_by_itself(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    machine.memsweep("remember", DECISION, cwd=project)
    (machine.home / ".claude").mkdir()
    for command, told in ((("--plugin", "--client", "claude-code"), True), (("--undo", "--yes"), False)):
        machine.memsweep("init", *command, cwd=project)
        with scripted(Step("Hello.")) as model:
            events = claude(machine, model.port, project, ["Good morning to you."], plugin=False)
            assert (MARK in model.texts()[0]) is told
        (started,) = [event for event in events if event.get("subtype") == "init"]
        assert bool([each for each in started["mcp_servers"] if "memsweep" in each["name"]]) is told


def test_a_damaged_home_is_silence(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    machine.memsweep("remember", DECISION, cwd=project)
    (machine.data / "registry.db").write_bytes(b"not a database" * 1000)
    with scripted(Step("Hello.")) as model:
        events = claude(machine, model.port, project, ["Which database did we choose for orders?"])
        assert [event["result"] for event in events if event.get("type") == "result"] == ["Hello."]
        assert MARK not in model.texts()[0]


def test_ten_sessions_leave_no_process_and_none_of_our_own_text(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    briefings = set()
    for number in range(10):
        with scripted(Step("Yes.")) as model:
            claude(machine, model.port, project, [f"{DECISION} This is session {number}."])
            briefings.add(len(model.texts()[0].split(MARK)))
    drained(machine)
    export = machine.memsweep("context", "export", "--all", cwd=project)
    assert MARK not in export
    assert "From this project's memory" not in export
    stats = json.loads(machine.memsweep("stats", "--json", cwd=project))
    assert stats["total_memories"] == 1
    assert max(briefings) <= 3


def test_one_switch_turns_it_off(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    machine.memsweep("remember", DECISION, cwd=project)
    machine.memsweep("hooks", "off", "--here", cwd=project)
    with scripted(Step("Hello.")) as model:
        claude(machine, model.port, project, ["Which database did we choose for orders?"])
        assert MARK not in model.texts()[0]
    machine.memsweep("hooks", "on", "--here", cwd=project)
    with scripted(Step("Hello.")) as model:
        claude(machine, model.port, project, ["Which database did we choose for orders?"])
        assert MARK in model.texts()[0]


def test_the_briefing_of_a_session_is_the_same_byte_for_byte(machine: Machine, tmp_path: Path) -> None:
    project = repository(tmp_path / "shop")
    machine.memsweep("remember", DECISION, cwd=project)
    with scripted(*[Step("Yes.")] * 3) as model:
        events = claude(machine, model.port, project, ["Good morning to you.", "Remember that the sky is blue."])
        session = next(str(event["session_id"]) for event in events if event.get("type") == "result")
        machine.memsweep("remember", "Something that another session has said meanwhile.", cwd=project)
        claude(machine, model.port, project, ["Are you still there, my friend?"], "--resume", session)
        shown = [
            [part for part in _texts(request) if "This project's memory (memsweep)" in part]
            for request in model.requests
        ]
    assert shown[0]
    assert {text for texts in shown for text in texts} == {shown[0][0]}


def _texts(request: dict[str, object]) -> list[str]:
    messages = request["messages"]
    assert isinstance(messages, list)
    blocks = [
        block
        for message in messages
        for block in (message["content"] if isinstance(message["content"], list) else [{"text": message["content"]}])
    ]
    return [str(block.get("text", "")) for block in blocks]
