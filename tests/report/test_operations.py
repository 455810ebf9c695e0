"""The command line speaks of commands and options, never of tools; and what it names is there."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
import typer

import memsweep
from memsweep.app import App
from memsweep.cli.door import command_line
from memsweep.report.commands import OPERATIONS, OPTIONS, in_commands
from memsweep.server.app import make_server
from memsweep.settings import load_settings
from tests.house.tree import SOURCE, nodes


@pytest.fixture(scope="module")
def tools(tmp_path_factory) -> dict[str, set[str]]:
    """Every tool and its arguments, as the server lists them."""
    app = App(load_settings({"MEMSWEEP_HOME": str(tmp_path_factory.mktemp("home"))}))
    listed = anyio.run(make_server(app, "full").list_tools)
    return {tool.name: set(tool.input_schema["properties"]) for tool in listed}


@pytest.fixture(scope="module")
def commands() -> dict[str, set[str]]:
    """Every command and its options, as `--help` lists them."""
    return dict(_commands(typer.main.get_command(command_line()), ""))


def _commands(command: Any, name: str) -> Iterator[tuple[str, set[str]]]:
    yield name, {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    for below, each in getattr(command, "commands", {}).items():
        yield from _commands(each, f"{name} {below}".strip())


def test_every_tool_has_a_row(tools):
    assert [each.tool for each in OPERATIONS] == list(dict.fromkeys(each.tool for each in OPERATIONS))
    assert {each.tool for each in OPERATIONS} == set(tools)


def test_every_command_of_the_table_is_there(commands):
    assert {each.command for each in OPERATIONS} <= set(commands) | {""}


def test_every_method_of_the_table_is_there(tmp_path):
    with memsweep.open_memory(home=tmp_path) as memory:
        for each in OPERATIONS:
            if each.method:
                holder: Any = memory
                for step in each.method.replace("context(…)", "context").split(".")[1:]:
                    holder = holder("default") if getattr(holder, "__name__", "") == "context" else holder
                    holder = getattr(holder, step)
                assert callable(holder), each.method


def test_every_argument_with_a_name_of_its_own_is_an_option_or_has_no_command(tools, commands):
    """One word needs no translation; `target_tokens` does."""
    on_the_command_line = set().union(*(tools[each.tool] for each in OPERATIONS if each.command))
    named = {name for name in on_the_command_line if "_" in name}
    assert named - set(OPTIONS) == {"include_scores", "dry_run"}
    known = set().union(*commands.values())
    assert {option for option in OPTIONS.values() if option.startswith("--")} <= known


SENTENCES = {
    "Deletion requires explicit confirmation. Set confirm=true to proceed. Run with dry_run=true first to preview.": (
        "Deletion requires explicit confirmation. Pass --yes to proceed. Run without --yes first to preview."
    ),
    "Dry run complete. Set dry_run=false and confirm=true to delete.": "Dry run complete. Pass --yes to delete.",
    "plan 'plan_1' does not exist. Make a new one with dry_run=true.": (
        "plan 'plan_1' does not exist. Make a new one with `memsweep prune`."
    ),
    "undo_prune with rcpt_7eyx1zy82ddr or recover_memory brings it back.": (
        "`memsweep undo rcpt_7eyx1zy82ddr` or `memsweep recover` brings it back."
    ),
    "The rest needs prune_memory with allow_large=true.": "The rest needs `memsweep prune --allow-large`.",
    "Give either segment_ids or plan_id.": "Give either ids or --plan.",
    "Deleting needs confirm=true. Or use strategy=stash.": "Deleting needs --yes. Or use --strategy stash.",
    "date_from 2026 is after date_to 2025.": "--since 2026 is after --until 2025.",
    # somebody's own words stay
    "memory 'undo_prune' is unknown.": "memory 'undo_prune' is unknown.",
    "entity \"list_trash\" is not there ('confirm=true').": "entity \"list_trash\" is not there ('confirm=true').",
    "the person's list_trash isn't 'list_trash'.": "the person's `memsweep trash` isn't 'list_trash'.",
    "segments[3].task_id must be text.": "segments[3].task_id must be text.",
    "run `memsweep undo` or `undo_prune`": "run `memsweep undo` or `undo_prune`",
    "": "",
}


@pytest.mark.parametrize(("said", "expected"), SENTENCES.items())
def test_sentences_about_tools_become_sentences_about_commands(said, expected):
    assert in_commands(said) == expected
    assert in_commands(expected) == expected


def test_a_sentence_of_any_length_is_translated_at_once():
    for pump in ("'", "`", '"', "undo_prune with ", "a_", "'a\\", "confirm="):
        assert in_commands(pump * 20_000)


@pytest.fixture(scope="module")
def sentences() -> list[tuple[str, str]]:
    """Every text of the source that is not a comment of its code, with its place."""
    return [found for path in sorted(SOURCE.rglob("*.py")) for found in _texts(path)]


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    comments = {id(each.value) for each in nodes(path) if isinstance(each, ast.Expr)}
    parts = {id(part) for each in nodes(path) if isinstance(each, ast.JoinedStr) for part in each.values}
    left_out = comments | parts
    for each in nodes(path):
        if isinstance(each, ast.Constant | ast.JoinedStr) and id(each) not in left_out:
            for text in _variants(each):
                if " " in text:
                    yield f"{path.relative_to(SOURCE)}:{each.lineno}", text


def _variants(node: ast.expr) -> list[str]:
    """A text as it may be said: each branch of what is chosen within it, and `x` for a value."""
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.JoinedStr(values=parts):
            texts = [""]
            for part in parts:
                texts = [text + more for text in texts for more in _variants(part)]
            return texts
        case ast.FormattedValue(value=ast.IfExp(body=body, orelse=other)):
            return [*_variants(body), *_variants(other)]
    return ["x_1"]


@pytest.mark.slow
def test_no_message_names_a_tool_on_the_command_line(tools, sentences):
    names = re.compile(rf"\b({'|'.join(name for name in tools if '_' in name)})\b|\w=(true|false)\b")
    told = [
        (place, text)
        for place, text in sentences
        if names.search(text) and not place.startswith("server/") and "_sql.py" not in place
    ]
    assert len(told) > 20, "the messages are not found any more"
    assert [(place, in_commands(text)) for place, text in told if names.search(in_commands(text))] == []


@pytest.mark.slow
def test_no_refusal_names_an_argument_of_a_tool_on_the_command_line(tools):
    reachable = set().union(*(tools[each.tool] for each in OPERATIONS if each.command))
    names = re.compile(rf"(?<![\w.])({'|'.join(name for name in reachable if '_' in name)})\b(?!\.\w)")
    told = [found for path in sorted(SOURCE.rglob("*.py")) for found in _refusals(path)]
    assert len(told) > 300, "the refusals are not found any more"
    assert [(place, in_commands(text)) for place, text in told if names.search(in_commands(text))] == []


def _refusals(path: Path) -> Iterator[tuple[str, str]]:
    for each in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(each, ast.Raise) and isinstance(each.exc, ast.Call):
            for value in (*each.exc.args, *(given.value for given in each.exc.keywords)):
                for text in _variants(value):
                    yield f"{path.relative_to(SOURCE)}:{each.lineno}", text


@pytest.mark.slow
def test_every_command_and_option_that_a_message_names_is_there(commands, sentences):
    known = set().union(*commands.values())
    seen = 0
    for place, text in sentences:
        said = in_commands(text)
        for named in re.findall(r"`memsweep ([^`]+)`|\bmemsweep ((?:[a-z]+ ?)+(?:--?[a-z-]+ ?)*)", said):
            words = " ".join(named).split()
            command, options = _split(words, commands)
            if words[0] in commands:
                seen += 1
                assert options <= commands[command] | {"--help"}, f"{place}: memsweep {command} has no {options}"
        loose = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", said)) - {"--", "--profile"}
        if not place.startswith(("code/", "secrets/", "store/falkor", "embed/")):  # which speak to other programs
            assert loose <= known | {"--help"}, f"{place}: {loose - known}"
    assert seen > 20, "commands are not found any more"


def _split(words: list[str], commands: dict[str, set[str]]) -> tuple[str, set[str]]:
    """The longest beginning that is a command, and the options after it."""
    lengths = [n for n in range(len(words), 0, -1) if " ".join(words[:n]) in commands]
    command = " ".join(words[: lengths[0]]) if lengths else ""
    return command, {word for word in words if word.startswith("-") and len(word) > 1}
