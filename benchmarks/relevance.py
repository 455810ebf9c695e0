"""Fit what evidence is worth for relevance, on the open cases of `precision.py`, with whole scenes left out in turn.

python benchmarks/relevance.py [--json FILE]

Prints the row for `CALIBRATIONS` in `memory/relevance.py` of the model that is set (`MEMSWEEP_EMBEDDING_PROVIDER`),
or the row `READ` if a reader is set (`MEMSWEEP_SEARCH_READER`), which does without the cosine and the words that are
met: with them near misses come back. That row is fitted on some questions of the scenes that `train_reader.py` leaves
out, too. `--words` leaves the embedding model out. Prints, too, what a relevance turned out to mean in the scenes that
were left out, and precision, recall and right silence there for several choices of the odds that the best must have,
of the odds that the others must have and of how far behind the best they may be.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from common import Figure, arguments, show_figures, table, write_json
from memsweep.app import App, make_app
from memsweep.memory.recall import look_at, rank
from memsweep.memory.relevance import (
    Asked,
    Calibration,
    Evidence,
    RelevanceJudge,
    calibration_for,
    evidence_of,
    names_in,
)
from memsweep.model.search import Filters
from memsweep.settings import load_settings
from memsweep.store.words import matched
from precision import OPEN_CASES
from scenes import load_scenes

Floats = npt.NDArray[np.float64]
ALL = slice(1000)
PENALTY = 1.0
STEPS = 50
BEYOND_DOUBT = 4.0
ASKED, NEAR = 3, 1  # of the questions of a scene that was left out of teaching, as the open cases have them
CHOICES = [(least, least, behind) for least, behind in product((-0.6, -0.4, -0.2, 0.0, 0.2), (0.4, 0.6, 0.8, 1.0, 1.3))]
READ_CHOICES = list(product((0.5, 0.75, 1.0, 1.25, 1.5), (-1.0, -0.5, 0.0, 0.5), (2.0, 2.5, 3.0, 4.0)))
"""Of the odds that the best must have and the others must, and of how far behind the best these may be."""


class Answers(NamedTuple):
    """One question with the evidence for each memory that is not replaced, and which of them are right."""

    scene: str
    kind: str
    answers: int
    evidence: list[Evidence]
    right: list[bool]

    def by_words(self) -> Answers:
        return self._replace(evidence=[each._replace(similarity=0.0, uncovered=0.0) for each in self.evidence])


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--words", action="store_true", help="without cosines, for models that were not measured")
    options = parser.parse_args()
    cases = json.loads(OPEN_CASES.read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(prefix="memsweep-relevance-") as home:
        app = make_app(load_settings(overrides={"MEMSWEEP_HOME": home}))
        model, read = app.embedder.model.name, app.reader is not None
        cases["scenes"] += left_out_scenes() if read else []
        questions = list(asked(cases, app))
        app.close()
    if options.words and not read:
        model, questions = "", [question.by_words() for question in questions]
    fitted = fit(questions)
    print(f"{model}: {len(questions)} questions\nfitted {fitted}\nin use {calibration_for(model, read=read)}\n")
    odds = left_out(questions)
    _show_meaning(questions, odds)
    _show_choices(questions, odds, READ_CHOICES if read else CHOICES)
    figures = [Figure("logarithmic loss, scenes left out", _loss(questions, odds))]
    show_figures(figures)
    write_json(options.json, "relevance", figures, model=model, fitted=repr(fitted))


def left_out_scenes() -> list[dict[str, Any]]:
    """What was left out of teaching the reader, as scenes with about as many questions as the open cases have."""
    dice, scenes = random.Random(0), load_scenes()[1]
    return [
        {
            "id": f"left-out-{number}",
            "memories": [{"id": str(place), "text": note} for place, note in enumerate(scene["notes"])],
            "questions": [
                {"question": question, "right": [str(place) for place in right]}
                for question, right in dice.sample(scene["asked"], ASKED)
            ]
            + [{"question": question, "right": []} for question, _ in dice.sample(scene["near"], NEAR)],
        }
        for number, scene in enumerate(scenes)
    ]


def asked(cases: Mapping[str, Any], app: App) -> Iterator[Answers]:
    scenes = [
        (scene["id"], [{"add": entry} for entry in scene["memories"]] + scene["questions"]) for scene in cases["scenes"]
    ]
    for name, steps in scenes + [(session["id"], session["steps"]) for session in cases["sessions"]]:
        known: dict[str, str] = {}
        replaced: set[str] = set()
        for step in steps:
            if "add" in step:
                known[app.memory(name).remember(step["add"]["text"]).memory_id] = step["add"]["id"]
                replaced.add(step["add"].get("supersedes", ""))
            else:
                yield _asked(app, name, step, known, replaced)


def _asked(app: App, name: str, step: Mapping[str, Any], known: Mapping[str, str], replaced: set[str]) -> Answers:
    store, question = app.engine.open(name), step["question"]
    judge = RelevanceJudge(app.embedder.model.name, app.local_model, app.reader)
    ranking = rank(store, app.embedder, judge, question, Filters(), datetime.now(UTC))
    found, _ = look_at(store, judge, question, ranking, ALL)
    (words,) = matched(question, [question])
    asked = Asked(words, names_in(question, words), tuple(app.local_model.rarities(words)))
    live = [
        each
        for each in found
        if known[each.passage.memory_id] not in replaced and (each.reading is not None or app.reader is None)
    ]
    nearest = app.local_model.nearest(words, [each.passage.text for each in live])
    pairs = zip(live, nearest, strict=True)
    evidence = [evidence_of(each.similarity, asked, each.words, close, each.reading) for each, close in pairs]
    right = [known[each.passage.memory_id] in step["right"] for each in live]
    return Answers(name, step.get("kind", "session"), len(step["right"]), evidence, right)


def fit(questions: Sequence[Answers]) -> Calibration:
    """A higher cosine or reading, or more words, must never count against a passage: if so, they do not count."""
    rows, right = _rows(questions)
    if rows[:, 6].any():
        rows[:, [1, 2, 3]] = 0.0
    while True:
        fitted = _fit(rows, right)
        worth = {1: fitted.similarity, 2: fitted.share, 6: fitted.reading}
        against = [column for column, value in worth.items() if value < 0]
        if not against:
            return fitted
        rows[:, against] = 0.0


def _fit(rows: Floats, right: Floats) -> Calibration:
    """Logistic regression by Newton's method; the base is moved to where right and wrong are equally many."""
    middle, width = rows.mean(0), rows.std(0) + 1e-9
    middle[0], width[0] = 0.0, 1.0
    scaled = (rows - middle) / width
    weights, penalty = np.zeros(rows.shape[1]), np.diag([0.0, *[PENALTY] * (rows.shape[1] - 1)])
    for _ in range(STEPS):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (chance - right) + penalty @ weights
        bend = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + penalty
        weights -= np.linalg.solve(bend, slope)
    weights /= width
    base = weights[0] - weights[1:] @ middle[1:] + np.log((1 - right).sum() / right.sum())
    own, *rest = (round(float(value), 2) for value in (base, *weights[1:]))
    return Calibration(own, *rest)


