"""What the hooks put into the model's context in a week of work, and how often it is what was needed.

Each LoCoMo conversation is a project whose turns are memories. Its questions come as prompts, in ten sessions, among
three times as many prompts that ask for nothing that was ever said: half of them about code, half about the everyday
matters that the conversations are about. Every prompt is searched once; what the hook makes of the hits is its own
pure rule, with one least relevance after the other. Rules are chosen on every other conversation, beginning with the
first; the rest is held out, to be reported. A few orders of everyday work have a memory each that they need: a rule
that spares other prompts must not cost them. Briefings come from real processes of `memsweep hook`: one when a
session starts, and one when it is resumed after the memory has changed, which must be the same bytes.
"""

from __future__ import annotations

import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from common import Conversation, Figure, Question, arguments, at_most, conversations_from, show_figures, table
from common import write_json as write
from memsweep import open_memory
from memsweep.hooks.listening import find_decisions
from memsweep.hooks.prompting import MOST_HITS, asked, recalled_text
from memsweep.model.search import Hit
from memsweep.model.tokens import estimate_tokens
from memsweep.settings.fields import HookSettings
from recall import remember

SESSIONS = 10
ORDINARY_EACH = 3
FLOORS = (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
_SPEAKER = re.compile(r"^(?:\[.*?\] )?\w+: ")
ORDINARY = (
    "The test of the parser fails since this morning, please find out why and fix it.",
    "Rename the function load_rows to read_rows in the whole package.",
    "Add a --verbose option to the command line and document it in the readme.",
    "Why does the build take twice as long on the new machine?",
    "Write a unit test for the case of an empty list.",
    "Move the constants into a module of their own.",
    "Explain what this regular expression does, step by step.",
    "Please review the last commit and tell me what you would change.",
    "The type checker complains about line 40, can you look at it?",
    "Make the error message say which file could not be opened.",
    "Update the dependencies and run the tests again.",
    "Can you draw the call graph of the scheduler as text?",
    "Replace the recursion by a loop, the stack overflows on large trees.",
    "Split this class, it does three things at once.",
    "How do I undo the last commit without losing my changes?",
    "Add pagination to the endpoint that lists invoices.",
    "The docker image is 2 GB, what could be left out?",
    "Write the release notes for the version that ships tomorrow.",
    "Profile the import and show me the ten slowest modules.",
    "Convert this script from bash to Python, please.",
    "Write a short birthday card for a colleague who likes hiking.",
    "Suggest three vegetarian recipes for a dinner with friends.",
    "Plan a weekend trip to the mountains with two children.",
    "What should I think of before adopting a dog?",
    "Give me tips to sleep better after a stressful week at work.",
    "Translate this paragraph about the local art museum into French.",
    "Which camera is a good one for a beginner in photography?",
    "Write a polite letter to the landlord about the broken heating.",
    "How long should I train before my first half marathon?",
    "Recommend a novel for someone who loved fantasy as a teenager.",
    "Help me to prepare for a job interview at a charity.",
    "What are good questions for a first meeting of a support group?",
    "Make a packing list for a camping trip at the lake.",
    "How can I learn to play the guitar in my thirties?",
    "Draft an invitation to a charity run in the city park.",
    "What is a good present for a grandmother who paints?",
    "Explain to a ten year old how volcanoes work.",
    "How do I start a small business that sells pottery?",
    "Propose a workout for people who sit all day.",
    "Which games are fun for a family evening with cousins?",
)


ORDERS = (
    ("Add pagination to the endpoint that lists invoices.", "All list endpoints paginate with cursors, not offsets."),
    ("Write a unit test for the refund function.", "Unit tests go to tests/unit and use pytest fixtures, no classes."),
    (
        "Fix the flaky login test.",
        "The login test is flaky since the token expires after a second; freeze the clock.",
    ),
    ("Rename the customer table to clients.", "Never rename a table by hand; write an alembic migration."),
    ("Deploy the new version to staging.", "Staging is deployed with make deploy-staging from the release branch."),
    ("Update the dependencies and run the tests again.", "Dependencies are pinned; update with uv lock --upgrade."),
    ("Commit this with a good message.", "Commit messages follow the form area: imperative."),
    ("Bump the version and write the changelog.", "The changelog follows Keep a Changelog; versions are in pyproject."),
    ("Make the orders service retry failed payments.", "Payments are retried three times by the worker, with backoff."),
    (
        "Add a column for the birthday to the users table.",
        "Personal data is in the vault, not in the users table.",
    ),
    ("Set up the database for local development.", "For local development run docker compose up db, Postgres 16."),
    ("Please add logging to the importer.", "We decided to use structlog for all logging."),
    ("Create a React component for the price table.", "Components are written in Svelte; we no longer use React."),
    ("Format the code before you commit.", "Always run ruff format before committing."),
    ("Change the date format in the export.", "Exports use ISO 8601 dates in UTC."),
    ("Move the API keys into the config file.", "API keys never go into a config file; they come from the vault."),
)
"""An order, and the memory that whoever carries it out should know."""
GROUPS = ("chosen on", "held out")


class Prompt(NamedTuple):
    text: str
    question: Question | None


@dataclass(slots=True)
class Bill:
    """What one least relevance did to all prompts."""

    tokens: list[int] = field(default_factory=list)
    """Of each prompt."""
    sessions: list[int] = field(default_factory=list)
    needed: int = 0
    """Injections that had evidence which the question needs."""
    answered: list[float] = field(default_factory=list)
    """Of each question: the share of the evidence that the model has been told by now in this session."""
    on_ordinary: int = 0

    @property
    def injections(self) -> int:
        return sum(1 for tokens in self.tokens if tokens)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--conversations", type=int, default=10, help="at most so many (%(default)s)")
    options = parser.parse_args()
    conversations, what = conversations_from(options.data)
    bills = {group: {floor: Bill() for floor in FLOORS} for group in GROUPS}
    briefings, rules = Briefings(), [0, 0]
    with tempfile.TemporaryDirectory(prefix="memsweep-injection-") as folder:
        for number, conversation in enumerate(conversations[: options.conversations]):
            week(conversation, Path(folder), bills[GROUPS[number % 2]], briefings)
            rules[0] += len(find_decisions([_SPEAKER.sub("", turn.text) for turn in conversation.turns], 10**6))
            rules[1] += len(conversation.turns)
        report(what, bills, briefings, rules, orders_told(Path(folder)), options.json)


def orders_told(home: Path) -> dict[float, float]:
    """By least relevance: the share of the orders that are told what they need, among a few notes of other matters."""
    with open_memory("orders", home=home) as memory:
        for number in range(60):
            memory.remember(f"Note {number}: the meeting of team {number % 7} takes place in room {number % 13}.")
        needed = {order: memory.remember(text).memory_id for order, text in ORDERS}
        found = {order: memory.search(order, limit=MOST_HITS, mode="precise").hits for order in needed}
    shown = {
        floor: [own in recalled_text(order, found[order], (), _hooks(floor))[1] for order, own in needed.items()]
        for floor in FLOORS
    }
    return {floor: sum(each) / len(each) for floor, each in shown.items()}


def _hooks(floor: float) -> HookSettings:
    return replace(HookSettings(), least_relevance=floor)


def week(conversation: Conversation, home: Path, bills: Mapping[float, Bill], briefings: Briefings) -> None:
    with open_memory(conversation.id, home=home) as memory:
        turn_of = remember(memory, conversation)
        searched: dict[str, Sequence[Hit]] = {}
        for number, prompts in enumerate(sessions(conversation)):
            briefings.of_a_session(home, conversation.id, f"{conversation.id} {number}")
            for prompt in prompts:
                if prompt.text not in searched:
                    said = asked(prompt.text)
                    searched[prompt.text] = memory.search(said, limit=MOST_HITS, mode="precise").hits if said else ()
            for floor, bill in bills.items():
                settle(bill, prompts, searched, _hooks(floor), turn_of)
            memory.remember(f"Session {number} of the week is over; the next one goes on from here.")


def sessions(conversation: Conversation) -> list[list[Prompt]]:
    """The prompts of each session, in an order that chance has made."""
    chance = random.Random(conversation.id)
    prompts = [Prompt(question.text, question) for question in conversation.questions]
    prompts += [Prompt(chance.choice(ORDINARY), None) for _ in range(ORDINARY_EACH * len(prompts))]
    chance.shuffle(prompts)
    return [prompts[number::SESSIONS] for number in range(SESSIONS)]


def settle(
    bill: Bill,
    prompts: Sequence[Prompt],
    searched: Mapping[str, Sequence[Hit]],
    hooks: HookSettings,
    turn_of: Mapping[str, Sequence[str]],
) -> None:
    before: list[str] = []
    spent = 0
    for prompt in prompts:
        text, shown = recalled_text(prompt.text, searched[prompt.text], before, hooks)
        before += shown
        tokens = estimate_tokens(text) if text else 0
        bill.tokens.append(tokens)
        spent += tokens
        if prompt.question is None:
            bill.on_ordinary += bool(text)
            continue
        bill.needed += _share(prompt.question, shown, turn_of) > 0
        bill.answered.append(_share(prompt.question, before, turn_of))
    bill.sessions.append(spent)


def _share(question: Question, memories: Sequence[str], turn_of: Mapping[str, Sequence[str]]) -> float:
    known = {turn for memory_id in memories for turn in turn_of.get(memory_id, ())}
    return sum(any(turn in known for turn in choices) for choices in question.need) / len(question.need)


@dataclass(slots=True)
class Briefings:
    tokens: list[int] = field(default_factory=list)
    changed: int = 0
    """Sessions whose second briefing was not the first, byte by byte."""
    _last: tuple[dict[str, Any], bytes] | None = None

    def of_a_session(self, home: Path, workspace_id: str, session: str) -> None:
        """Starts one; the session before, which has seen the memory change since, is resumed first."""
        if self._last is not None and self._last[0]["workspace"] == workspace_id:
            said, first = self._last
            self.changed += _briefing(home, said, "resume") != first
        said = {"workspace": workspace_id, "session_id": session, "cwd": str(home)}
        printed = _briefing(home, said, "startup")
        self._last = said, printed
        text = json.loads(printed)["hookSpecificOutput"]["additionalContext"] if printed else ""
        self.tokens.append(estimate_tokens(text))


def _briefing(home: Path, said: Mapping[str, Any], source: str) -> bytes:
    command = [sys.executable, "-m", "memsweep", "hook", "SessionStart"]
    env = {**os.environ, "MEMSWEEP_HOME": str(home), "MEMSWEEP_WORKSPACE": said["workspace"]}
    given = json.dumps({**said, "source": source}).encode()
    return subprocess.run(command, env=env, input=given, capture_output=True, check=True).stdout


def report(
    what: str,
    bills: Mapping[str, Mapping[float, Bill]],
    briefings: Briefings,
    rules: Sequence[int],
    orders: Mapping[float, float],
    file: Path | None,
) -> None:
    prompts = sum(len(group[FLOORS[0]].tokens) for group in bills.values())
    print(f"{what}: {len(briefings.tokens)} sessions, {prompts:,} prompts, one in {1 + ORDINARY_EACH} a question\n")
    shown = {
        group: {floor: {**_figures(bill), "orders": orders[floor]} for floor, bill in own.items()}
        for group, own in bills.items()
        if own[FLOORS[0]].tokens
    }
    for group, by_floor in shown.items():
        header = (f"{group}: least relevance", *by_floor[FLOORS[0]])
        rows = [
            (floor, *(f"{value:.1%}" if isinstance(value, float) else value for value in figures.values()))
            for floor, figures in by_floor.items()
        ]
        print(table(header, rows), end="\n\n")
    longest = max(max(bill.tokens, default=0) for own in bills.values() for bill in own.values())
    figures = [
        at_most("briefing, the longest", max(briefings.tokens), 2000, "tokens"),
        Figure("briefing, mean", statistics.fmean(briefings.tokens), "tokens"),
        at_most("sessions whose briefing changed on resume", briefings.changed, 0, ""),
        at_most("one prompt, the longest", longest, 500, "tokens"),
        Figure(f"sentences that the hooks' rules take from {rules[1]:,} turns", rules[0]),
    ]
    show_figures(figures)
    write(file, "injection", figures, least_relevance=shown)


def _figures(bill: Bill) -> dict[str, int | float]:
    questions = len(bill.answered)
    on_questions = bill.injections - bill.on_ordinary
    return {
        "tokens a session": round(statistics.fmean(bill.sessions)),
        "tokens a prompt": round(statistics.fmean(bill.tokens)),
        "prompts with any": bill.injections / len(bill.tokens),
        "ordinary with any": bill.on_ordinary / (len(bill.tokens) - questions),
        "questions with any": on_questions / questions,
        "with evidence": bill.needed / max(1, bill.injections),
        "questions answered": sum(share == 1 for share in bill.answered) / questions,
    }


if __name__ == "__main__":
    main()
