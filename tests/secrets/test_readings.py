"""A secret is found behind escapes and in tables, and exactly its place in the text is redacted."""

import html
import json
import re
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.secrets.find import find, redacted
from tests.support.patterns import Used, growth

SECRET = "Kx9-" + "hunter42"
MARK = "[secret: password]"
INSERT = " ".join(("insert", "into", "t (password) values "))
ESCAPES = {"JSON": lambda text: json.dumps(text)[1:-1], "HTML": html.escape, "URL": lambda text: quote(text, safe="")}


@given(st.lists(st.sampled_from(sorted(ESCAPES)), max_size=3), st.text(max_size=20), st.text(max_size=20))
def test_escapes_within_escapes_hide_nothing(escapes: list[str], before: str, after: str) -> None:
    written, secret = f'"password": "{SECRET}"', SECRET
    for escape in escapes:
        written, secret = ESCAPES[escape](written), ESCAPES[escape](secret)
    assert redacted(f"{before}\n{written}\n{after}")[0].count(secret) == (before + after).count(secret)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (r'{"a": "{\"password\": \"V1\"}"}', r'{"a": "{\"password\": \"M1\"}"}'),
        (
            r'{"a": "{\"b\": \"{\\\"password\\\": \\\"V1\\\"}\"}"}',
            r'{"a": "{\"b\": \"{\\\"password\\\": \\\"M1\\\"}\"}"}',
        ),
        (r'"é ü 🎉\npassword=V1\nnext"', r'"é ü 🎉\npassword=M1\nnext"'),
        ("é?a%26password%3DV1%26x%3D1", "é?a%26password%3DM1%26x%3D1"),
        ("&lt;b&gt; &quot;password&quot;: &quot;V1&quot;", "&lt;b&gt; &quot;password&quot;: &quot;M1&quot;"),
        (
            "| é | password |\n|---|---|\n| ü | V1 |\n| 🎉 | V1 |",
            "| é | password |\n|---|---|\n| ü | M1 |\n| 🎉 | M1 |",
        ),
        ('user,password\n"é","V1"\nbob,V1', 'user,password\n"é","M1"\nbob,M1'),
        ("user   password\nada    V1\n\nada    V1", "user   password\nada    M1\n\nada    V1"),
        (
            f"{INSERT}('V1'), ( 'V1' )",
            f"{INSERT}('M1'), ( 'M1' )",
        ),
        (
            "kind: Secret\ndata:\n  x: V1\n  y: V1\nother:\n  z: V1",
            "kind: Secret\ndata:\n  x: M1\n  y: M1\nother:\n  z: V1",
        ),
    ],
)
def test_only_the_secret_gives_way(before: str, after: str) -> None:
    expected = after.replace("M1", MARK).replace("V1", SECRET)
    assert redacted(before.replace("V1", SECRET))[0] == expected
    assert redacted(expected)[0] == expected


def test_all_sessions_of_a_cookie_header_are_found() -> None:
    values = [f"{letter}1b2" * 8 for letter in "klm"]
    text = f"Cookie: theme=dark; sid={values[0]}; lang=en; auth_token={values[1]}; consent={values[2]}"
    assert [text[secret.start : secret.end] for secret in find(text)] == values[:2]


class Search(Used):
    def work_on(self, text: str) -> None:
        redacted(text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "part",
    [
        *(r"\\", r"\"", "%25", "&amp;", r"\\\\\"", "%3D\n", r"\n", r"\u0041", "&#65;"),
        *("password|", "| password |\n", "password,token\n", "password  token\n", "password\n\n", "a,password,b,c,d\n"),
        *("| password ", "x  ", "cookie: sid=a; ", "sid=a; ", f"{INSERT}('a'),", "('a', "),
        *("kind: Secret\ndata:\n", "data:\n  a: b\n", "  a: b\n", "密码", "密码:", "пароль "),
    ],
)
def test_it_takes_time_as_the_text_grows(part: str) -> None:
    for first in ("", "| password |\n", "Cookie: ", INSERT, "kind: Secret\ndata:\n"):
        slow = growth(Search(re.compile(""), frozenset()), (first, part, "K9!x"))
        assert not slow, f"{slow} after {first!r}"
