"""From bytes to text."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.code.index import Decoded, decode


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


PDF = b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<</Type/Catalog>>\nendobj\n" + b"stream of words\n" * 1000
COMPRESSED = zlib.compress(b"".join(b"blob %d" % n for n in range(9000)))


@pytest.mark.parametrize(
    "data",
    [
        b"\x7fELF\x00\x00",
        b"text" * 100 + b"\x00",
        b"\xff\xfea",
        PDF,
        PDF.replace(b"\xe2\xe3\xcf\xd3", b"abcd"),
        PDF + b"\0\0",
        COMPRESSED.replace(b"\0", b"\1"),
        b"\1\2\3\x04" + COMPRESSED[2:].replace(b"\0", b"\1"),
        b"x\x01K\xca\xc9OR04c(J-.\xc9\xccKW\xe0\x02",
    ],
    ids=["elf", "late nul", "broken utf-16", "pdf", "ascii pdf", "pdf with nul", "zlib", "noise", "git object"],
)
def test_a_binary_file_has_no_text(data):
    assert decode(data) is None


@pytest.mark.parametrize("text", ["x^2 + y", "BZh is how it begins", "a\x1b[0mb", "# %PDF-1.5 is what it begins with"])
def test_a_text_that_only_looks_a_little_like_a_format_is_text(text):
    assert decode(text.encode()) == Decoded(text, "utf-8")


OLD_ENCODINGS = {
    "shift_jis": "日本語の文章です。",
    "gb18030": "中文的一句话。",
    "big5": "中文的一句話。",
    "euc-kr": "한국어 문장.",
    "koi8-r": "Русский текст.",
    "cp1251": "Русский текст.",
    "iso8859-7": "Ελληνικό κείμενο.",
}


@pytest.mark.parametrize("encoding", OLD_ENCODINGS)
def test_a_text_in_an_old_encoding_is_not_taken_for_binary(encoding):
    assert decode((OLD_ENCODINGS[encoding] + "\n\tx = 1\r\n").encode(encoding) * 40) is not None


@given(st.binary())
def test_every_file_is_text_with_plain_line_ends_or_binary(data):
    decoded = decode(data)
    assert decoded is None or "\r" not in decoded.text


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("a", 1), ("a\n", 1), ("a\nb", 2), ("\n", 1), ("a\n\n", 2)])
def test_lines_are_counted_as_an_editor_does(text, lines):
    assert Decoded(text, "utf-8").line_count == lines
