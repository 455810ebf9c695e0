"""From `memsweep serve --http` to a server; whatever cannot work is said before anything heavy is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing
from itertools import count
from typing import TYPE_CHECKING

from memsweep.app import App, make_app
from memsweep.errors import AlreadyExists, BadInput, Conflict
from memsweep.project.resolver import existing_folder
from memsweep.server.http import PATH
from memsweep.server.start import Profile, known_profile, look_for_cycles_seldom, share_few_heaps
from memsweep.settings import load_settings
from memsweep.store.drafts import draft_of, plain_refusals
from memsweep.web.guard import check_host, is_loopback, make_guard

if TYPE_CHECKING:
    from starlette.types import ASGIApp

_BEYOND = "--host {host} can be reached from other machines"
_FIRST_NAME, _TOKEN_FILE = "first", "http-token"


def serve_http(
    profile: str, project: str, host: str, port: int, allowed_hosts: Sequence[str], *, ui: bool = False
) -> None:
    """Serve until SIGTERM or SIGINT; requests that have begun are finished first. `ui`: the page as well."""
    chosen = known_profile(profile)
    look_for_cycles_seldom()
    share_few_heaps()
    for name in allowed_hosts:
        check_host(name)
    if ui and (allowed_hosts or not is_loopback(host)):
        raise BadInput("the page is for this machine alone.", hint="Leave out --ui, or --host and --allowed-host.")
    folder = existing_folder(project) if project else ""
    with closing(make_app(load_settings(), project=folder)) as app:
        _refuse_open_door(app, host, allowed_hosts)
        _serve(app, chosen, host, port, allowed_hosts, ui=ui)


def _refuse_open_door(app: App, host: str, allowed_hosts: Sequence[str]) -> None:
    """Beyond loopback nothing is guessed: who may come in, and by which name, was said before."""
    if is_loopback(host):
        return
    if not allowed_hosts:
        raise BadInput(
            f"{_BEYOND.format(host=host)}, and no name is allowed.",
            hint="Say what clients will call it: --allowed-host memory.example.com",
        )
    if not app.tokens.has_active():
        raise Conflict(
            f"{_BEYOND.format(host=host)}, and there is no token yet.",
            hint="Make one first: memsweep token create NAME --workspace ID",
        )


def _serve(app: App, profile: Profile, host: str, port: int, allowed_hosts: Sequence[str], *, ui: bool) -> None:
    from memsweep.schedule.background import Background
    from memsweep.server.app import tool_rows
    from memsweep.server.http.door import Door, bind, serve_until_signalled
    from memsweep.server.http.servers import Meter, make_servers

    with bind(host, port) as listener:
        own_port = listener.getsockname()[1]
        meter, guard = Meter(), make_guard(own_port, allowed_hosts)
        is_local = is_loopback(host) and not allowed_hosts
        page = _page(app, own_port) if ui else None
        quick = {row.function.__name__ for row in tool_rows(app, "full") if row.quick}
        servers = make_servers(app, profile, meter)
        door = Door(app, servers, guard, meter, is_local=is_local, quick_tools=quick, page=page)
        _greet(app, f"http://{f'[{host}]' if ':' in host else host}:{own_port}", ui=ui)
        background = Background(app)
        background.start()
        try:
            serve_until_signalled(door, listener, app.settings.http.patience_seconds)
        finally:
            background.stop()


def _page(app: App, port: int) -> ASGIApp:
    from memsweep.web.login import redeem_tokens
    from memsweep.web.page import make_page

    return make_page(app, redeem_tokens(app), port)


def _greet(app: App, address: str, *, ui: bool) -> None:
    """Print the address and the place of the first token; the token itself only to a terminal, as logs are kept."""
    path, first = app.settings.home / _TOKEN_FILE, make_first_token(app)
    said = [f"memsweep serves agents at {address}{PATH}"]
    said += [f"The page is at {address}/login, where a token logs in."] if ui else []
    said += [f"The first token is in {path}, which only you can read."] if path.exists() else []
    said += [f"It is shown this once: {first}"] if first and sys.stderr is not None and sys.stderr.isatty() else []
    print("\n".join(said), file=sys.stderr, flush=True)


def make_first_token(app: App) -> str:
    """The token, whose only copy is in the home; empty if there is a token already.

    The file is there before the store lets the token in: one that is cut short in between is made anew.
    """
    from filelock import FileLock

    path = app.private_home() / _TOKEN_FILE
    with FileLock(path.with_name(f"{_TOKEN_FILE}.lock"), mode=0o600):
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
    names = (f"{_FIRST_NAME}-{number}" if number > 1 else _FIRST_NAME for number in count(1))
    return next(name for name in names if name not in used)
