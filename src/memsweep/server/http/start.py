"""From `memsweep serve --http` to a server; whatever cannot work is said before anything heavy is imported."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import closing

from memsweep.app import App, make_app
from memsweep.errors import BadInput, Conflict
from memsweep.project.resolver import existing_folder
from memsweep.server.profiles import Profile
from memsweep.server.start import known_profile
from memsweep.settings import load_settings
from memsweep.web.guard import check_host, is_loopback, make_guard

_BEYOND = "--host {host} can be reached from other machines"


def serve_http(profile: str, project: str, host: str, port: int, allowed_hosts: Sequence[str]) -> None:
    """Serve until SIGTERM or SIGINT; requests that have begun are finished first."""
    chosen = known_profile(profile)
    for name in allowed_hosts:
        check_host(name)
    folder = existing_folder(project) if project else ""
    with closing(make_app(load_settings(), project=folder)) as app:
        _refuse_open_door(app, host, allowed_hosts)
        _serve(app, chosen, host, port, allowed_hosts)


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


def _serve(app: App, profile: Profile, host: str, port: int, allowed_hosts: Sequence[str]) -> None:
    from memsweep.schedule.background import Background
    from memsweep.server.http.door import PATH, Door
    from memsweep.server.http.first_token import FILE, make_first_token
    from memsweep.server.http.listening import bind, serve_until_signalled

    with bind(host, port) as listener:
        bound = listener.getsockname()[1]
        is_local = is_loopback(host) and not allowed_hosts
        door = Door(app, profile, make_guard(bound, allowed_hosts), is_local=is_local)
        first = make_first_token(app)
        background = Background(app)
        background.start()
        shown = f"[{host}]" if ":" in host else host
        _say(f"memsweep serves agents at http://{shown}:{bound}{PATH}")
        if first is not None:
            path, secret = first
            _say(f"The first token is in {path}, which only you can read.")
            if sys.stderr is not None and sys.stderr.isatty():  # a log would keep it
                _say(f"Authorization: Bearer {secret}")
        elif (app.settings.home / FILE).exists():
            _say(f"The first token is in {app.settings.home / FILE}; `memsweep token list` shows all.")
        try:
            serve_until_signalled(door, listener, app.settings.http.patience_seconds)
        finally:
            background.stop()


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)
