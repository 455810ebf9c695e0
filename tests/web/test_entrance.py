"""Who gets in: a link that works once, sessions that end, and forms of nobody else."""

from functools import partial
from pathlib import Path

import anyio
import pytest
from starlette.requests import Request
from starlette.testclient import TestClient
from starlette.types import Message

from memsweep.app import App
from memsweep.errors import BadInput, NotAllowed
from memsweep.settings import load_settings
from memsweep.web.guard import GuardedApp, make_guard
from memsweep.web.login import HOURS, LINK_SECONDS, Grant, Logins, OneTimeLink, redeem_tokens
from memsweep.web.page import make_page, read_form
from memsweep.web.screens import SCREENS
from tests.support.environment import environment
from tests.web.conftest import HOME, PORT

READS = [path for screen in SCREENS for path in screen.shows]
WRITES = [path for screen in SCREENS for path in screen.acts]
FORM = "application/x-www-form-urlencoded"
PARTS = "multipart/form-data; boundary=x; charset="


def test_a_link_opens_one_session_and_then_nothing(app: App) -> None:
    link = OneTimeLink()
    token = link.token
    served = GuardedApp(make_page(app, link.redeem, PORT), make_guard(PORT))
    with TestClient(served, base_url=HOME) as first, TestClient(served, base_url=HOME) as second:
        opened = first.post("/login", data={"token": token}, headers={"origin": HOME})
        assert opened.url.path == "/w/default/"
        refused = second.post("/login", data={"token": token}, headers={"origin": HOME})
        assert refused.status_code == 403
        assert "A browser logged in with this link at" in refused.text
        assert "end the page with Ctrl-C at once" in refused.text
        assert second.get("/w/default/").url.path == "/login"


def test_a_link_that_was_not_used_in_time_opens_nothing() -> None:
    now = [1000.0]
    link = OneTimeLink(clock=lambda: now[0])
    assert link.redeem("another") is None
    now[0] += LINK_SECONDS + 1
    with pytest.raises(NotAllowed, match="not used in time"):
        link.redeem(link.token)


def test_the_cookie_is_for_no_script_and_no_other_site(browser) -> None:
    said = browser.page.history[0].headers["set-cookie"]
    assert said.startswith(f"memsweep_{PORT}=")
    assert {"HttpOnly", "SameSite=strict", "Path=/"} <= set(said.split("; "))


@pytest.mark.parametrize("path", READS)
def test_nothing_is_shown_without_a_session(app: App, path: str) -> None:
    served = GuardedApp(make_page(app, OneTimeLink().redeem, PORT), make_guard(PORT))
    with TestClient(served, base_url=HOME, follow_redirects=False) as client:
        answer = client.get(f"/w/default{path}")
        assert (answer.status_code, answer.headers["location"]) == (303, "/login")
        assert client.get(f"/w/default{path}", headers={"sec-fetch-mode": "cors"}).status_code == 401


@pytest.mark.parametrize("path", WRITES)
def test_a_form_without_its_token_or_its_origin_changes_nothing(browser, path: str) -> None:
    address = f"/w/default{path}"
    assert browser.post(address, csrf="guessed").status_code == 403
    assert browser.post(address, other="x").status_code == 403
    for origin in ("", "null", "http://127.0.0.1:1", "https://evil.example"):
        assert browser.post(address, origin, other="x").status_code == 403


@pytest.mark.parametrize("path", WRITES)
def test_who_may_only_look_changes_nothing(browse, path: str) -> None:
    reader = browse(Grant(read_only=True))
    assert reader.do(path).status_code == 403
    assert "can read, but not change" in reader.text


def test_a_form_of_a_neighbour_on_this_machine_is_refused(browser) -> None:
    """Cookies do not know ports, so a page of another one sends ours along; its Origin tells."""
    sent = {"origin": HOME, "sec-fetch-site": "same-site"}
    assert browser.client.post("/theme", data={"theme": "dark"}, headers=sent).status_code == 403


@pytest.mark.parametrize("mode", ["cors", "no-cors", "navigate"])
def test_another_site_embeds_nothing(browser, mode: str) -> None:
    sent = {"sec-fetch-site": "cross-site", "sec-fetch-mode": mode, "sec-fetch-dest": "iframe"}
    for path in ("/", "//static/page.css", "//login"):
        assert browser.see(path, **sent).status_code == 403


def test_a_link_from_another_site_leads_to_the_page(browser) -> None:
    sent = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert browser.see("/", **sent).status_code == 200


