"""Every option and argument of every command with a value that is too long, and with one that is no text."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from memsweep.cli.door import command_line
from memsweep.errors import MAX_ECHO
from tests.server.test_long_values import LONG, repeats
from tests.support.commands import Ran, memsweep

pytestmark = pytest.mark.slow  # every option of every command

Run = Callable[..., Ran]
_SERVES = {"serve"}  # would take our own input and output


def commands() -> dict[str, Any]:
    return {" ".join(words): command for words, command in _leaves(typer.main.get_command(command_line()), ())}


def _leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
        return
    for name, each in below.items():
        yield from _leaves(each, (*words, name))


COMMANDS = {name: command for name, command in commands().items() if name not in _SERVES}


def _lines(command: Any, value: str) -> Iterator[list[str]]:
    """A command line for each parameter with this value, and small ones for what else is needed."""
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    others = [
        opts for each in command.params if each.required and each not in arguments for opts in [each.opts[-1], "x"]
    ]
    for given in arguments:
        yield [*others, *(value if each is given else "x" for each in arguments)]
    small = [*others, *("x" for each in arguments if each.required)]
    for option in command.params:
        if option not in arguments and not option.is_flag and option.name != "help":
            yield [*small, option.opts[-1], value]
    yield [*small, value]
    yield [*small, f"--{value}"]


VALUES = {"long": LONG, "no text, as the shell hands it over": "caf\udce9"}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES.keys())
@pytest.mark.parametrize("family", sorted({name.split()[0] for name in COMMANDS}))
def test_no_command_breaks_at_a_value_or_repeats_all_of_it(
    run: Run, family: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in (name for name in COMMANDS if name.split()[0] == family):
        for line in _lines(COMMANDS[name], value):
            ran = run(*name.split(), *line)
            if ran.status:
                said = "".join(ran.err.replace("│", "").split("\n"))
                assert repeats(said, value) <= MAX_ECHO, (name, line[:3], ran.err[:500])


def test_text_that_is_not_utf_8_is_refused_and_not_stored(home: Path) -> None:
    assert memsweep("remember", "fine", home=home).status == 0
    by_argument = memsweep("remember", b"caf\xe9".decode("utf-8", "surrogateescape"), home=home)
    by_input = memsweep("remember", "-", home=home, stdin=b"caf\xe9")
    for ran in (by_argument, by_input):
        assert ran.status == 2
        assert ran.err.startswith("Error: ")
    assert memsweep("stats", "--json", home=home).json["total_memories"] == 1
