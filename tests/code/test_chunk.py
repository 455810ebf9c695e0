"""Pieces for search: complete, bounded, stable."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.code.chunk import Chunk, chunk
from memsweep.code.parse import parse
from tests.code.samples import SAMPLES


def cut(text: str, language: str = "python", limit: int = 10_000, count=len) -> tuple[Chunk, ...]:
    return chunk(text, parse(text, language), limit=limit, count=count)


def places(chunks: tuple[Chunk, ...]) -> list[str]:
    return [f"{each.symbol or '-'} {each.first_line}-{each.last_line}" for each in chunks]


SHAPE = """\
import os

LIMIT = 1


# Says something.
@decorate
def first():
    def inner():
        pass
    return inner


class Shape:
    '''A shape.'''

    size = 1

    def area(self):
        return 1

    color = 2

    def name(self):
        return 2


if __name__ == "__main__":
    first()
"""


def test_functions_methods_and_class_headers_are_pieces_of_their_own():
    assert places(cut(SHAPE)) == [
        "- 1-5",
        "first 6-13",
        "Shape 14-18",
        "Shape.area 19-21",
        "Shape 22-23",
        "Shape.name 24-27",
        "- 28-29",
    ]


def test_sections_are_pieces_without_their_subsections():
    assert places(cut("intro\n# A\na\n## B\nb\n# C\nc\n", "markdown")) == ["- 1-1", "A 2-3", "A > B 4-5", "C 6-7"]


def test_closing_brackets_and_blank_lines_make_no_piece():
    assert places(cut("\n\nclass A {\n  m() {\n  }\n}\n\n\nf();\n", "javascript")) == ["A 1-3", "A.m 4-8", "- 9-9"]


def test_a_function_that_is_too_large_gives_its_inner_ones_pieces_of_their_own():
    text = "def f():\n    x = 1\n    def g():\n        return 1\n    return g\n"
    assert places(cut(text)) == ["f 1-5"]
    assert places(cut(text, limit=50)) == ["f 1-2", "f.g 3-4", "f 5-5"]


def test_a_long_text_is_cut_between_paragraphs():
    text = "\n\n".join(f"paragraph {number}\nsecond line" for number in range(20)) + "\n"
    pieces = cut(text, "text", limit=120)
    assert len(pieces) > 3
    assert all(piece.text.startswith("paragraph") for piece in pieces)


def test_a_line_that_is_too_long_is_cut_inside():
    pieces = cut("x" * 1000, "text", limit=100)
    assert {len(piece.text) <= 100 for piece in pieces} == {True}
    assert {(piece.first_line, piece.last_line) for piece in pieces} == {(1, 1)}


def test_a_file_without_anything_has_no_piece():
    assert cut("") == ()


@pytest.mark.parametrize("text", ["\n", " ", "{}\n", "\n\n}\n"])
def test_a_file_that_says_nothing_is_one_piece(text):
    assert [piece.text for piece in cut(text, "text")] == [text]


def test_an_edit_in_one_function_changes_the_pieces_of_that_function_only():
    functions = [f"def f{number}(a):\n    '''Doc.'''\n    x = {number}\n    return x\n" for number in range(9)]
    before = cut("import os\n\n\n" + "\n\n".join(functions), limit=90)
    functions[4] = functions[4].replace("return x", "y = 1\n    print(y)\n\n    return y")
    after = cut("import os\n\n\n" + "\n\n".join(functions), limit=90)
    changed = {each.content_hash for each in before} ^ {each.content_hash for each in after}
    assert {each.symbol for each in (*before, *after) if each.content_hash in changed} == {"f4"}


def test_blank_lines_around_a_piece_are_not_part_of_its_identity():
    one, *_ = cut("def f():\n    pass\ndef g(): pass\n")
    other, *_ = cut("\n\ndef f():\n    pass\n\n\n\ndef g(): pass\n")
    assert one.content_hash == other.content_hash


def test_behind_an_edit_in_a_long_text_the_cuts_fall_into_step_again():
    lines = [f"line {number * 7919 % 1000} of a text that has no structure at all\n" for number in range(600)]
    before = cut("".join(lines), "text", limit=1500)
    after = cut("a new line at the very beginning\n" * 5 + "".join(lines), "text", limit=1500)
    same = {each.content_hash for each in before} & {each.content_hash for each in after}
    assert len(same) > len(before) / 2


# Laws

_LINES = """\
import os|x = 1|def f():|    return 1|class A:|    def m(self):|        pass||    y = 2|# note|@dec|}|\
ä = '日本'|if x:|    def g(): pass\
"""
_code = st.lists(st.sampled_from([*_LINES.split("|"), "x" * 90]), max_size=40).map("\n".join)
_text = st.one_of(_code, st.text(max_size=300), *(st.just(sample.text) for sample in SAMPLES.values()))
_language = st.sampled_from(["python", "javascript", "markdown", "text", "go"])


@given(_text, _language, st.integers(1, 200))
def test_law_the_pieces_put_together_are_the_text(text, language, limit):
    assert "".join(piece.text for piece in cut(text, language, limit)) == text


@given(_text, _language, st.integers(1, 200))
def test_law_every_line_is_in_a_piece_and_the_numbers_are_right(text, language, limit):
    pieces = cut(text, language, limit)
    lines = text.split("\n")
    expected = len(lines) - (lines[-1] == "")
    covered = {line for piece in pieces for line in range(piece.first_line, piece.last_line + 1)}
    assert covered == set(range(1, expected + 1))
    for piece in pieces:
        whole = "\n".join(lines[piece.first_line - 1 : piece.last_line])
        assert piece.text.removesuffix("\n") in whole


@given(_text, _language, st.integers(1, 200))
def test_law_no_piece_is_larger_than_the_limit_but_for_blank_lines(text, language, limit):
    for piece in cut(text, language, limit):
        assert len(piece.text.strip("\n")) <= limit or len(piece.text) == 1


@given(_text, _language, st.integers(1, 200))
def test_law_cutting_twice_gives_the_same(text, language, limit):
    assert cut(text, language, limit) == cut(text, language, limit)
