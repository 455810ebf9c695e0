"""Recognise the language of a file: one row a language, found by name, by extension or by its first line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from memsweep.errors import BadInput
from memsweep.model.text import clipped

TEXT = "text"
"""What every file is that no row claims."""


@dataclass(frozen=True, slots=True)
class Language:
    name: str
    extensions: tuple[str, ...] = ()
    file_names: tuple[str, ...] = ()
    interpreters: tuple[str, ...] = ()
    """Programs that a `#!` line names; versions are ignored, so `python3.12` is `python`."""
    aliases: tuple[str, ...] = ()


LANGUAGES: tuple[Language, ...] = (
    Language("python", (".py", ".pyi", ".pyw"), ("sconstruct", "wscript"), ("python", "pypy"), ("py",)),
    Language("javascript", (".js", ".jsx", ".mjs", ".cjs"), (), ("node", "nodejs", "bun"), ("js", "jsx")),
    Language("typescript", (".ts", ".mts", ".cts"), (), ("deno", "ts-node", "tsx"), ("ts",)),
    Language("tsx", (".tsx",)),
    Language("go", (".go",), aliases=("golang",)),
    Language("rust", (".rs",), aliases=("rs",)),
    Language("java", (".java",)),
    Language("c", (".c", ".h")),
    Language(
        "cpp",
        (".cpp", ".cc", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".h++", ".ipp", ".inl", ".cu", ".cuh"),
        aliases=("c++", "cxx"),
    ),
    Language("csharp", (".cs", ".csx"), aliases=("c#", "cs", "c_sharp")),
    Language(
        "ruby",
        (".rb", ".rake", ".gemspec", ".ru"),
        ("rakefile", "gemfile", "guardfile", "vagrantfile", "podfile"),
        ("ruby", "jruby"),
        ("rb",),
    ),
    Language("php", (".php", ".phtml", ".php5"), (), ("php",)),
    Language(
        "bash",
        (".sh", ".bash", ".zsh", ".ksh"),
        (".bashrc", ".bash_profile", ".profile", ".zshrc", "pkgbuild"),
        ("bash", "sh", "zsh", "ksh", "dash"),
        ("sh", "shell", "zsh"),
    ),
    Language("markdown", (".md", ".markdown", ".mdx"), aliases=("md",)),
    Language(TEXT, aliases=("plain", "txt")),
)

_BY_EXTENSION = {extension: row.name for row in LANGUAGES for extension in row.extensions}
_BY_FILE_NAME = {name: row.name for row in LANGUAGES for name in row.file_names}
_BY_INTERPRETER = {name: row.name for row in LANGUAGES for name in row.interpreters}
_BY_ANY_NAME = {name: row.name for row in LANGUAGES for name in (row.name, *row.aliases)}
_SHEBANG = re.compile(r"#!\s*(?:\S*/)?env\s+(?:-\S+\s+|\w+=\S*\s+)*(?:\S*/)?(\S+)|#!\s*(?:\S*/)?(\S+)")
_VERSION = "0123456789."


def language_by_name(path: str) -> str | None:
    """The language that a path alone tells; None when only the content can (no known extension)."""
    base = path.rpartition("/")[2].casefold()
    if base in _BY_FILE_NAME:
        return _BY_FILE_NAME[base]
    stem, dot, extension = base.rpartition(".")
    if not dot or not stem:
        return None
    return _BY_EXTENSION.get(dot + extension, TEXT)


def language_by_first_line(line: str) -> str:
    """The language that a `#!` line tells, or text."""
    found = _SHEBANG.match(line)
    if found is None:
        return TEXT
    program = (found[1] or found[2]).casefold()
    return _BY_INTERPRETER.get(program.rstrip(_VERSION), TEXT)


def detect(path: str, text: str) -> str:
    """The language of a file whose text is at hand."""
    return language_by_name(path) or language_by_first_line(text[:256].partition("\n")[0])


def canonical_languages(names: Iterable[str]) -> frozenset[str]:
    """Names and aliases as the table spells them; none at all means every language."""
    wanted = [name.strip().casefold() for name in names]
    unknown = sorted({name for name in wanted if name not in _BY_ANY_NAME})
    if unknown:
        raise BadInput(
            f"Unknown language: {clipped(', '.join(unknown))}.",
            hint=f"Known languages: {', '.join(row.name for row in LANGUAGES)}.",
        )
    return frozenset(_BY_ANY_NAME[name] for name in wanted)


def known_languages(names: Iterable[str]) -> frozenset[str]:
    """The same for names that a stranger chose: what is unknown says nothing."""
    return canonical_languages(name for name in names if name.strip().casefold() in _BY_ANY_NAME)
