"""Questions about code whose answers are known: from the commits of a repository, or from two releases of a package.

A commit's message is the question and the source files that it changed are the answer, asked of the tree before the
commit. Where only releases can be had, an entry of the changelog is the question, and every source file that differs
is a loose answer. Or questions and answers stand in a file, each with the release that it is asked of.
"""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from memsweep.code.languages import language_by_name
from memsweep.code.request import DEFAULT_MAX_FILE_SIZE
from memsweep.model.roles import is_test_path

MOST_ANSWERS = 5
_FEWEST_WORDS = 4
_NO_QUESTION = re.compile(
    r"^(?:revert\b|merge\b|(?:prepare |cut |new )?release\b|bump\b|(?:set |update |prepare |start )?version\b"
    r"|v?\d+(?:\.\d+)+\b|back to development)",
    re.IGNORECASE,
)
_AREA = re.compile(r"^[\w./()-]+: ")
_TRAILER = re.compile(r"^(?:[A-Z][\w-]+-by|Change-Id|Co-authored-by): .*$", re.MULTILINE)
_DOCUMENTS = re.compile(r"(?:^|/)(?:docs?|documentation|examples?|samples?)/", re.IGNORECASE)
_NO_SOURCE = (None, "text", "markdown")
_CHANGELOG = re.compile(r"(?:^|/)(?:changes|changelog|history|news)[^/]*\.(?:rst|md|txt)$", re.IGNORECASE)
# A bullet, or a directive `.. change::` with its fields.
_BULLET = re.compile(
    r"^[-*+][ \t]+|^[ \t]*\.\. change::[^\n]*\n(?:[ \t]+:[^\n]*\n|[ \t]+[\d, ]+\n)*\s*\n", re.MULTILINE
)
_LINK = re.compile(r"\s*<https?://[^>]*>|\]\(https?://[^)]*\)")
# What is no word of an entry: a role with its target, a number of a commit or an issue.
_MARKUP = re.compile(r":[\w:-]+:`[^`]*`|\b[0-9a-f]{7,}\b")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ENTRY_END = re.compile(r"\n(?=\S)|\n[ \t]*\n(?![ \t])|\n[ \t]*\.\. ")


@dataclass(frozen=True, slots=True)
class Item:
    """A question, its answers, and the commit or the release whose tree is asked ("" where entries of it ask)."""

    question: str
    answers: frozenset[str]
    tree: str = ""

    @property
    def names_an_answer(self) -> bool:
        """Whether the question says the path, or the name, of a file that answers it."""
        return any(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.question) for name in self._names())

    def _names(self) -> Iterator[str]:
        for path in self.answers:
            yield path
            yield path.rpartition("/")[2]


def is_source(path: str) -> bool:
    """Whether a file may be an answer: a program, and neither a test nor a document."""
    return language_by_name(path) not in _NO_SOURCE and not is_test_path(path) and not _DOCUMENTS.search(path)


def git(folder: Path, *command: str) -> str:
    options = ("-c", "core.hooksPath=/dev/null", "-c", "core.quotePath=false")
    done = subprocess.run(["git", *options, *command], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def commits(repository: Path, most: int, until: str = "HEAD") -> list[Item]:
    """Up to `most` questions, spread evenly over the history up to `until`, the oldest first."""
    form = "--format=%x1e%P%x1f%B%x1f"
    log = git(repository, "log", "--no-merges", "--topo-order", "--reverse", "-M", "--name-status", form, until, "--")
    return spread_out([item for record in log.split("\x1e")[1:] if (item := _commit(*record.split("\x1f")))], most)


def spread_out(items: list[Item], most: int | None) -> list[Item]:
    """Up to `most` of them, at even distances."""
    if most is None or len(items) <= most:
        return items
    return [items[index * len(items) // most] for index in range(most)]


def _commit(parents: str, message: str, changes: str) -> Item | None:
    question = _TRAILER.sub("", message).strip()
    answers = frozenset(path for path in _changed_before(changes) if is_source(path))
    opening = _AREA.sub("", question)
    fits = parents.strip() and not _NO_QUESTION.match(opening) and len(question.split()) >= _FEWEST_WORDS
    return Item(question, answers, parents.split()[0]) if fits and 1 <= len(answers) <= MOST_ANSWERS else None


def _changed_before(changes: str) -> Iterator[str]:
    """The files that a commit found and changed, moved or removed, by their old path."""
    for line in changes.strip().splitlines():
        status, _, paths = line.partition("\t")
        if status[:1] in "MDRT":
            yield paths.split("\t")[0]


def texts(folder: Path) -> dict[str, str]:
    """The text files of a tree by their relative path: what git tracks, or all where there is no repository."""
    tracked = (folder / ".git").exists()
    files = git(folder, "ls-files", "-z").split("\0") if tracked else _all_files(folder)
    return {path: text for path in files if path and (text := _text(folder / path)) is not None}


def _all_files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def _text(path: Path) -> str | None:
    if path.is_symlink() or not path.is_file() or path.stat().st_size > DEFAULT_MAX_FILE_SIZE:
        return None
    content = path.read_bytes()
    return None if b"\0" in content[:8000] else content.decode("utf-8", "replace")


def unpacked(release: Path, folder: Path) -> Path:
    """The top folder of a release, which is given as a folder or as an archive."""
    if release.is_dir():
        return release
    with tarfile.open(release) as archive:
        archive.extractall(folder, filter="data")
    (top,) = folder.iterdir()
    return top


def releases(
    old: Mapping[str, str], new: Mapping[str, str], changelog: str = "", most_changed: float = 0.5
) -> list[Item]:
    """A question for each entry that only the newer changelog has; any source file that differs answers it.

    None where more than a share of the sources differ: then every answer would be right. A file in which only numbers
    differ, as where the version is said, is no answer.
    """
    paths = [path for path in new if (fnmatchcase(path, changelog) if changelog else _CHANGELOG.search(path))]
    sources = [path for path in old if is_source(path)]
    answers = frozenset(path for path in sources if _says(new.get(path)) != _says(old[path]))
    if not answers or len(answers) > most_changed * len(sources):
        return []
    known = {entry for path in paths for entry in entries(old.get(path, ""))}
    added = dict.fromkeys(entry for path in paths for entry in entries(new[path]) if entry not in known)
    return [Item(entry, answers) for entry in added if says_something(entry)]


def says_something(entry: str) -> bool:
    """Whether an entry has the words of a question: "Prepare for release 5.1" has not, nor a link to a patch."""
    return len(_WORD.findall(_MARKUP.sub(" ", entry))) >= _FEWEST_WORDS


def written(files: Iterable[Path]) -> dict[str, list[Item]]:
    """The questions of some files, by the name of the release that they are asked of."""
    items: dict[str, list[Item]] = {}
    for file in files:
        for each in json.loads(file.read_text(encoding="utf-8")):
            item = Item(each["question"], frozenset(each["files"]), each["release"])
            items.setdefault(item.tree, []).append(item)
    return items


def _says(text: str | None) -> str | None:
    return text and re.sub(r"\d+", "", text)


def entries(changelog: str) -> list[str]:
    """The entries of a changelog, each with the lines that continue it, as one line; links without their targets."""
    parts = _BULLET.split(changelog)[1:]
    return [_LINK.sub("", " ".join(_ENTRY_END.split(part)[0].split())) for part in parts]
