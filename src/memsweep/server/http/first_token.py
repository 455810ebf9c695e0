"""The first token of a home: made when somebody serves it over HTTP and nobody can come in yet."""

from __future__ import annotations

from itertools import count

from memsweep.app import App
from memsweep.errors import AlreadyExists
from memsweep.store.drafts import draft_of, plain_refusals

NAME = "first"
FILE = "http-token"


def make_first_token(app: App) -> str:
    """The token, whose only copy is in the home; empty if there is a token already.

    The file is there before the store lets the token in: one that is cut short in between is made anew.
    """
    from filelock import FileLock

    path = app.private_home() / FILE
    with FileLock(path.with_name(f"{FILE}.lock"), mode=0o600):
        if app.tokens.has_active():
            return ""
        token, secret = app.tokens.draft(_free_name(app))
        with draft_of(path, replace=True) as draft, plain_refusals(path):
            draft.write_text(f"{secret}\n", encoding="ascii")
        try:
            app.tokens.add(token)
        except AlreadyExists:  # made meanwhile by a server on another machine
            path.unlink()
            return ""
    return secret


def _free_name(app: App) -> str:
    """One that expired keeps its name until it is revoked."""
    used = {each.name for each in app.tokens.all()}
    names = (f"{NAME}-{number}" if number > 1 else NAME for number in count(1))
    return next(name for name in names if name not in used)
