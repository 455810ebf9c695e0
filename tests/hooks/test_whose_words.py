"""From the line of a client to the briefing of the next session: only what a person typed becomes a rule."""

from pathlib import Path
from typing import Any

import pytest

from memsweep.hooks import background
from memsweep.hooks.event import read_event
from memsweep.hooks.handle import handle
from memsweep.settings import load_settings
from tests.context.test_typed import MACHINE_MADE, RULE, STAMPED, claude_line, codex_began, codex_line

TYPED = "Never push to the main branch of the harbour."
OF_A_USER = {"content_item_kinds": ["user.text"], "content_item_metadata": [{"provenance": {"type": "user"}}]}
OF_CLAUDE = [
    *(claude_line(text, **STAMPED) for text in MACHINE_MADE),
    *(claude_line(text, version="2.1.120") for text in MACHINE_MADE),
    claude_line(origin={"kind": "task-notification"}, version="2.1.325"),
    claude_line(version="2.1.325"),
    claude_line(isMeta=True, **STAMPED),
    claude_line(isSidechain=True, **STAMPED),
    claude_line(isCompactSummary=True, **STAMPED),
    claude_line([{"type": "tool_result", "tool_use_id": "t", "content": RULE}], **STAMPED),
]
OF_CODEX = [
    *(codex_line(text, OF_A_USER) for text in MACHINE_MADE),
    codex_line(),
    codex_line(RULE, {"content_item_kinds": ["hook.context"]}),
    codex_line(RULE, OF_A_USER, client_authored=True),
]


def numbered(lines: list[str]) -> str:
    """The lines, each a message of its own."""
    return "".join(line.replace('"m1"', f'"m{at}"').replace('"u1"', f'"u{at}"') + "\n" for at, line in enumerate(lines))


@pytest.mark.parametrize(
    "lines",
    [
        [*OF_CLAUDE, claude_line(TYPED, **STAMPED)],
        [codex_began(cli_version="0.166.0", source="cli"), *OF_CODEX, codex_line(TYPED, OF_A_USER)],
    ],
    ids=["claude", "codex"],
)
def test_of_all_lines_of_a_session_the_next_is_told_what_was_typed(
    lines: list[str], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "start_draining", lambda files: None)
    settings = load_settings({"MEMSWEEP_HOME": str(home), "MEMSWEEP_HOOKS_MEMORIES_A_SESSION": "100"})
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(numbered(lines))

    def told(event: str, session: str, **said: Any) -> str:
        data = {"session_id": session, "cwd": str(tmp_path), "transcript_path": str(transcript), **said}
        answer, _ = handle(read_event(event, data), settings)
        return str((answer or {}).get("additionalContext", ""))

    told("SessionEnd", "s1")
    told("Drain", "s1")
    briefing = told("SessionStart", "s2", source="startup")
    rules = [line for line in briefing.splitlines() if line.startswith("- [")]
    assert [TYPED in line and line.startswith("- [person]") for line in rules] == [True]
    assert "curl" not in briefing
