"""memsweep token …"""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Argument, Option

from memsweep.app import App
from memsweep.cli.door import Json, show, with_app
from memsweep.errors import BadInput
from memsweep.report import tokens as report

cli = typer.Typer(help="Tokens for access over HTTP: create, list, revoke.", no_args_is_help=True)
Name = Annotated[str, Argument(metavar="NAME", help="What the token is for, such as laptop or ci.")]


@cli.command()
def create(
    name: Name,
    workspace: Annotated[
        list[str] | None,
        Option("--workspace", "-w", metavar="ID", help="A workspace it gives access to; can be repeated."),
    ] = None,
    all_workspaces: Annotated[bool, Option("--all-workspaces", help="Give access to all workspaces.")] = False,
    read_only: Annotated[bool, Option("--read-only", help="Allow reading only.")] = False,
    days: Annotated[float | None, Option("--days", help="Days until it expires; by default never.")] = None,
    as_json: Json = False,
) -> None:
    """Create a token. It is shown only once; the store keeps just its hash."""
    if bool(workspace) == all_workspaces:
        raise BadInput(
            "a token gives access to some workspaces or to all.", hint="Give --workspace ID, or --all-workspaces."
        )

    def made(app: App) -> report.TokenAnswer:
        token, secret = app.tokens.create(name, workspace or (), read_only=read_only, days=days)
        return report.token(token, app.clock(), secret)

    answer = with_app(made)

    def words(console: object) -> None:
        print(answer["token"])
        typer.echo(f"Token {name!r}: {report.in_words(answer)}. It is not shown again.", err=True)

    show(answer, as_json, words)


@cli.command("list")
def list_all(
    revoked: Annotated[bool, Option("--revoked", help="Also those that were revoked.")] = False, as_json: Json = False
) -> None:
    """List the tokens, without their secrets."""
    answer = with_app(lambda app: report.tokens(app.tokens.all(revoked=revoked), app.clock()))

    def words(console: object) -> None:
        for each in answer["tokens"]:
            print(f"{each['name']:24} {each['created_at'][:10]}  {report.in_words(each)}")
        if not answer["tokens"]:
            print("None; `memsweep token create` makes one.")

    show(answer, as_json, words)


@cli.command()
def revoke(name: Name, as_json: Json = False) -> None:
    """Revoke a token; every server refuses it from its next request on."""

    def run(app: App) -> report.TokenAnswer:
        return report.token(app.tokens.revoke(name), app.clock())

    answer = with_app(run)
    show(answer, as_json, lambda console: print(f"Revoked token {name!r}; no server lets it in any more."))