def _rows(questions: Sequence[Answers]) -> tuple[Floats, Floats]:
    rows = [
        (1.0, each.similarity, each.share**2, each.share == 1, each.lacking, each.uncovered, each.reading or 0.0)
        for question in questions
        for each in question.evidence
    ]
    return np.array(rows, float), np.array([right for question in questions for right in question.right], float)


def left_out(questions: Sequence[Answers]) -> list[Floats]:
    """The odds of everything, each scene by what was fitted on the others."""
    fitted = {scene: fit([q for q in questions if q.scene != scene]) for scene in {q.scene for q in questions}}
    return [np.array([fitted[q.scene].odds(each) for each in q.evidence]) for q in questions]


def _loss(questions: Sequence[Answers], odds: Sequence[Floats]) -> float:
    right, all_odds = np.concatenate([np.array(q.right, float) for q in questions]), np.concatenate(odds)
    return float(np.mean(np.log1p(np.exp(np.where(right > 0, -all_odds, all_odds)))))


def _show_meaning(questions: Sequence[Answers], odds: Sequence[Floats]) -> None:
    right = np.concatenate([np.array(q.right, bool) for q in questions])
    relevance = 1 / (1 + np.exp(-np.concatenate(odds)))
    rows = []
    for least in np.arange(0, 1, 0.1):
        here = (relevance >= least) & (relevance < least + 0.1)
        good, bad = (here & right).sum() / right.sum(), (here & ~right).sum() / (~right).sum()
        rows.append((f"{least:.1f}", str(here.sum()), str((here & right).sum()), f"{good / max(1e-9, good + bad):.2f}"))
    print(table(("relevance from", "memories", "right", "right if both were as many"), rows), end="\n\n")


def _show_choices(
    questions: Sequence[Answers], odds: Sequence[Floats], choices: Sequence[tuple[float, float, float]]
) -> None:
    rows = []
    for first, least, behind in choices:
        scored = _scored(questions, odds, first, least, behind)
        rows.append((f"{first:.2f}", f"{least:.2f}", f"{behind:.1f}", *(f"{value:.3f}" for value in scored)))
    header = ("best", "others", "behind", "precision", "with an answer", "recall", "right silence", "far")
    print(table(header, rows), end="\n\n")


def _scored(
    questions: Sequence[Answers], odds: Sequence[Floats], first: float, least: float, behind: float
) -> list[float]:
    precision, answerable, recall, silence, far = [], [], [], [], []
    for question, values in zip(questions, odds, strict=True):
        best = max(values, default=-50.0)
        enough = min(BEYOND_DOUBT, max(least, best - behind)) if best >= first else best + 1
        chosen = [right for right, value in zip(question.right, values, strict=True) if value >= enough]
        value = sum(chosen) / len(chosen) if chosen else float(not question.answers)
        precision.append(value)
        if question.answers:
            answerable.append(value)
            recall.append(sum(chosen) / question.answers)
        else:
            silence.append(float(not chosen))
            far += [float(not chosen)] * (question.kind == "far")
    return [float(np.mean(values)) for values in (precision, answerable, recall, silence, far)]


if __name__ == "__main__":
    main()
