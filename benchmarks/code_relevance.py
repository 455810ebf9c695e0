"""Fit what evidence is worth for the relevance of code: questions about it against questions that no code answers.

python benchmarks/code_relevance.py --releases FOLDER [--held-out] [--words] [--projects NAME …] [--json FILE]

Asked of each release in the folder are what was written about it (the titles of `data/code_reports.json`, and
`data/code_questions.json`, `data/code_searches.json`) and what it cannot answer: `data/nothing.json`, the questions to
the week and to the open scenes of `precision.py`, and what was written about the other projects. Right are pieces of
the files that answer, wrong are the best pieces that are found for anything else. Prints the row for
`CODE_CALIBRATIONS` in `memory/relevance.py` of the model that is set (`MEMSWEEP_EMBEDDING_PROVIDER`; `--words` leaves
the model out), and for several
choices of the least odds how many questions are answered, and how many of the others are met with silence, each project
by what was fitted on the others. `--held-out` judges the titles of `data/code_reports_held_out.json`, and questions to
scenes that are held out, by the row that is in use.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from changes import Item, unpacked, written
from common import Figure, arguments, show_figures, table, write_json
from memsweep.app import App, make_app
from memsweep.memory.recall import look_at, rank
from memsweep.memory.relevance import (
    CONSIDERED,
    MOST_WORDS,
    OF_FILES,
    Asked,
    Calibration,
    Evidence,
    RelevanceJudge,
    calibration_for,
    evidence_of,
)
from memsweep.model.search import Filters
from memsweep.settings import load_settings
from memsweep.store.words import matched

Floats = npt.NDArray[np.float64]
DATA = Path(__file__).parent / "data"
OPEN = ("code_reports.json", "code_questions.json", "code_searches.json")
OWN, OTHERS = "written about it", "about other projects"
BEST = 3  # pieces of a question that are looked at
MOST = 40  # questions of a kind that a release is asked
STEPS, PENALTY = 40, 1.0
LEAST = (-1.0, -0.7, -0.5, -0.35, -0.2, 0.0, 0.3, 0.6)


class Answers(NamedTuple):
    """One question with the evidence of the best pieces, and of those that are right."""

    project: str
    kind: str
    evidence: list[Evidence]
    right: list[Evidence]

    def by_words(self) -> Answers:
        evidence, right = ([each._replace(similarity=0.0) for each in them] for them in (self.evidence, self.right))
        return self._replace(evidence=evidence, right=right)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--releases", type=Path, required=True, metavar="FOLDER", help="where the sdists are")
    parser.add_argument("--held-out", action="store_true", help="judge what nothing is fitted on")
    parser.add_argument("--words", action="store_true", help="without cosines, for models that were not measured")
    parser.add_argument("--projects", nargs="+", metavar="NAME", help="only these, for a model that takes long")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="memsweep-relevance-") as home:
        app = make_app(load_settings(overrides={"MEMSWEEP_HOME": home}))
        model = app.embedder.model.name
        questions = list(asked(app, options, Path(home)))
        app.close()
    if options.words:
        model, questions = "", [question.by_words() for question in questions]
    in_use = calibration_for(model, code=True)
    print(f"{model}: {len(questions)} questions\nin use {in_use}")
    if options.held_out:
        odds = [[in_use.odds(each) for each in question.evidence] for question in questions]
    else:
        print(f"fitted {fit(questions)}")
        odds = left_out(questions)
    kinds = list(dict.fromkeys(question.kind for question in questions))
    rows = [(f"{least:.1f}", *(f"{v:.2f}" for v in shares(questions, odds, kinds, least))) for least in LEAST]
    print(table(("least odds", "answered: " + OWN, *(f"silent: {kind}" for kind in kinds[1:])), rows), end="\n\n")
    figures = [
        Figure(kind, value) for kind, value in zip(kinds, shares(questions, odds, kinds, OF_FILES.of_many), strict=True)
    ]
    show_figures(figures)
    write_json(options.json, "code_relevance", figures, model=model)


def asked(app: App, options: Any, scratch: Path) -> Iterator[Answers]:
    files = ("code_reports_held_out.json",) if options.held_out else OPEN
    items = written([DATA / name for name in files])
    unanswered = _unanswered(held_out=options.held_out)
    chance = random.Random(17)
    for number, (release, own) in enumerate(items.items()):
        project = release.partition("-")[0]
        if options.projects and project not in options.projects:
            continue
        name = f"release-{number}"
        app.memory(name).code.index(unpacked(options.releases / release, scratch / release))
        about_others = [
            each.question for other, them in items.items() if not other.startswith(project) for each in them
        ]
        for each in own:
            yield from _asked(app, name, project, OWN, each)
        for kind, texts in {**unanswered, OTHERS: about_others}.items():
            for text in chance.sample(texts, min(MOST, len(texts))):
                yield from _asked(app, name, project, kind, Item(text, frozenset()))


def _unanswered(*, held_out: bool) -> dict[str, list[str]]:
    names = ("precision_held_out.json", "precision_blind.json") if held_out else ("precision.json",)
    scenes = [scene for name in names for scene in _read(name)["scenes"]]
    notes = [question for scene in scenes for question in scene["questions"]]
    far = [each["question"] for each in notes if each["kind"] == "far"]
    near = [each["question"] for each in notes if each["kind"] != "far"]
    if held_out:
        return {"far": far, "to notes": near}
    return {
        "far": far + _read("nothing.json"),
        "to notes": near + [q["question"] for q in _read("week.json")["questions"]],
    }


def _read(name: str) -> Any:
    return json.loads((DATA / name).read_text(encoding="utf-8"))


def _asked(app: App, name: str, project: str, kind: str, item: Item) -> Iterator[Answers]:
    """Of a report, the title is asked; nothing for what is a text more than a question."""
    store, question = app.engine.open(name), item.question.strip().partition("\n")[0]
    (words,) = matched(question, [question])
    if not 0 < len(words) <= MOST_WORDS:
        return
    judge = RelevanceJudge(app.embedder.model.name, app.local_model)
    ranking = rank(store, app.embedder, judge, question, Filters(), datetime.now(UTC))
    found, _ = look_at(store, judge, question, ranking, slice(CONSIDERED))
    of = [(evidence_of(each.similarity, Asked(words, frozenset()), each.words), each.passage.code) for each in found]
    right = [evidence for evidence, code in of if code and code.path in item.answers]
    yield Answers(project, kind, [evidence for evidence, _ in of], right)


def fit(questions: Sequence[Answers]) -> Calibration:
    """Logistic regression by Newton's method; right and wrong questions weigh the same."""
    chosen = [(_best(q.right if q.kind == OWN else q.evidence), float(q.kind == OWN)) for q in questions]
    rows = np.array([_row(each) for best, _ in chosen for each in best])
    right = np.array([side for best, side in chosen for _ in best])
    share = np.array([1 / len(best) for best, _ in chosen for _ in best])
    for side in (0.0, 1.0):
        share[right == side] *= len(right) / share[right == side].sum()
    middle, width = rows.mean(0), rows.std(0) + 1e-9
    middle[0], width[0] = 0.0, 1.0
    scaled, weights = (rows - middle) / width, np.zeros(rows.shape[1])
    penalty = np.diag([0.0, *[PENALTY] * (rows.shape[1] - 1)])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (share * (chance - right)) + penalty @ weights
        bend = (scaled * (share * chance * (1 - chance))[:, None]).T @ scaled + penalty
        weights -= np.linalg.solve(bend, slope)
    weights /= width
    base, similarity, all_words, each_word = (
        round(float(value), 2) for value in (weights[0] - weights[1:] @ middle[1:], *weights[1:])
    )
    return Calibration(base, similarity, 0.0, all_words, 0.0, each_word=each_word)


def _best(evidence: Sequence[Evidence]) -> list[Evidence]:
    return sorted(evidence, key=lambda each: each.similarity + each.share, reverse=True)[:BEST]


def _row(evidence: Evidence) -> tuple[float, ...]:
    return 1.0, evidence.similarity, float(evidence.share == 1), float(evidence.words)


def left_out(questions: Sequence[Answers]) -> list[list[float]]:
    """The odds of everything, each project by what was fitted on the others."""
    projects = {question.project for question in questions}
    fitted = {out: fit([each for each in questions if each.project != out]) for out in projects}
    return [[fitted[each.project].odds(evidence) for evidence in each.evidence] for each in questions]


def shares(
    questions: Sequence[Answers], odds: Sequence[Sequence[float]], kinds: Sequence[str], least: float
) -> list[float]:
    """By kind: how many questions about the code are answered, and how many of the others are not."""
    is_answered: Mapping[str, list[bool]] = {kind: [] for kind in kinds}
    for question, values in zip(questions, odds, strict=True):
        is_answered[question.kind].append(max(values, default=-50.0) >= least)
    return [float(np.mean(is_answered[kind]) if kind == OWN else 1 - np.mean(is_answered[kind])) for kind in kinds]


if __name__ == "__main__":
    main()
