"""Nothing that is stored runs, and nothing that was injected would."""

import pytest

INJECTED = (
    '<img src=x onerror="window.pwned=1"><style>body{display:none}</style><script>window.pwned=3</script>'
    '<a href="javascript:window.pwned=2" id=lure>x</a><iframe srcdoc="<script>parent.pwned=4</script>"></iframe>'
    '<svg onload="window.pwned=5"></svg><base href="//evil.example/"></main>'
)
LOADS = 30


def test_hostile_texts_are_texts_everywhere(tab) -> None:
    here = tab()
    own = [each.id for each in here.memory.memories(filters={"source": "hostile"}, limit=50).memories]
    plan = here.memory.sweep.plan_chosen(own)
    paths = ["/", "/memories?source=hostile", "/memories?q=script+onerror+svg", "/forget?q=script+svg+onload"]
    paths += ["/history", "/trash", f"/plans/{plan.id}", "/memories?tag=%3Cscript%3Ewindow.pwned%3D1%3C%2Fscript%3E"]
    paths += [f"/memories/{each}" for each in own] + [f"/memories/{own[0]}/edit"]
    hostile = here.memory.graph.names("script").entities[0].id
    paths += ["/graph", "/graph/doubts", f"/graph/{hostile}", f"/graph/{hostile}/merge", "/context", "/code", "/care"]
    for path in paths:
        page = here.go(path)
        assert page.evaluate("window.pwned") is None, path
        strays = "main script, main img, main style, main base, main meta, main iframe, main [onload], main [onerror]"
        assert page.locator(strays).count() == 0, path
        assert page.url.startswith(here.address), path


def test_markup_that_slips_through_runs_nothing(tab) -> None:
    here = tab()
    address = f"{here.address}/w/{here.workspace}/memories"

    def inject(route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("</main>", INJECTED))

    here.page.route("**/memories", inject)
    for _ in range(LOADS):
        here.page.goto(address)
        here.page.evaluate("document.getElementById('lure').click()")
        assert here.page.evaluate("window.pwned") is None
        assert here.page.evaluate("getComputedStyle(document.body).display") != "none"
    assert any("Content Security Policy" in said for said in here.errors)
    here.errors.clear()


@pytest.mark.parametrize(
    "attempt",
    [
        "document.body.innerHTML = '<img src=x onerror=window.pwned=1>'",
        "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
        "new DOMParser().parseFromString('<b>x</b>', 'text/html')",
        "document.createElement('script').src = '/static/page.js'",
        "trustedTypes.createPolicy('memsweep', {createHTML: (text) => text})",
    ],
)
def test_trusted_types_let_no_script_make_markup(tab, attempt: str) -> None:
    here = tab()
    page = here.go("/")
    assert (
        page.evaluate(f"() => {{ try {{ {attempt}; return 'done' }} catch (error) {{ return 'refused' }} }}")
        == "refused"
    )
    here.errors.clear()


def test_another_site_can_neither_frame_nor_read_nor_post(tab, chromium) -> None:
    here = tab()
    page = here.page
    frame = f'<iframe src="{here.address}/"></iframe>'
    form = f'<form id=form method=post action="{here.address}/theme"><input name=theme value=dark></form>'
    for origin in ("http://evil.example", "http://127.0.0.1:1"):
        page.route(
            f"{origin}/**",
            lambda route: route.fulfill(body=f"<title>evil</title>{frame}{form}", content_type="text/html"),
        )
        page.goto(f"{origin}/")
        read = f"fetch('{here.address}/', {{credentials: 'include'}}).then(() => 'read').catch(() => 'blocked')"
        assert page.evaluate(read) == "blocked"
        assert all("memsweep" not in (each.title() or "") for each in page.frames[1:])
        page.evaluate("document.getElementById('form').submit()")
        page.wait_for_url(f"{here.address}/**")
        assert "refused" in page.inner_text("body") or "/login" in page.url
    here.errors.clear()
