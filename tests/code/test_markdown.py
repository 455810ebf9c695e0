"""Markdown by heading."""

import pytest

from memsweep.code.parse import parse


def sections(text: str) -> list[str]:
    return [f"{each.qualified_name} {each.first_line}-{each.last_line}" for each in parse(text, "markdown").symbols]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("no heading\n", []),
        ("# A\ntext\n## B\nmore\n# C\n", ["A 1-4", "A > B 3-4", "C 5-5"]),
        ("# A", ["A 1-1"]),
        ("### Deep\n# Top\n", ["Deep 1-1", "Top 2-2"]),
        ("A\n===\nx\n\nB\n---\ny\n", ["A 1-7", "A > B 5-7"]),
        ("# A #\n## C# ##\n", ["A 1-2", "A > C# 2-2"]),
        ("#no space\n#\n", ["(untitled) 2-2"]),
        ("    # code\n", []),
        ("```\n# not\n```\n# yes\n", ["yes 4-4"]),
        ("~~~~ py\n# not\n~~~\n# not\n~~~~\n# yes\n", ["yes 6-6"]),
        ("```\n# never closed\n", []),
        ("- item\n---\n", []),
        ("| a |\n---\n\n---\n", []),
    ],
)
def test_headings_make_sections(text, expected):
    assert sections(text) == expected


def test_a_section_is_where_it_says():
    text = "intro\n# Größe\n日本\n## B\nx\n# C\n"
    found = parse(text, "markdown").symbols
    assert [text[each.start : each.end] for each in found] == ["# Größe\n日本\n## B\nx\n", "## B\nx\n", "# C\n"]


@pytest.mark.slow
def test_nothing_takes_time_that_grows_with_the_square_of_a_file():
    parse("# " + " " * 200_000 + "x\n" + "=" * 200_000 + "x\n" + "`" * 200_000 + "\n", "markdown")
    assert len(parse("#\n" * 200_000, "markdown").symbols) == 200_000
