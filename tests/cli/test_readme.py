"""The transcripts of README and tutorial are what is printed: they are run in a fresh home and compared."""

import re
import shlex
from pathlib import Path

import pytest

from tests.collector.test_command_line import on_a_terminal
from tests.house.tree import ROOT
from tests.support.commands import memsweep

_ID = re.compile(r"\b(mem|ent|plan|rcpt)_[0-9a-z]{12}\b")
_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def transcript(document: str) -> list[tuple[list[str], list[str]]]:
    """Each command with the lines that it is said to print."""
    blocks = re.findall(r"^```console\n(.*?)^```", (ROOT / document).read_text("utf-8"), re.DOTALL | re.MULTILINE)
    steps: list[tuple[list[str], list[str]]] = []
    for line in "\n".join(blocks).splitlines():
        if line.startswith("$ "):
            steps.append((shlex.split(line[2:]), []))
        elif line:
            steps[-1][1].append(line)
    return steps


@pytest.mark.slow
@pytest.mark.parametrize("document", ["README.md", "docs/tutorial.md"])
def test_a_transcript_shows_what_is_printed(document: str, home: Path, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.chdir(tmp_path)
    Path("shop").mkdir()
    Path("shop/old_tax.py").write_text("def flat_tax(amount):\n    return amount * 0.19\n")
    Path("shop/billing.py").write_text("class Invoice:\n    def total(self):\n        return sum(self.lines)\n")
    last_id: dict[str, str] = {}
    steps = transcript(document)
    assert len(steps) > 6
    for (program, *arguments), shown in steps:
        if program == "rm":
            memsweep("index", "shop", home=home)
            Path(arguments[0]).unlink()
            continue
        assert program == "memsweep"
        given = [last_id[found[1]] if (found := _ID.fullmatch(each)) else each for each in arguments]
        printed = _printed(home, given, asks=any("[y/N]" in line for line in shown))
        last_id |= {found[1]: found[0] for found in _ID.finditer("\n".join(printed))}
        assert _matches(printed, shown), "\n".join(printed)


def _printed(home: Path, arguments: list[str], *, asks: bool) -> list[str]:
    if asks:
        said = on_a_terminal(home, *arguments, answer="y")[1]
        said = re.sub(r"\[y/N\]:\s*y\s*", "[y/N]: y\n", said)  # the echo may come before the space of the question
    else:
        said = memsweep(*arguments, home=home, COLUMNS="100").out
    lines = (line.rstrip() for line in _STYLE.sub("", said).splitlines())
    return [line for line in lines if line]


def _matches(printed: list[str], shown: list[str]) -> bool:
    """Whether the lines are the same but for ids; `...` stands for some that were left out."""
    parts = [".*" if line == "..." else re.escape(_ID.sub(r"\1", line)) + "\n" for line in shown]
    text = "".join(f"{_ID.sub(_kind, line)}\n" for line in printed)
    return re.fullmatch("".join(parts), text, re.DOTALL) is not None


def _kind(found: re.Match[str]) -> str:
    return found[1]
