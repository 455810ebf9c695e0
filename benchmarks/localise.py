"""Which files does a change concern? memsweep's search beside BM25 over whole files, asked with commit messages.

python benchmarks/localise.py REPOSITORY [--items N] [--until COMMIT] [--fresh] [--json FILE]
python benchmarks/localise.py --sdists OLD NEW [NEWER …] [--changelog PATTERN] [--most-changed SHARE] [--steps N]
                              [--entries N] [--json FILE]
python benchmarks/localise.py --questions FILE [FILE …] --releases FOLDER [--json FILE]

The tree before a commit is indexed as by default, tests and documents included, and the commit's message is searched;
the source files that the commit changed (up to five, no tests, no documents) are right. Hits become files in the
order in which they first appear. Commits are a sample spread over the history; the index goes from one to the next, as
that of a user would (`--fresh` indexes every tree from nothing). The repository itself is only read. BM25 sees the same
files, whole: their text, and their text with the names that they define and their path; with and without tests and
documents. `@k` is the share of questions with a right file among the first k, `found@k` the share of right files there;
a blind guess shows how much of it luck would find.

With `--sdists` an entry of the newer changelog is the question, and every source file that differs between two
consecutive releases counts as right: a loose answer, which is only to be compared within its own table. Releases
that differ in more than half of their sources are left out, or in more than `--most-changed`: with 0.05 only releases
that mend something are asked about, whose answers are few files of many. With `--steps` an index serves the entries of
so many releases, until there is one that is left out: a large tree hardly changes from one to the next.

With `--questions` what is asked stands in files such as `data/reports.json`, each question with the release that it is
asked of, whose sdist is looked for in a folder (`pip download --no-deps --no-binary :all: NAME==VERSION`).
"""

from __future__ import annotations

import argparse
import inspect
import math
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from bm25 import rank, read_bags
from changes import Item, commits, git, is_source, releases, spread_out, texts, unpacked, written
from common import Figure, at_least, show_figures, table, write_json
from memsweep import Memory, open_memory

DEPTHS = (1, 5, 10, 20)
PAGE, PAGES = 50, 8
MODES = ("precise", "deep")
SOURCES = ", sources only"
RIVAL = "BM25, files and names"
BLIND = "a blind guess among the sources"
Ranking = Sequence[str]


@dataclass(frozen=True, slots=True)
class Answered:
    """A question, the first files that each search gave, and how many sources there were."""

    item: Item
    rankings: Mapping[str, Ranking]
    sources: int


def main() -> None:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="memsweep-localise-") as scratch:
        if options.questions:
            answered = list(from_questions(options, Path(scratch)))
        elif options.sdists:
            answered = list(from_releases(options, Path(scratch)))
        else:
            answered = list(from_history(options, Path(scratch)))
    if not answered:
        print("Nothing to measure: no change has a question and a source file that answers it.")
        write_json(options.json, "localise", [], skipped="no items")
        return
    _show(answered)
    figures = _figures(answered)
    show_figures(figures)
    items = [_as_json(each) for each in answered]
    write_json(options.json, "localise", figures, loose=bool(options.sdists), scores=scores(answered), items=items)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("repository", type=Path, nargs="?", help="a git repository with its history")
    parser.add_argument("--items", type=int, default=40, metavar="N", help="how many commits (%(default)s)")
    parser.add_argument("--until", default="HEAD", metavar="COMMIT", help="the last one, to measure the same again")
    parser.add_argument("--fresh", action="store_true", help="index every tree from nothing")
    parser.add_argument(
        "--sdists", type=Path, nargs="+", metavar="FILE", help="releases, the oldest first, packed or not"
    )
    parser.add_argument("--changelog", default="", metavar="PATTERN", help="its path in a release (looked for)")
    parser.add_argument(
        "--most-changed", type=float, default=0.5, metavar="SHARE", help="of the sources, or a release is left out"
    )
    parser.add_argument(
        "--steps", type=int, default=1, metavar="N", help="releases that one index serves (%(default)s)"
    )
    parser.add_argument("--entries", type=int, metavar="N", help="at most so many of each index, spread evenly (all)")
    parser.add_argument("--questions", type=Path, nargs="+", metavar="FILE", help="questions with their answers")
    parser.add_argument("--releases", type=Path, metavar="FOLDER", help="where the sdists are that they ask about")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    options = parser.parse_args()
    if sum(bool(given) for given in (options.repository, options.sdists, options.questions)) != 1:
        parser.error("give the folder of a repository, --sdists OLD NEW, or --questions FILE.")
    if options.questions and options.releases is None:
        parser.error("--questions needs --releases FOLDER, where the sdists are.")
    if options.sdists and len(options.sdists) < 2:
        parser.error("--sdists needs two releases at least.")
    return options


