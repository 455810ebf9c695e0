from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.embed.local import LocalEmbedder
from memsweep.memory.remember import TextSpan, cut, line_spans
from tests.support.counts import rounds

TokenEnds = Callable[[str], Sequence[int]]

TEXTS = st.text() | st.text("ab .!?\n\t`~'漢。😀é", max_size=400)
PROSE = st.lists(
    st.sampled_from(
        [
            "A sentence. ",
            "Another one! ",
            "word ",
            "\n",
            "\n\n",
            "```\ncode = 1\n\n```\n",
            "~~~",
            "漢字。",
            "😀",
            "x" * 90,
        ]
    ),
    max_size=80,
).map("".join)
SIZES = st.integers(1, 40).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2)))


def words(text: str) -> list[int]:
    """A word is a token; white space is none."""
    return [at + 1 for at, letter in enumerate(text) if not letter.isspace() and (text[at + 1 :] + " ")[0].isspace()]


def letters(text: str) -> list[int]:
    return list(range(1, len(text) + 1))


def encoded(text: str) -> list[int]:
    """A token for every byte: several may end at the same letter."""
    return [at + 1 for at, letter in enumerate(text) for _ in letter.encode("utf-8", "surrogatepass")]


def triples(text: str) -> list[int]:
    """Tokens that do not care where words end."""
    return [min(at + 3, len(text)) for at in range(0, len(text), 3)]


@cache
def bundled_model() -> LocalEmbedder:
    return LocalEmbedder()


def bundled(text: str) -> Sequence[int]:
    return bundled_model().token_ends(text)


TOKENISERS = st.sampled_from([words, letters, encoded, triples])


def tokens_between(ends: Sequence[int], start: int, end: int) -> int:
    return bisect_right(ends, end) - bisect_right(ends, start)


def beginnings(pieces: Sequence[TextSpan]) -> list[int]:
    """Where each piece has something that the one before does not have."""
    return [0, *(piece.end for piece in pieces[:-1])]


def joined(text: str, pieces: Sequence[TextSpan]) -> str:
    return "".join(text[begin : piece.end] for begin, piece in zip(beginnings(pieces), pieces, strict=True))


def check_laws(text: str, tokeniser: TokenEnds, size: int, overlap: int) -> list[TextSpan]:
    pieces = cut(text, tokeniser, size, overlap)
    ends = tokeniser(text)
    assert joined(text, pieces) == text
    assert all(before.start <= after.start for before, after in pairwise(pieces))
    most_in_a_letter = max(Counter(ends).values(), default=1)
    for begin, piece in zip(beginnings(pieces), pieces, strict=True):
        assert piece.start <= begin < piece.end or text == ""
        assert tokens_between(ends, piece.start, begin) <= overlap
        assert tokens_between(ends, piece.start, piece.end) <= max(size, most_in_a_letter + overlap)
    return pieces


@settings(max_examples=rounds(45, 300))
@given(TEXTS | PROSE, TOKENISERS, SIZES)
def test_pieces_lose_nothing_repeat_only_the_overlap_and_respect_the_size(
    text: str, tokeniser: TokenEnds, sizes: tuple[int, int]
) -> None:
    check_laws(text, tokeniser, *sizes)


@given(
    (st.text(st.characters(exclude_categories=["Cs"])) | PROSE).map(lambda text: text * 4),
    st.integers(16, 64).flatmap(lambda size: st.tuples(st.just(size), st.integers(0, size // 2))),
)
def test_the_laws_hold_for_the_bundled_tokeniser(text: str, sizes: tuple[int, int]) -> None:
    check_laws(text, bundled, *sizes)


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_the_bundled_tokeniser_counts_to_the_end_of_any_text(text: str) -> None:
    ends = bundled(text)
    assert list(ends) == sorted(ends)
    assert all(0 <= end <= len(text) for end in ends)
    assert ends[-1] == len(text)


@pytest.mark.slow
def test_the_bundled_tokeniser_counts_on_beyond_its_window() -> None:
    text = "All work and no play makes Jack a dull boy. " * 4000
    ends = bundled(text)
    assert ends[-1] == len(text)
    assert list(ends) == sorted(ends)
    check_laws(text, bundled, 512, 50)


@pytest.mark.parametrize(
    ("text", "size", "overlap", "pieces"),
    [
        ("one two three", 5, 0, ["one two three"]),
        ("a b c\n\nd e f\n\ng h i", 4, 0, ["a b c\n\n", "d e f\n\n", "g h i"]),
        ("One two. Three four. Five six.", 4, 0, ["One two. Three four. ", "Five six."]),
        ("A b. C d. E f. G h.", 6, 3, ["A b. C d. E f. ", "E f. G h."]),
        ("a b c d e f", 3, 1, ["a b c ", "c d e ", "e f"]),
        ("a\nb\nc\nd", 2, 0, ["a\nb\n", "c\nd"]),
        ("“Who?” he said. (So.) And then", 3, 0, ["“Who?” he said. ", "(So.) And then"]),
    ],
)
def test_pieces_end_where_a_reader_would_end_them(text: str, size: int, overlap: int, pieces: list[str]) -> None:
    assert [text[piece.start : piece.end] for piece in cut(text, words, size, overlap)] == pieces


def test_chinese_sentences_end_without_a_space() -> None:
    text = "我们今天去公园。天气很好！你来吗？好的。"
    pieces = cut(text, letters, 9, 0)
    assert [text[piece.start : piece.end] for piece in pieces] == ["我们今天去公园。", "天气很好！你来吗？", "好的。"]


def test_a_code_block_stays_whole_where_it_fits() -> None:
    block = "```python\ndef f():\n\n    return 1\n\n\nf()\n```\n"
    text = "some words before it\n\n" * 3 + block + "\nand some words after it\n\n" * 3
    pieces = [text[piece.start : piece.end] for piece in cut(text, words, 16, 0)]
    assert len(pieces) > 2
    assert any(block in piece for piece in pieces)


def test_a_code_block_without_an_end_is_cut_all_the_same() -> None:
    check_laws("```\n" + "line of code\n" * 200, words, 20, 5)


@pytest.mark.parametrize(
    "letter", [".", "!", "。", "?!", ".)", "a", " ", "\n", "`", "```\n", "a.", ". ", "\t", "漢", "😀"]
)
@pytest.mark.timeout(60)
def test_a_long_run_of_the_same_letter_is_cut_without_delay(letter: str) -> None:
    text = letter * (200_000 // len(letter))
    pieces = cut(text, letters, 512, 50)
    assert joined(text, pieces) == text


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_ten_megabytes_of_lines_without_a_blank_one_are_cut_without_delay() -> None:
    text = "2026-03-31 INFO a line of a log\n" * 300_000
    pieces = cut(text, lambda text: range(16, len(text) + 1, 16), 512, 50)
    assert text.endswith(text[beginnings(pieces)[-1] :])


@given(TEXTS, SIZES)
def test_lines_are_counted_from_one_and_hold_the_piece(text: str, sizes: tuple[int, int]) -> None:
    pieces = cut(text, letters, *sizes)
    for piece, (first, last) in zip(pieces, line_spans(text, pieces), strict=True):
        assert first == text.count("\n", 0, piece.start) + 1
        assert last == text.count("\n", 0, max(piece.start, piece.end - 1)) + 1
