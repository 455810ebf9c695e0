"""The registry of a home, and what a workspace says of itself: declared. Pure."""

from datetime import datetime
from typing import Annotated, Any, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import declare


class WorkspaceRow(NamedTuple):
    name: Annotated[str, c.WORD.but(remedy=f.lost("lost-{}"))]
    file: Annotated[str, c.WORD.but(unique=True)]
    description: Annotated[str, c.TEXT.but(default="")]
    created_at: Annotated[datetime, c.TIME]
    deleted_at: Annotated[datetime | None, c.MAYBE_TIME]
    receipt: Annotated[str | None, c.MAYBE_TEXT]
    project: Annotated[str, c.TEXT.but(default="")]
    key: Annotated[int, c.KEY.but(sql="integer primary key")]


class Intent(NamedTuple):
    """An intended change of a file, and its owner."""

    file: Annotated[str, c.WORD]
    action: Annotated[str, c.WORD]
    owner: Annotated[str, c.WORD]


class PendingEvent(NamedTuple):
    """An event that the audit log of a file has yet to get."""

    file: Annotated[str, c.WORD]
    event: Annotated[dict[str, Any], c.OBJECT.but(remedy=f.drop, default=None)]
    key: Annotated[int, c.KEY.but(sql="integer primary key")]


class TokenRow(NamedTuple):
    """A token for HTTP. Nothing is guessed: a damaged one lets nobody in."""

    digest: Annotated[str, c.WORD]
    name: Annotated[str, c.WORD]
    workspaces: Annotated[tuple[str, ...], c.WORDS.but(fits=f.listed(f.word), remedy=f.drop)]
    read_only: Annotated[bool, c.FLAG.but(remedy=f.drop, default=None)]
    created_at: Annotated[datetime, c.TIME]
    expires_at: Annotated[datetime | None, c.MAYBE_TIME.but(remedy=f.drop)]
    revoked_at: Annotated[datetime | None, c.MAYBE_TIME.but(remedy=f.drop)]


class Meta(NamedTuple):
    """One thing that a workspace says of itself; what its value may be depends on the key."""

    key: Annotated[str, c.WORD.but(in_file="key")]
    value: Annotated[Any, c.TEXT.but(sql="", fits=lambda value: True, remedy=f.drop, null=True)]


META = declare(Meta, "meta", "Workspace")
META_VALUES: dict[str, c.Column] = {
    "workspace": c.WORD,
    "description": c.TEXT,
    "created_at": c.MOMENT,
    "deleted_at": c.MAYBE_MOMENT,
    "model": c.WORD.but(fits=f.model),
    "staged_model": c.TEXT.but(remedy=f.drop),
    # one that no vector file has
    "vector_generation": c.MAYBE_NUMBER.but(remedy=lambda damaged, row: row["now"]),
}
WORKSPACE = declare(WorkspaceRow, "workspace", "")
REGISTRY = (
    WORKSPACE,
    declare(Intent, "intent", ""),
    declare(PendingEvent, "pending_event", ""),
    declare(TokenRow, "token", "Token"),
)
