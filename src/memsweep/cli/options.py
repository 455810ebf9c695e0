"""Options and arguments that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

Id = Annotated[str, Argument(metavar="ID")]
MemoryId = Annotated[str, Argument(help="The id that remember or search printed.")]
WorkspaceId = Annotated[str, Argument(metavar="[ID]", help="The workspace; by default the configured one.")]

Yes = Annotated[bool, Option("--yes", "-y", help="Do not ask.")]
Force = Annotated[bool, Option("--force", help="Replace an existing file.")]
SavedPlan = Annotated[str, Option("--plan", metavar="ID", help="Apply this saved plan.")]
BackupFile = Annotated[Path | None, Option("--backup", metavar="FILE", help="Back up to this file first.")]

Limit = Annotated[int, Option("--limit", "-n", help="How many to show.")]
AtMost200 = Annotated[int, Option("--limit", "-n", help="How many to show, at most 200.")]
Cursor = Annotated[str | None, Option(help="The cursor printed with the previous page.")]

Tags = Annotated[list[str] | None, Option("--tag", "-t", help="Only with this tag; repeat it to require several.")]
Source = Annotated[str | None, Option(help="Only from this source.")]
Since = Annotated[str | None, Option(metavar="DATE", help="Only since this date.")]
Until = Annotated[str | None, Option(metavar="DATE", help="Only up to this date.")]
Tier = Annotated[str | None, Option(help="Only what came from a person, agent, tool, import or unknown.")]
Client = Annotated[str | None, Option(help="Only what came from this client.")]
Where = Annotated[
    list[str] | None,
    Option(
        metavar="CONDITION", help="Only with metadata such as ticket.id=42, state=open|new, score>3; can be repeated."
    ),
]
Session = Annotated[str | None, Option(help="Only what came from this session.")]
