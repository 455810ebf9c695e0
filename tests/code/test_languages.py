"""Which language a file is in."""

import pytest

from memsweep.code.languages import LANGUAGES, detect, language_by_name


@pytest.mark.parametrize(
    ("path", "text", "language"),
    [
        ("a.py", "", "python"),
        ("A.PY", "", "python"),
        ("a/b.tsx", "", "tsx"),
        ("x.h", "", "c"),
        ("Rakefile", "", "ruby"),
        ("notes.md", "", "markdown"),
        ("Makefile", "all:\n", "text"),
        ("data.xyz", "#!/bin/sh\n", "text"),
        ("tool", "#!/usr/bin/env python3.12 -u\n", "python"),
        ("tool", "#!/usr/bin/env -S FOO=1 node --flag\n", "javascript"),
        ("tool", "#! /bin/sh\n", "bash"),
        ("tool", "#!/opt/x/bin/ruby2.7\n", "ruby"),
        ("tool", "#!/usr/bin/perl\n", "text"),
        ("tool", "no script\n", "text"),
        (".gitignore", "*.pyc\n", "text"),
        ("dir.py/tool", "", "text"),
    ],
)
def test_a_language_is_found_by_name_or_by_first_line(path, text, language):
    assert detect(path, text) == language


def test_only_the_content_tells_about_a_name_without_extension():
    assert language_by_name("bin/tool") is None


def test_no_two_rows_claim_the_same_name():
    claims = [
        each
        for row in LANGUAGES
        for each in (
            *row.extensions,
            *row.file_names,
            *(f"#!{i}" for i in row.interpreters),
            f"name {row.name}",
        )
    ]
    assert len(claims) == len(set(claims))
