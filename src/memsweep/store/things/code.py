"""The index of code: declared for every engine. Pure."""

from typing import Annotated, NamedTuple

from memsweep.model import columns as c
from memsweep.model import forms as f
from memsweep.model.columns import declare


class CodeRootRow(NamedTuple):
    path: Annotated[str, c.WORD.but(remedy=f.lost("/lost folder {}"), unique=True)]
    total_files: Annotated[int, c.COUNT]
    key: Annotated[int, c.KEY.but(sql="integer primary key")]


class CodeScopeRow(NamedTuple):
    root: Annotated[int, c.LINK.but(refers="code_root")]
    filters: Annotated[str, c.TEXT.but(remedy=f.drop)]
    runs: Annotated[int, c.COUNT]
    verified_at: Annotated[int | None, c.MAYBE_MOMENT]
    key: Annotated[int, c.KEY.but(sql="integer primary key")]


class CodeFileRow(NamedTuple):
    """The file that a memory is of; a graph keeps it with the memory."""

    key: Annotated[int, c.KEY.but(sql="integer primary key", in_file="memory", found_by="ref", refers="memory")]
    root: Annotated[int, c.LINK.but(remedy=f.to(0))]
    path: Annotated[str, c.WORD.but(remedy=f.lost("lost file {}"))]
    language: Annotated[str, c.TEXT]
    stamp: Annotated[str, c.TEXT]
    digest: Annotated[str, c.TEXT]
    read_at_ns: Annotated[int, c.NUMBER]
    lines: Annotated[int, c.NUMBER]
    functions: Annotated[int, c.NUMBER]
    classes: Annotated[int, c.NUMBER]
    encoding: Annotated[str, c.TEXT]
    failure: Annotated[str, c.TEXT.but(default="")]
    scope: Annotated[int | None, c.MAYBE_LINK]
    verified_at: Annotated[int | None, c.MAYBE_MOMENT]


class CodeSkipRow(NamedTuple):
    """A file that is left out, as it was when it was looked at."""

    root: Annotated[int, c.LINK.but(refers="code_root")]
    path: Annotated[str, c.WORD]
    language: Annotated[str, c.TEXT.but(remedy=f.drop)]
    stamp: Annotated[str, c.TEXT.but(remedy=f.drop)]
    digest: Annotated[str, c.TEXT.but(remedy=f.drop)]
    read_at_ns: Annotated[int, c.NUMBER.but(remedy=f.drop)]


CODE_ROOT = declare(CodeRootRow, "code_root", "CodeRoot", known_by=("path",))
CODE_SCOPE = declare(CodeScopeRow, "code_scope", "CodeScope")
CODE_FILE = declare(CodeFileRow, "code_file", "Memory", kept_with=True)
CODE_SKIP = declare(CodeSkipRow, "code_skip", "CodeSkip", known_by=("root", "path"))