def test_every_answer_is_protected(browser) -> None:
    for path, cached in (("/", "no-store"), ("//static/page.js", "private, max-age=86400"), ("/nope", "no-store")):
        said = browser.see(path).headers
        policy = said["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "trusted-types 'none'" in policy
        assert said["cache-control"] == cached
        assert said["x-frame-options"] == "DENY"
        assert said["referrer-policy"] == "same-origin"
    first, second = (browser.see("/").headers["content-security-policy"] for _ in range(2))
    assert first != second, "a nonce is used once"


def test_a_session_ends_with_its_time_its_token_and_its_logout() -> None:
    now, holds = [1000.0], [True]
    logins = Logins(lambda token: Grant(still_holds=lambda: holds[0]) if token == "yes" else None, lambda: now[0])
    assert logins.open("no") is None
    session = logins.open("yes")
    assert session is not None
    assert logins.find(session.id) is session
    holds[0] = False
    assert logins.find(session.id) is None
    holds[0], now[0] = True, now[0] + HOURS * 3600 + 1
    assert logins.find(session.id) is None
    now[0] = 1000.0
    logins.close(session)
    assert logins.find(session.id) is None


def test_a_login_for_some_workspaces_sees_no_other(browse, app: App) -> None:
    for name in ("ours", "theirs"):
        app.create_workspace(name)
    browser = browse(Grant(workspaces=("ours",)), "ours")
    assert browser.page.url.path == "/w/ours/"
    assert "theirs" not in browser.page.text
    assert browser.see("//w/theirs/").status_code == 404
    assert "does not exist, or this login has no access" in browser.text


def test_the_theme_is_remembered_by_the_browser_and_leads_back(browser) -> None:
    browser.see("/trash")
    for theme in ("dark", "light", "system"):
        browser.client.headers["referer"] = f"{HOME}/w/default/trash"
        browser.do("//theme", theme=theme)
        assert browser.page.url.path == "/w/default/trash"
        assert f'data-theme="{theme}"' in browser.page.text
    for trap in ("//evil.example/", "https://evil.example//x", "javascript:alert(1)"):
        browser.client.headers["referer"] = trap
        assert browser.do("//theme", theme="dark").url.host == "127.0.0.1"
    assert browser.do("//theme", theme="<b>").status_code == 400


def test_a_logout_ends_it(browser) -> None:
    assert browser.do("//logout").url.path == "/login"
    assert browser.see("/").url.path == "/login"


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        (
            "multipart/form-data; boundary=x",
            b'--x\r\ncontent-disposition: form-data; name="csrf"\r\n\r\nx\r\n--x--',
            400,
        ),
        ("multipart/form-data", b"garbage", 400),
        ("application/json", b"{}", 400),
        ("", b"csrf=x", 400),
        (FORM, b"&".join([b"take=x"] * 60_000), 400),
        (FORM, b"csrf=%ff%fe&take=\xff", 403),
        (FORM, b"csrf=%00", 403),
        (FORM, b"", 403),
    ],
)
def test_a_body_that_is_no_form_of_ours_is_refused_with_a_sentence(
    browser, kind: str, body: bytes, status: int
) -> None:
    for path in ("/w/default/collect", "/theme"):
        answer = browser.client.post(path, content=body, headers={"origin": HOME, "content-type": kind})
        assert answer.status_code == status
        assert "<h1>" in answer.text
    answer = browser.client.post("/login", content=body, headers={"origin": HOME, "content-type": kind})
    assert answer.status_code == 403


def test_a_body_that_is_too_large_is_not_read(browser) -> None:
    answer = browser.client.post(
        "/w/default/collect", content=b"x" * 16_000_000, headers={"origin": HOME, "content-type": FORM}
    )
    assert answer.status_code == 413


def test_a_token_for_a_workspace_that_is_not_made_yet_names_no_other(browse, app: App) -> None:
    app.memory().remember("Something of the project.")
    browser = browse(Grant(workspaces=("later",)), "later")
    assert (browser.page.status_code, browser.page.url.path) == (200, "/w/later/")
    assert app.workspace_id not in browser.see("/nope").text


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"&" * 4096, FORM, 403),
        (b"&" * 14_000_000, FORM, 403),
        (b"token=%ED%A0%80&token=%00&token=%F0", FORM, 403),
        (b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\n\\ud800\r\n--x--', f"{PARTS}unicode_escape", 403),
        (b'--x\r\nContent-Disposition: form-data; name="token"\r\n\r\nx\r\n--x--', f"{PARTS}undefined", 403),
    ],
)
def test_what_a_stranger_sends_to_the_login_is_read_by_nobody(browse, body: bytes, kind: str, status: int) -> None:
    sent = {"origin": HOME, "content-type": kind}
    assert browse().client.post("/login", content=body, headers=sent).status_code == status


def test_a_store_that_cannot_be_reached_is_said_in_a_sentence(home: Path) -> None:
    """Nobody listens on port 1."""
    app = App(load_settings(environment(home, MEMSWEEP_STORE="falkor://127.0.0.1:1")))
    link = OneTimeLink()
    with TestClient(GuardedApp(make_page(app, link.redeem, PORT), make_guard(PORT)), base_url=HOME) as client:
        client.post("/login", data={"token": link.token}, headers={"origin": HOME})
        for path in ("/", "/w/default/", "/w/default/memories/mem_000000000000"):
            answer = client.get(path)
            assert (answer.status_code, "127.0.0.1:1" in answer.text) == (503, True)
    with TestClient(GuardedApp(make_page(app, redeem_tokens(app), PORT), make_guard(PORT)), base_url=HOME) as client:
        refused = client.post("/login", data={"token": "msw_" + "A" * 43}, headers={"origin": HOME})
        assert (refused.status_code, "127.0.0.1:1" in refused.text) == (503, True)


def test_a_form_whose_sender_hangs_up_is_refused_and_not_an_accident() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    request = Request({"type": "http", "method": "POST", "headers": [(b"content-type", FORM.encode())]}, receive)
    with pytest.raises(BadInput, match="arrived incomplete"):
        anyio.run(partial(read_form, request, most_fields=5, most_bytes=100))
