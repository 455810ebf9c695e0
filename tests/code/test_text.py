"""From bytes to text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.code.text import Decoded, decode


@pytest.mark.parametrize(
    ("data", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        ("grün\n".encode(), "grün\n", "utf-8"),
        ("grün".encode("utf-8-sig"), "grün", "utf-8-sig"),
        ("grün".encode("utf-16"), "grün", "utf-16"),
        (b"\xfe\xff\x00a", "a", "utf-16"),
        ("grün".encode("utf-32"), "grün", "utf-32"),
        ("“grün”".encode("cp1252"), "“grün”", "cp1252"),
        (b"\x81\xe9", "\x81é", "latin-1"),
        (b"a\r\nb\rc\n", "a\nb\nc\n", "utf-8"),
    ],
)
def test_an_encoding_is_found_and_named(data, text, encoding):
    assert decode(data) == Decoded(text, encoding)


@pytest.mark.parametrize("data", [b"\x7fELF\x00\x00", b"text" * 100 + b"\x00", b"\xff\xfea"])
def test_a_binary_file_has_no_text(data):
    assert decode(data) is None


@given(st.binary())
def test_every_file_is_text_with_plain_line_ends_or_binary(data):
    decoded = decode(data)
    assert decoded is None or "\r" not in decoded.text


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\n\n", 2)])
def test_lines_are_counted_as_an_editor_does(text, lines):
    assert Decoded(text, "utf-8").line_count == lines
