"""memsweep serve, ui, token …"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memsweep.app import App
from memsweep.cli.door import answering

if TYPE_CHECKING:
    from rich.console import Console

from typing import Annotated

import typer
from typer import Argument, Option

from memsweep.cli.door import with_app
from memsweep.errors import BadInput
from memsweep.report import Answer
from memsweep.report import tokens as report
from memsweep.server.start import ABOUT, start

DEFAULT_HOST, DEFAULT_PORT, PAGE_PORT = "127.0.0.1", 8765, 8737


def serve(
    context: typer.Context,
    profile: Annotated[str, typer.Option(help=f"Which tools to offer: {ABOUT}.")] = "default",
    project: Annotated[
        str, typer.Option(metavar="FOLDER", help="A folder of the project; by default what the client says.")
    ] = "",
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP, behind tokens.")] = False,
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address that --http listens on.")] = DEFAULT_HOST,
    port: Annotated[
        int, typer.Option(help="The port that --http listens on; 0 picks a free one.", min=0, max=65535)
    ] = DEFAULT_PORT,
    allowed_host: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Another host name under which clients reach --http; can be repeated."),
    ] = None,
    ui: Annotated[bool, typer.Option("--ui", help="With --http: the page of `memsweep ui` as well.")] = False,
) -> None:
    """Serve agents over MCP, on standard input and output or over HTTP."""
    project = project or context.find_root().params["project"]
    if http:
        from memsweep.server.http.start import serve_http

        serve_http(profile, project, host, port, allowed_host or (), ui=ui)
        return
    if ui or allowed_host or (host, port) != (DEFAULT_HOST, DEFAULT_PORT):
        raise BadInput("--host, --port, --allowed-host and --ui are for HTTP.", hint="Add --http.")
    start(profile, project)


def ui(
    port: Annotated[int, typer.Option(help="The port to listen on; 0 picks a free one.", min=0, max=65535)] = PAGE_PORT,
    no_open: Annotated[bool, typer.Option("--no-open", help="Print the link, and open no browser.")] = False,
) -> None:
    """Open a page that shows what is remembered, and what a collection would take; this machine only."""
    from memsweep.web.serving import serve_page

    with_app(lambda app: serve_page(app, port, open_browser=not no_open))


tokens = typer.Typer(help="Tokens for access over HTTP: create, list, revoke.", no_args_is_help=True)
Name = Annotated[str, Argument(metavar="NAME", help="What the token is for, such as laptop or ci.")]


def _created(console: Console, answer: Answer) -> None:
    print(answer["token"])
    typer.echo(f"Token {answer['name']!r}: {report.in_words(answer)}. It is not shown again.", err=True)


@tokens.command("create")
@answering(_created)
def create_token(
    app: App,
    name: Name,
    workspace: Annotated[
        list[str] | None,
        Option("--workspace", "-w", metavar="ID", help="A workspace it gives access to; can be repeated."),
    ] = None,
    all_workspaces: Annotated[bool, Option("--all-workspaces", help="Give access to all workspaces.")] = False,
    read_only: Annotated[bool, Option("--read-only", help="Allow reading only.")] = False,
    days: Annotated[float | None, Option("--days", help="Days until it expires; by default never.")] = None,
) -> Answer:
    """Create a token. It is shown only once; the store keeps just its hash."""
    if bool(workspace) == all_workspaces:
        raise BadInput(
            "a token gives access to some workspaces or to all.", hint="Give --workspace ID, or --all-workspaces."
        )
    token, secret = app.tokens.create(name, workspace or (), read_only=read_only, days=days)
    return report.token(token, app.clock(), secret)


def _listed(console: Console, answer: Answer) -> None:
    for each in answer["tokens"]:
        print(f"{each['name']:24} {each['created_at'][:10]}  {report.in_words(each)}")
    if not answer["tokens"]:
        print("None; `memsweep token create` makes one.")


@tokens.command("list")
@answering(_listed)
def list_tokens(
    app: App, revoked: Annotated[bool, Option("--revoked", help="Also those that were revoked.")] = False
) -> Answer:
    """List the tokens, without their secrets."""
    return report.tokens(app.tokens.all(revoked=revoked), app.clock())


@tokens.command("revoke")
@answering(lambda console, answer: print(f"Revoked token {answer['name']!r}; no server lets it in any more."))
def revoke_token(app: App, name: Name) -> Answer:
    """Revoke a token; every server refuses it from its next request on."""
    return report.token(app.tokens.revoke(name), app.clock())