def from_history(options: argparse.Namespace, scratch: Path) -> Iterator[Answered]:
    repository, tree = options.repository, scratch / "tree"
    items = commits(repository, options.items, options.until)
    git(repository, "clone", "-q", "--shared", "--no-checkout", str(repository.resolve()), str(tree))
    for number, item in enumerate(items):
        git(tree, "checkout", "-q", "--force", "--detach", item.tree)
        with open_memory(f"tree-{number if options.fresh else 0}", home=scratch / "home") as memory:
            memory.code.index(tree)
            yield _answered(memory, texts(tree), item)
        print(f"\r{number + 1} of {len(items)} commits", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def from_releases(options: argparse.Namespace, scratch: Path) -> Iterator[Answered]:
    folders = [unpacked(archive, scratch / str(number)) for number, archive in enumerate(options.sdists)]
    for number, (folder, files, items) in enumerate(_series(folders, options)):
        with open_memory(f"release-{number}", home=scratch / "home") as memory:
            memory.code.index(folder)
            for item in spread_out(items, options.entries):
                yield _answered(memory, files, item)


def from_questions(options: argparse.Namespace, scratch: Path) -> Iterator[Answered]:
    for number, (release, items) in enumerate(written(options.questions).items()):
        folder = unpacked(options.releases / release, scratch / release)
        files = texts(folder)
        with open_memory(f"release-{number}", home=scratch / "home") as memory:
            memory.code.index(folder)
            yield from (_answered(memory, files, item) for item in items)


def _series(folders: Sequence[Path], options: argparse.Namespace) -> Iterator[tuple[Path, dict[str, str], list[Item]]]:
    """The releases to index, each with its files and with the questions that it serves, none twice."""
    seen: set[str] = set()
    served: tuple[int, dict[str, str], list[Item]] | None = None
    old = texts(folders[0])
    for number, after in enumerate(folders[1:]):
        new = texts(after)
        items = releases(old, new, options.changelog, options.most_changed)
        if served and (not items or number - served[0] >= options.steps):
            yield folders[served[0]], *served[1:]
            served = None
        if items:
            served = served or (number, old, [])
            known = served[1].keys()
            fresh = (replace(item, answers=item.answers & known) for item in items if item.question not in seen)
            served[2].extend(item for item in fresh if item.answers)
        seen |= {item.question for item in items}
        old = new
    if served:
        yield folders[served[0]], *served[1:]


def _answered(memory: Memory, files: Mapping[str, str], item: Item) -> Answered:
    return Answered(item, _searched(memory, files, item.question), sum(map(is_source, files)))


def _searched(memory: Memory, files: Mapping[str, str], question: str) -> dict[str, Ranking]:
    """What each search answers; all rankings are cut where nobody looks any further."""
    rankings: dict[str, Ranking] = {}
    for mode in MODES if "mode" in inspect.signature(Memory.search).parameters else ("",):
        found = list(_files_found(memory, question, mode))
        name = f"memsweep, {mode}" if mode else "memsweep"
        rankings[name] = found
        rankings[name + SOURCES] = [path for path in found if is_source(path)]
    bags = {path: read_bags(path, text) for path, text in files.items()}
    sources = {path: bag for path, bag in bags.items() if is_source(path)}
    for name, with_names in (("BM25, files", False), (RIVAL, True)):
        rankings[name] = rank(question, bags, with_names=with_names)
        rankings[name + SOURCES] = rank(question, sources, with_names=with_names)
    return {name: list(islice(found, DEPTHS[-1])) for name, found in rankings.items()}


def _files_found(memory: Memory, question: str, mode: str) -> dict[str, None]:
    """Files in the order of their first hit, until there are enough sources among them."""
    options: dict[str, Any] = {"mode": mode} if mode else {}
    files: dict[str, None] = {}
    cursor = None
    for _ in range(PAGES):
        page = memory.search(question, limit=PAGE, cursor=cursor, **options)
        files |= dict.fromkeys(hit.passage.code.path for hit in page.hits if hit.passage.code)
        cursor = page.next_cursor
        if cursor is None or sum(map(is_source, files)) >= DEPTHS[-1]:
            break
    return files


def scores(answered: Sequence[Answered]) -> dict[str, dict[str, float]]:
    """By search: `@k` and `found@k`."""
    measures: dict[str, Callable[[Answered, str, int], float]] = {"@": _any_found, "found@": _share_found}
    return {
        name: {
            f"{measure}{depth}": statistics.fmean(score(each, name, depth) for each in answered)
            for measure, score in measures.items()
            for depth in DEPTHS
        }
        for name in (*answered[0].rankings, BLIND)
    }


def _any_found(each: Answered, name: str, depth: int) -> float:
    if name == BLIND:
        right = len(each.item.answers)
        return 1 - math.comb(max(each.sources - right, 0), depth) / math.comb(max(each.sources, depth), depth)
    return float(not each.item.answers.isdisjoint(each.rankings[name][:depth]))


def _share_found(each: Answered, name: str, depth: int) -> float:
    if name == BLIND:
        return min(depth / max(each.sources, 1), 1.0)
    return len(each.item.answers.intersection(each.rankings[name][:depth])) / len(each.item.answers)


def _show(answered: Sequence[Answered]) -> None:
    _show_table("all questions", answered)
    unnamed = [each for each in answered if not each.item.names_an_answer]
    if unnamed and len(unnamed) < len(answered):
        _show_table("questions that do not name a file of the answer", unnamed)


def _show_table(title: str, answered: Sequence[Answered]) -> None:
    answers = statistics.fmean(len(each.item.answers) for each in answered)
    print(f"{title}: {len(answered)}, with {answers:.1f} right files each\n")
    rows = scores(answered)
    header = ("", *next(iter(rows.values())))
    print(table(header, [(name, *_cells(row.values())) for name, row in rows.items()]), end="\n\n")


def _cells(values: Iterable[float]) -> list[str]:
    return [f"{value:.3f}" for value in values]


def _figures(answered: Sequence[Answered]) -> list[Figure]:
    """Every search of memsweep as it answers; its target is BM25 that was spared tests and documents."""
    rows = scores(answered)
    return [
        at_least(f"{name} @{depth}", row[f"@{depth}"], rows[RIVAL + SOURCES][f"@{depth}"])
        for name, row in rows.items()
        if name.startswith("memsweep") and not name.endswith(SOURCES)
        for depth in DEPTHS
    ]


def _as_json(each: Answered) -> dict[str, Any]:
    item = each.item
    answers = sorted(item.answers)
    return {"question": item.question, "tree": item.tree, "answers": answers, "rankings": dict(each.rankings)}


if __name__ == "__main__":
    main()
