"""The scope of one index run: a root and filters, and whether they cover a given file.

A file that the filters do not cover is neither indexed nor ever taken for deleted. The question is
asked of a file as it was seen, or, when it is absent, as it was last known. A file that was covered
as it was known and is not as it was seen (it has grown beyond the size limit, or is in another language
now) has left: what is known of it becomes stale.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from memsweep.code.exclude import Exclusions
from memsweep.code.languages import canonical_languages, known_languages
from memsweep.errors import BadInput
from memsweep.model.roles import is_test_path
from memsweep.model.text import refuse_lone_surrogate
from memsweep.project.locate import Project, locate

DEFAULT_MAX_FILE_SIZE = 1_048_576


@dataclass(frozen=True, slots=True)
class Scope:
    """The real path of a root, and filters; no languages means all of them."""

    root: str
    languages: frozenset[str] = frozenset()
    recursive: bool = True
    max_file_size: int = DEFAULT_MAX_FILE_SIZE
    include_tests: bool = True

    def covers(self, path: str, language: str | None, size: int) -> bool:
        """Return whether a file with this relative path, language and size belongs to this run."""
        return (
            (self.recursive or "/" not in path)
            and size <= self.max_file_size
            and (not self.languages or language in self.languages)
            and (self.include_tests or not is_test_path(path))
        )


def make_scope(
    repo_path: str,
    languages: Sequence[str] | None = None,
    *,
    recursive: bool = True,
    max_file_size: int = DEFAULT_MAX_FILE_SIZE,
    include_tests: bool = True,
) -> Scope:
    """Checked and with a real path; that the root exists is asked later (see `delta.refusal`)."""
    if not repo_path.strip() or "\0" in repo_path:
        raise BadInput("The path of the folder to index is empty or not a path.")
    if max_file_size < 1:
        raise BadInput(f"max_file_size must be at least 1 byte, not {max_file_size}.")
    refuse_lone_surrogate(repo_path, "repo_path")
    root = os.path.realpath(os.path.expanduser(repo_path))
    refuse_lone_surrogate(root, "repo_path")  # a name that is not UTF-8 cannot be stored
    if ".git" in root.split(os.sep):
        raise BadInput(f"{root} is inside a .git folder, which is never indexed.")
    return Scope(root, canonical_languages(languages or ()), recursive, max_file_size, include_tests)


def require_folder(root: str) -> None:
    """Refuse at once what is no folder, where nothing is known of it yet."""
    if not os.path.isdir(root):
        raise BadInput(f"{root} is not a folder." if os.path.lexists(root) else f"The folder {root} does not exist.")


def project_of(root: str) -> Project | None:
    """The project that a folder is in, if the folder is there."""
    return locate(root) if os.path.isdir(root) else None


def narrowed(scope: Scope, exclusions: Exclusions, project: Project | None) -> tuple[Scope, Exclusions]:
    """Return a run narrowed by the project's `.memsweep.toml`; languages that somebody asked for stay."""
    if project is None:
        return scope, exclusions
    filters = project.file.filters
    languages = scope.languages or known_languages(filters.languages)
    smaller = replace(scope, languages=languages, include_tests=scope.include_tests and filters.include_tests)
    return smaller, exclusions.with_secrets(filters.exclude)
