"""Every command in words and in JSON, and its exit status."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from memsweep import __version__
from memsweep.app import App
from tests.support import store_files
from tests.support.commands import Ran

Run = Callable[..., Ran]
ODD = "[red]not red[/red] [/] [bold :smile: \\[x] 🎉 100% {braces}"


def test_remember_says_the_id(run: Run, app: App) -> None:
    ran = run("remember", "the text")
    found = re.fullmatch(r"Remembered as (mem_\w{12}) \(1 chunk\)\.\n", ran.out)
    assert ran.status == 0
    assert found
    assert app.memory().get(found.group(1)).text == "the text"
    assert run("remember", "the text").out == f"Known already as {found.group(1)}; marked as seen.\n"


def test_remember_keeps_everything_it_is_told(run: Run, app: App) -> None:
    ran = run(
        *("remember", "Ada wrote", "--tag", "a", "-t", "b", "--source", "cli", "--metadata", '{"k": [1]}'),
        *("--thread", "t", "--entity", "Ada", "--expires", "2030-01-01", "--pin", "-w", "other", "--json"),
    )
    memory = app.memory("other").get(ran.json["memory_id"])
    assert ran.json["entities_created"] == 1
    assert (memory.tags, memory.source, memory.metadata) == (("a", "b"), "cli", {"k": [1]})
    assert (memory.thread_id, memory.pinned) == ("t", True)


def test_search_shows_a_table_or_json(run: Run) -> None:
    added = run("remember", "the garden needs water", "--tag", "home", "--json").json
    ran = run("search", "watering the garden")
    assert ran.status == 0
    assert added["memory_id"] in ran.out
    assert "the garden needs water" in ran.out
    assert "words: watering, garden" in ran.out
    (result,) = run("search", "garden", "--json").json["results"]
    assert (result["memory_id"], result["tags"]) == (added["memory_id"], ["home"])
    assert run("search", "garden", "-t", "absent").out.startswith("Nothing relevant")


def test_search_finds_nothing_rather_than_anything_and_names_the_nearest_miss(run: Run) -> None:
    added = run("remember", "the garden needs water", "--json").json
    query = "which garden chairs does Ruth want to order from Sweden"
    ran = run("search", query)
    assert ran.status == 0
    assert ran.out.startswith(f"Nothing relevant. The nearest is {added['memory_id']} (relevance 0.")
    assert "'the garden needs water'. Try other words, or --mode deep" in ran.out
    assert added["memory_id"] in run("search", query, "--mode", "deep").out
    refused = run("search", "garden", "--mode", "shallow")
    assert (refused.status, refused.err) == (2, "Error: mode must be precise or deep, not 'shallow'.\n")


def test_search_takes_filters(run: Run) -> None:
    run("remember", "the garden needs water")
    assert run("search", "garden", "--until", "2000-01-01", "--json").json["results"] == []


def test_search_and_list_take_conditions_on_metadata(run: Run) -> None:
    for number, state in enumerate(("open", "new", "closed")):
        metadata = json.dumps({"ticket": {"id": number}, "state": state})
        run("remember", f"the garden needs water {number}", "--metadata", metadata)
    asked = ("--where", "state=open|new", "--where", "ticket.id>0", "--json")
    (hit,) = run("search", "garden", *asked).json["results"]
    (listed,) = run("list", *asked).json["memories"]
    assert hit["memory_id"] == listed["memory_id"]
    assert listed["text"].endswith("1")
    refused = run("list", "--where", "state=[1]", "--where", "a..b=1")
    assert refused.status == 2
    assert refused.err.startswith("Error: filters.metadata has no path 'a..b'.")


def test_search_pages_through(run: Run) -> None:
    for number in range(5):
        run("remember", f"note {number}")
    first = run("search", "note", "-n", "3", "--json").json
    rest = run("search", "note", "-n", "3", "--cursor", first["next_cursor"], "--json").json
    ids = [result["memory_id"] for result in first["results"] + rest["results"]]
    assert len(set(ids)) == 5
    assert f"--cursor {first['next_cursor']}" in run("search", "note", "-n", "3").out


def test_get_shows_the_whole_memory(run: Run) -> None:
    added = run("remember", "line one\n  line two\ttab", "--tag", "a", "--json").json
    ran = run("get", added["memory_id"])
    assert ran.out.endswith("\n\nline one\n  line two\ttab\n")
    assert '["a"]' in ran.out
    assert run("get", added["memory_id"], "--json").json["text"] == "line one\n  line two\ttab"


def test_stats_counts(run: Run) -> None:
    run("remember", "x")
    ran = run("stats")
    assert re.search(r"total memories +1\n", ran.out)
    assert run("stats", "--json").json["total_memories"] == 1


def test_workspaces_are_listed_created_and_deleted(run: Run) -> None:
    assert run("workspace", "list").out == "None yet; the first memory creates one.\n"
    assert run("workspace", "create", "alpha", "--description", "the first").out == "Created workspace 'alpha'.\n"
    run("remember", "x")
    ran = run("workspace", "list")
    assert [line.split()[:2] for line in ran.out.splitlines()] == [["alpha", ran.out.split()[1]], ["*", "default"]]
    assert "the first" in ran.out
    names = [item["workspace_id"] for item in run("workspace", "list", "--json").json["workspaces"]]
    assert names == ["alpha", "default"]
    assert "'alpha'" in run("workspace", "delete", "alpha", "--yes").out
    assert run("workspace", "delete", "default", "-y", "--json").json["workspace_id"] == "default"
    assert run("workspace", "list", "--json").json["workspaces"] == []


def test_reembed_says_how_many(run: Run) -> None:
    run("remember", "x")
    assert run("workspace", "reembed").out == "Embedded 1 chunk with wordllama-l2-supercat-256.\n"
    assert run("workspace", "reembed", "default", "--json").json["chunks"] == 1
    assert run("reembed").out == "Embedded 1 chunk with wordllama-l2-supercat-256.\n"
    assert run("reembed", "-w", "default", "--json").json["workspace_id"] == "default"


def test_config_shows_its_path_and_itself(run: Run, home: Path) -> None:
    assert run("config", "path").out == f"{home / 'memsweep.toml'}\n"
    assert run("config", "init").status == 0
    assert (home / "memsweep.toml").stat().st_mode & 0o777 == 0o600
    ran = run("config", "init")
    assert (ran.status, "exists already" in ran.err) == (4, True)
    assert "embedding.provider" in run("config", "show").out
    assert run("config", "show", "--json").json["home"] == str(home)


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out == f"memsweep {__version__}\n"


@pytest.mark.parametrize("command", [[], ["workspace"], ["config"]])
def test_no_command_shows_the_help(run: Run, command: list[str]) -> None:
    ran = run(*command)
    assert "Usage: memsweep" in ran.out + ran.err


MISTAKES: list[tuple[list[str], int, str]] = [
    (["remember", ""], 2, "text is empty"),
    (["remember", "a\0b"], 2, "NUL"),
    (["remember", "\udcff"], 2, "surrogate"),
    (["remember", "x", "--metadata", "{"], 2, "--metadata '{' is not JSON"),
    (["remember", "x", "--metadata", "[1]"], 2, "metadata must be an object"),
    (["remember", "x", "--expires", "someday"], 2, "--expires 'someday'"),
    (["remember", "x", "--tag", ""], 2, "a tag is empty"),
    (["remember", "x", "-w", "../../escape"], 2, "workspace id '../../escape' is not valid"),
    (["remember", "x", "-w", "🎉"], 2, "workspace id '🎉' is not valid"),
    (["remember"], 2, "Missing argument"),
    (["remember", "x", "--nonsense"], 2, "No such option"),
    (["search", "x", "-n", "0"], 2, "limit must be from 1 to 50"),
    (["search", "x", "-n", "many"], 2, "--limit"),
    (["search", "x", "--since", "tomorrow"], 2, "--since 'tomorrow'"),
    (["search", "x", "--cursor", "zzz"], 2, "cursor 'zzz'"),
    (["search", "x", "-w", "nowhere"], 3, "workspace 'nowhere' does not exist; known workspaces: 'default'"),
    (["get", "mem_nothing"], 3, "memory 'mem_nothing' does not exist"),
    (["get", "\udcff"], 3, "does not exist"),
    (["stats", "-w", "nowhere"], 3, "'nowhere'"),
    (["workspace", "create", "default"], 4, "exists already"),
    (["workspace", "create", "Upper"], 2, "'Upper' is not valid"),
    (["workspace", "create", "new", "--description", "\udcff"], 2, "description"),
    (["workspace", "delete", "nowhere", "--yes"], 3, "'nowhere'"),
    (["workspace", "delete", "default"], 4, "requires explicit confirmation"),
    (["workspace", "reembed", "nowhere"], 3, "'nowhere'"),
    (["reembed", "--workspace", "nowhere"], 3, "'nowhere'"),
    (["serve", "--profile", "huge"], 2, "profile 'huge' is unknown"),
    (["nonsense"], 2, "nonsense"),
]


@pytest.mark.parametrize(("command", "status", "said"), MISTAKES, ids=[ascii(command) for command, _, _ in MISTAKES])
def test_a_mistake_is_one_sentence_and_an_exit_status(run: Run, command: list[str], status: int, said: str) -> None:
    run("remember", "something")
    ran = run(*command)
    assert ran.status == status
    assert said in ran.err
    assert ran.out == ""
    assert run("stats", "--json").json["total_memories"] == 1


@pytest.mark.parametrize(
    ("command", "status", "code"),
    [
        (["remember", "", "--json"], 2, "bad_input"),
        (["stats", "-w", "nowhere", "--json"], 3, "unknown_workspace"),
        (["get", "x", "--json"], 3, "not_found"),
        (["workspace", "create", "default", "--json"], 4, "already_exists"),
        (["workspace", "delete", "default", "--json"], 4, "unconfirmed"),
    ],
)
def test_with_json_an_error_is_json_too(run: Run, command: list[str], status: int, code: str) -> None:
    run("remember", "something")
    ran = run(*command)
    assert ran.status == status
    assert json.loads(ran.err)["error"]["code"] == code
    assert ran.out == ""


def test_a_bad_setting_is_a_mistake_of_the_user(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSWEEP_CHUNKING_SIZE", "many")
    for command in (["stats"], ["serve"], ["config", "show"]):
        ran = run(*command)
        assert (ran.status, "chunking.size" in ran.err) == (2, True)


def test_a_damaged_file_is_an_error_of_the_store(run: Run, home: Path) -> None:
    run("remember", "x")
    file = store_files.file_of(home)
    file.write_bytes(b"garbage" * 1000)
    for command in (["stats"], ["remember", "y"], ["search", "x"]):
        ran = run(*command)
        assert (ran.status, str(file) in ran.err) == (5, True)
    assert run("workspace", "delete", "default", "--yes").status == 0


def test_text_is_printed_as_it_is_whatever_marks_it_has(run: Run) -> None:
    added = run("remember", ODD, "--tag", ODD, "--source", ODD, "--metadata", json.dumps({"k": ODD}), "--json").json
    ran = run("get", added["memory_id"])
    assert ran.status == 0
    assert ran.out.endswith(f"\n\n{ODD}\n")
    assert json.dumps([ODD], ensure_ascii=False) in ran.out
    ran = run("search", "not red")
    assert ODD in ran.out
    assert run("search", ODD, "--json").json["results"][0]["text"] == ODD


def test_a_description_is_printed_as_it_is(run: Run) -> None:
    run("workspace", "create", "alpha", "--description", ODD + "\nsecond line")
    assert f"{ODD} second line\n" in run("workspace", "list").out


def test_a_setting_is_printed_as_it_is(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MEMSWEEP_HOME", str(tmp_path / "[red]:smile:[/]"))
    assert "[red]:smile:[/]" in run("config", "show").out


def test_long_lines_are_not_cut_when_nobody_looks(run: Run) -> None:
    long = "word " * 300
    added = run("remember", long, "--json").json
    assert long in run("get", added["memory_id"]).out


@pytest.mark.parametrize("text", ["-", "--", "-x", "--help"])
def test_a_text_that_looks_like_an_option_needs_two_dashes(run: Run, app: App, text: str) -> None:
    if text != "-":
        run("remember", "--", text)
        assert app.memory().search("").hits[0].passage.text == text


NOTHING_YET = [
    (["trash"], "The trash is empty.", {"items": [], "total": 0}),
    (["doctor"], "Nothing is stored here yet.", {"healthy": True}),
    (["audit"], "No events.", {"events": []}),
    (["prune"], "Nothing to collect.", {"preview": [], "plan_id": ""}),
    (["prune", "-s", "secrets"], "Nothing to collect.", {"preview": []}),
    (["graph", "prune"], "Nothing to collect.", {"preview": [], "plan_id": ""}),
    (["graph", "decay"], "0 entities, 0 faded away.", {}),
    (["purge", "--yes"], "Nothing in the trash is that old.", {}),
    (["receipts"], "No receipts.", {"receipts": []}),
    (["receipts", "--trash"], "No receipts.", {"receipts": []}),
    (["tombstone", "list"], "No tombstones.", {"tombstones": []}),
]


@pytest.mark.parametrize(("command", "said", "answer"), NOTHING_YET, ids=[" ".join(each[0]) for each in NOTHING_YET])
def test_where_nothing_is_stored_yet_there_is_nothing_and_no_error(
    run: Run, home: Path, command: list[str], said: str, answer: dict[str, object]
) -> None:
    ran = run(*command)
    assert (ran.status, ran.err) == (0, "")
    assert said in ran.out
    found = run(*command, "--json").json
    assert {name: found[name] for name in answer} == answer
    assert not list(home.glob("workspaces/*")), "and none is made"
    assert run(*command, "-w", "named").status == 3


def test_a_strategy_beside_the_plan_of_another_one_is_refused(run: Run) -> None:
    run("remember", "old", "--expires", "2020-01-01")
    plan = run("prune", "-s", "expired", "--json").json["plan_id"]
    ran = run("prune", "--plan", plan, "-s", "duplicates", "--yes")
    assert ran.status == 2
    assert f"plan {plan} is of strategy 'expired', not 'duplicates'" in ran.err
    assert run("prune", "--plan", plan, "-s", "stale_code").status == 2, "the default, when somebody says it"
    assert run("prune", "--plan", plan, "--yes").status == 0


def test_a_schedule_that_stops_in_a_workspace_has_an_exit_status(
    run: Run, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMSWEEP_SCHEDULE_STRATEGIES", "expired")
    for number in range(40):
        app.memory().remember(f"Note {number}.", expires_at="2020-01-01")
    ran = run("schedule", "run")
    assert ran.status == 4
    assert "stopped:" in ran.out
    assert run("schedule", "run", "--allow-large").status == 0
