"""The scope of one index run: a root and filters, and whether they cover a given file.

A file that the filters do not cover is neither indexed nor ever taken for deleted. The question is
asked of a file as it was seen, or, when it is absent, as it was last known. A file that was covered
as it was known and is not as it was seen (it has grown beyond the size limit, or is in another language
now) has left: what is known of it becomes stale.
"""

from __future__ import annotations

from dataclasses import dataclass

from memsweep.model.roles import is_test_path

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
