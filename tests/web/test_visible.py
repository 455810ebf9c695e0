"""Nothing that is stored is markup, and nothing hides."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup, escape

from memsweep.web.rendering import HERE, as_it_is, environment, marked, plain, shown

TEMPLATES = sorted((HERE / "templates").rglob("*.html"))
FAMILY = "👩\u200d👩\u200d👧"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("plain", "plain"),
        ("safe\u202egnp.exe", "safe[U+202E]gnp.exe"),
        ("zero\u200bwidth", "zero[U+200B]width"),
        ("tag\U000e0041", "tag[U+E0041]"),
        ("join\u200der", "join[U+200D]er"),
        (FAMILY, FAMILY),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("a\nb\tc", "a\nb\tc"),
        ("\x1b[31m", "[U+001B][31m"),
    ],
)
def test_what_cannot_be_seen_is_written_out(text: str, said: str) -> None:
    assert plain(text) == said
    assert plain(Markup(text)) == text


@given(st.text())
def test_a_text_is_never_markup(text: str) -> None:
    made = environment().from_string("<p title='{{ text }}'>{{ text }}</p>{{ text|shown }}{{ marked(text, ['a']) }}")
    bare = made.render(text=text, now=None)
    for own in ("<p title='", "'>", "</p>", '<i class="unseen">', "</i>", "<mark>", "</mark>"):
        bare = bare.replace(own, "")
    assert not set(bare) & set("<>\"'\u202e\u200b\ufeff\x00")


@given(st.text(alphabet="aAbBß İ<&", max_size=30), st.lists(st.text(alphabet="abAßi ", max_size=3), max_size=3))
def test_marking_words_changes_no_letter(text: str, words: list[str]) -> None:
    said = str(marked(text, words)).replace("<mark>", "").replace("</mark>", "")
    assert said == str(escape(text))


def test_words_are_marked_in_any_case() -> None:
    assert marked("Deploy the ledger, deploy", ["deploy"]) == "<mark>Deploy</mark> the ledger, <mark>deploy</mark>"


def test_what_is_edited_comes_back_as_it_was() -> None:
    assert as_it_is("a\u202eb<") == "a\u202eb&lt;"
    assert shown("a\u202eb<") == 'a<i class="unseen">U+202E</i>b&lt;'


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_no_template_trusts_a_text_or_has_styles_and_scripts_of_its_own(path: Path) -> None:
    text = path.read_text("utf-8")
    for forbidden in (
        "|safe",
        "| safe",
        "style=",
        "<style",
        "onclick",
        "onload",
        "javascript:",
        "autoescape",
        "http://",
    ):
        assert forbidden not in text, forbidden
    assert text.count("<script") == text.count('nonce="{{ nonce }}"')
    assert text.count('method="post"') <= text.count("{{ csrf_field }}") + (path.name == "login.html")
