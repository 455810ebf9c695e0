"""Tokens: who has access over HTTP. A new one is shown once; only whoever runs memsweep here makes or revokes any."""

from __future__ import annotations

from starlette.responses import Response

from memsweep.errors import BadInput
from memsweep.web.screen import Call, Screen
from memsweep.web.screens.care import require_owner


def create(call: Call) -> Response:
    """The answer is the only page that ever shows the secret, and no browser keeps it."""
    require_owner(call)
    where, days = call.given("where"), call.given("days")
    if where not in ("here", "everywhere"):
        raise BadInput("a token gives access to this workspace or to all.", hint="Choose one of them.")
    token, secret = call.page.app.tokens.create(
        call.given("name"),
        [call.workspace] if where == "here" else (),
        read_only=call.given("read_only") == "yes",
        days=_days(days),
    )
    return call.show("token.html", token=token, secret=secret)


def revoke(call: Call) -> Response:
    require_owner(call)
    revoked = call.page.app.tokens.revoke(call.part("token"))
    return call.go("/care", f"Revoked {revoked.name}: no server lets it in any more.")


def _days(text: str) -> float | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6):
        raise BadInput(f"days {text!r:.20} is not a number of days.", hint="Leave it empty for one that never expires.")
    return float(text)


SCREEN = Screen("care", "Care", "/care", acts={"/care/tokens": create, "/care/tokens/{token}/revoke": revoke})
