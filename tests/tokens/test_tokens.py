from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from memsweep.app import App
from memsweep.errors import AlreadyExists, BadInput, NotAllowed, NotFound, StoreCorrupt
from memsweep.model.token import Token, digest_of, is_secret, make_secret, make_token
from tests.support import store_files
from tests.support.commands import Ran
from tests.support.engines import ENGINES, on_every_engine

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("days", "later", "revoked", "state"),
    [
        (None, 10_000, False, "active"),
        (1, 0.999, False, "active"),
        (1, 1, False, "expired"),
        (1, 0, True, "revoked"),
        (1, 2, True, "revoked"),
        (1, -5, False, "active"),  # a clock that was set back
    ],
)
def test_the_state_of_a_token(days: float | None, later: float, revoked: bool, state: str) -> None:
    made = make_token("t", make_secret(bytes(32)), (), read_only=False, now=NOW, days=days)
    token = Token(made.name, made.digest, (), False, NOW, made.expires_at, NOW if revoked else None)
    now = NOW + timedelta(days=later)
    assert token.state(now) == state
    if state == "active":
        token.refuse_unusable(now)
    else:
        with pytest.raises(NotAllowed, match=f"'t' (was )?{state} on 2026-11-1"):
            token.refuse_unusable(now)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "A b"}, "token name"),
        ({"name": ""}, "token name"),
        ({"workspaces": ["../x"]}, "workspace id"),
        ({"workspaces": [f"w{number}" for number in range(101)]}, "at most 100 workspaces"),
        ({"days": 0}, "days must be"),
        ({"days": -1}, "days must be"),
        ({"days": float("nan")}, "days must be"),
        ({"days": 1e9}, "days must be"),
    ],
)
def test_a_token_that_makes_no_sense_is_not_made(change: dict[str, object], sentence: str) -> None:
    values = {"name": "t", "workspaces": (), "days": None, **change}
    with pytest.raises(BadInput, match=sentence):
        make_token(values.pop("name"), "s", values.pop("workspaces"), read_only=True, now=NOW, **values)  # type: ignore[arg-type]


def test_a_secret_is_known_by_its_form() -> None:
    secret = make_secret(bytes(range(32)))
    assert is_secret(secret)
    assert not any(map(is_secret, ("", "msw_", secret[:-1], secret + "A", secret.replace("msw", "MSW"), secret + "\n")))


@on_every_engine
def test_a_token_is_let_in_until_it_is_revoked_at_every_server(make: Callable[..., App]) -> None:
    here, there = make(), make()
    token, secret = here.tokens.create("laptop", ["b", "a", "b"], read_only=True, days=2)
    assert there.tokens.admit(secret) == token == here.tokens.admit(secret)
    assert (token.workspaces, token.read_only) == (("b", "a"), True)
    assert there.tokens.all() == [token]
    with pytest.raises(AlreadyExists, match="'laptop' is in use"):
        there.tokens.create("laptop")
    revoked = there.tokens.revoke("laptop")
    for app in (here, there):
        with pytest.raises(NotAllowed, match="was revoked"):
            app.tokens.admit(secret)
        assert app.tokens.all() == []
        assert app.tokens.all(revoked=True) == [revoked]
    with pytest.raises(NotFound, match="no token 'laptop'"):
        here.tokens.revoke("laptop")
    again, new_secret = here.tokens.create("laptop")
    assert there.tokens.admit(new_secret) == again
    with pytest.raises(NotAllowed, match="was revoked"):
        here.tokens.admit(secret)


@on_every_engine
def test_a_token_that_nobody_made_is_unknown(app: App) -> None:
    for secret in ("", "x", make_secret(bytes(32)), digest_of("x"), "msw_" + "é" * 43):
        with pytest.raises(NotAllowed, match="unknown here"):
            app.tokens.admit(secret)
    assert not app.tokens.has_active()


@on_every_engine
def test_an_expired_token_is_refused_and_leaves_no_active_one(app: App) -> None:
    _, secret = app.tokens.create("short", days=1)
    assert app.tokens.has_active()
    app.clock = lambda: datetime.now(UTC) + timedelta(days=1)
    with pytest.raises(NotAllowed, match="expired on"):
        app.tokens.admit(secret)
    assert not app.tokens.has_active()
    assert [each.name for each in app.tokens.all()] == ["short"]


@on_every_engine
def test_tokens_are_no_workspaces(app: App) -> None:
    app.tokens.create("t")
    app.memory().remember("something")
    assert [each.id for each in app.workspaces()] == ["default"]
    assert app.engine.keeper.examine() == []


def test_no_file_holds_the_secret(app: App, home: Path) -> None:
    _, secret = app.tokens.create("t")
    app.close()
    assert all(secret.encode() not in file.read_bytes() for file in home.rglob("*") if file.is_file())


def test_a_damaged_token_lets_nobody_in_and_goes_with_a_repair(app: App, home: Path) -> None:
    app.memory().remember("something")
    _, kept = app.tokens.create("kept")
    _, lost = app.tokens.create("lost", ["default"])
    store_files.damage_token(home, "lost")
    with pytest.raises(StoreCorrupt, match=r"token\.workspaces"):
        app.tokens.admit(lost)
    assert [each.invariant for each in app.engine.keeper.examine()] == ["registry_value_damaged"]
    app.engine.keeper.repair("registry_values", [], actor="test", now=NOW)
    assert app.engine.keeper.examine() == []
    assert app.tokens.admit(kept).name == "kept"
    with pytest.raises(NotAllowed, match="unknown here"):
        app.tokens.admit(lost)


@pytest.mark.skipif("falkor" not in ENGINES, reason="FalkorDB needs Python 3.12 here")
@pytest.mark.parametrize("engine_kind", ["falkor"])
def test_a_damaged_token_on_a_server_lets_nobody_in(app: App) -> None:
    token, secret = app.tokens.create("lost", ["default"])
    engine: Any = app.engine
    engine.link.write("HSET", f"{engine.link.prefix}:tokens", token.digest, '{"name":"lost","workspaces":{}}')
    with pytest.raises(StoreCorrupt, match=r"token .* is damaged"):
        app.tokens.admit(secret)


@on_every_engine
def test_tokens_by_the_command_line(run: Callable[..., Ran]) -> None:
    made = run("token", "create", "ci", "-w", "team", "--read-only", "--days", "30", "--json").json
    assert is_secret(made.pop("token"))
    assert made["workspaces"] == ["team"]
    shown = run("token", "create", "laptop", "--all-workspaces")
    assert is_secret(shown.out.strip())
    assert "not shown again" in shown.err
    listed = run("token", "list", "--json")
    assert [each["name"] for each in listed.json["tokens"]] == ["ci", "laptop"]
    assert listed.json["tokens"][0] == made
    assert shown.out.strip() not in listed.out
    assert "team, read-only, until" in run("token", "list").out
    assert run("token", "revoke", "ci").status == 0
    assert run("token", "revoke", "ci").status == 3
    assert [each["state"] for each in run("token", "list", "--revoked", "--json").json["tokens"]] == [
        "revoked",
        "active",
    ]
    for wrong in (["x"], ["x", "-w", "a", "--all-workspaces"]):
        ran = run("token", "create", *wrong)
        assert (ran.status, "to some workspaces or to all" in ran.err) == (2, True)
