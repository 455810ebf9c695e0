"""Teach the reader of `search.reader` which notes answer a question: writes `src/memsweep/embed/reader_learned.npz`.

python benchmarks/train_reader.py [--minutes 60] [--out FILE]        (needs `pip install torch`)

The scenes of `data/reader_scenes.jsonl` are small worlds of twelve notes, with questions that some of the notes answer,
in their words or in others, and with questions that a note seems to answer and none does. None of them is in a set that
anything is measured with. The carried model stays as it is; learned are two narrow matrices for each of its matrices,
whose product is added, and its vectors. Weights are rounded as `transformer_network` will round them, so that the
network learns as it will run.

A group is a question with some of its answers, some of the notes that resemble it most, and one from elsewhere, as
small talk. Each pair of a group is judged by itself (does it answer?), and an answer has to be ahead of the rest of
its group. What is in the package took 76 minutes on two cores, the first 58 of them with hardly any note from elsewhere
and while scenes were still being added.

Before and after, the script prints how well answers are told from near misses: in every eighteenth scene, which is left
out, and in the open cases of `precision.py`, there by the best memory of each question. Both are areas under the curve.
"""

from __future__ import annotations

import argparse
import json
import math
import mmap
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from memsweep.embed import reader as reader_module
from memsweep.embed.onnx_file import constants_of
from memsweep.embed.packaged import tokenizer_from
from memsweep.embed.reader_weights import LAYERS, MATRICES, ReaderWeights
from precision import DATA, OPEN_CASES

SCENES = DATA / "reader_scenes.jsonl"
LEFT_OUT = 18
RANK = 16
HEADS = 12
RATE = 3e-4
WARM_UP = 60
GROUPS = 14  # a batch
CLOSEST, TAKEN = 5, 3  # notes that a question is set against: some of the closest
SMALL_TALK = 1 / 3  # of the notes from elsewhere
IN_ORDER = 0.5  # what the order of a group counts beside each verdict
SEVEN_BITS = 63
Tensor = Any


class Group(NamedTuple):
    """A question, notes that answer it, and notes that do not."""

    question: str
    answers: Sequence[str]
    others: Sequence[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--out", type=Path, default=reader_module._LEARNED)
    options = parser.parse_args()
    torch.manual_seed(0)
    scenes = [json.loads(line) for line in SCENES.read_text(encoding="utf-8").splitlines()]
    left_out = [scene for scene in scenes if scene["asked"]][::LEFT_OUT]
    student = Student()
    chooser = Chooser([scene for scene in scenes if scene not in left_out], student, random.Random(0))
    show(student, left_out)
    train(student, chooser, options.minutes * 60)
    show(student, left_out)
    student.save(options.out)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


class Chooser:
    """Which notes each question is set against, anew in every round."""

    def __init__(self, scenes: Sequence[Mapping[str, Any]], student: Student, dice: random.Random) -> None:
        self._student, self._dice = student, dice
        self._scenes = [scene for scene in scenes if scene["asked"]]
        self._small_talk = [scene for scene in scenes if not scene["asked"]]
        self._words: dict[str, set[str]] = {}
        self._likeness = cache(self._likeness_of)
        self._frequent = Counter(word for scene in scenes for note in scene["notes"] for word in self._words_of(note))

    def batches(self) -> Iterator[list[Group]]:
        """Groups of a like length together, in any order."""
        groups = sorted(self._groups(), key=lambda group: len(group.question) + max(map(len, group.others)))
        batches = [groups[start : start + GROUPS] for start in range(0, len(groups), GROUPS)]
        self._dice.shuffle(batches)
        return iter(batches)

    def _groups(self) -> Iterator[Group]:
        for scene in self._scenes:
            notes = scene["notes"]
            for question, answers in scene["asked"]:
                others = [note for number, note in enumerate(notes) if number not in answers]
                right = [notes[number] for number in self._dice.sample(answers, min(2, len(answers)))]
                yield Group(question, right, (*self._some_of(question, others, CLOSEST, TAKEN), self._elsewhere()))
            for question, number in scene["near"]:
                others = [note for place, note in enumerate(notes) if place != number]
                yield Group(question, (), (notes[number], *self._some_of(question, others, 3, 1), self._elsewhere()))

    def _elsewhere(self) -> str:
        """A note of any scene, or one of those that answer nothing, whatever is asked."""
        scenes = self._small_talk if self._dice.random() < SMALL_TALK else self._scenes
        return str(self._dice.choice(self._dice.choice(scenes)["notes"]))

    def _some_of(self, question: str, notes: Sequence[str], closest: int, taken: int) -> list[str]:
        near = sorted(notes, key=lambda note: self._likeness(question, note), reverse=True)[:closest]
        return self._dice.sample(near, min(taken, len(near)))

    def _likeness_of(self, one: str, other: str) -> float:
        """By the vectors of their words, and by rare words in common."""
        shared = self._words_of(one) & self._words_of(other)
        rare = sum(1 / math.log(2 + self._frequent[word]) for word in shared)
        return float(self._student.mean(one) @ self._student.mean(other)) + 0.3 * rare

    def _words_of(self, text: str) -> set[str]:
        if text not in self._words:
            self._words[text] = set(re.findall(r"\w+", text.lower()))
        return self._words[text]


def is_matrix(name: str) -> bool:
    return name.removesuffix(".weight") in MATRICES


class Student:
    """The carried network, and what it learns on top."""

    def __init__(self) -> None:
        folder = reader_module._FILES.folder()
        with (folder / reader_module._NETWORK[0]).open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        self._tokenizer = tokenizer_from(folder / reader_module._TOKENIZER[0])
        self._ids: dict[str, list[int]] = {}
        self.mean = cache(self._mean)
        weights = {name: torch.tensor(values.copy()) for name, values in ReaderWeights(constants_of(mapped)).items()}
        self._fixed = {
            name: values for name, values in weights.items() if name.startswith("embeddings.") or is_matrix(name)
        }
        self._learned = {name: values for name, values in weights.items() if name not in self._fixed}
        for name in MATRICES:
            outputs, inputs = self._fixed[f"{name}.weight"].shape
            self._learned[f"{name}.narrow"] = torch.randn(RANK, inputs) * 0.02
            self._learned[f"{name}.wide"] = torch.zeros(outputs, RANK)
        for values in self._learned.values():
            values.requires_grad_()

    def parameters(self) -> list[Tensor]:
        return list(self._learned.values())

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> Tensor:
        """What is said of each question with its note, as the logarithm of odds."""
        rows = [([101, *self._tokens(one)[:64], 102], [*self._tokens(other)[:180], 102]) for one, other in pairs]
        longest = max(len(one) + len(other) for one, other in rows)
        ids, sides = (torch.zeros(len(rows), longest, dtype=torch.long) for _ in range(2))
        hidden = torch.full((len(rows), 1, 1, longest), -1e4)
        for row, (one, other) in enumerate(rows):
            length = len(one) + len(other)
            ids[row, :length], sides[row, len(one) : length] = torch.tensor(one + other), 1
            hidden[row, ..., :length] = 0
        with torch.autocast("cpu", torch.bfloat16):
            words, places, kinds = (
                self._fixed[f"embeddings.{part}_embeddings.weight"] for part in ("word", "position", "token_type")
            )
            state = self._normal("embeddings.LayerNorm", words[ids] + places[:longest] + kinds[sides])
            for number in range(LAYERS):
                state = self._layer(f"encoder.layer.{number}", state, hidden)
            pooled = torch.tanh(self._linear("pooler.dense", state[:, 0]))
            said = functional.linear(pooled, self._learned["classifier.weight"], self._learned["classifier.bias"])
        return said[:, 0].float()

    def _layer(self, name: str, state: Tensor, hidden: Tensor) -> Tensor:
        rows, length, width = state.shape
        parts = [
            self._linear(f"{name}.attention.self.{part}", state).view(rows, length, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        ]
        seen = functional.scaled_dot_product_attention(*parts, attn_mask=hidden.to(parts[0].dtype))
        mixed = self._linear(f"{name}.attention.output.dense", seen.transpose(1, 2).reshape(rows, length, width))
        state = self._normal(f"{name}.attention.output.LayerNorm", state + mixed)
        bent = functional.gelu(self._linear(f"{name}.intermediate.dense", state))
        return self._normal(f"{name}.output.LayerNorm", state + self._linear(f"{name}.output.dense", bent))

    def _linear(self, name: str, state: Tensor) -> Tensor:
        whole = self._fixed[f"{name}.weight"] + self._learned[f"{name}.wide"] @ self._learned[f"{name}.narrow"]
        scales = whole.detach().abs().amax(1, keepdim=True) / SEVEN_BITS
        rounded = whole + (torch.round(whole / scales) * scales - whole).detach()
        return functional.linear(state, rounded, self._learned[f"{name}.bias"])

    def _normal(self, name: str, state: Tensor) -> Tensor:
        weight, bias = ((self._learned | self._fixed)[f"{name}.{part}"] for part in ("weight", "bias"))
        return functional.layer_norm(state.float(), (state.shape[-1],), weight, bias, 1e-12)

    def _mean(self, text: str) -> Tensor:
        """The mean of a text's words, of length one."""
        words = self._fixed["embeddings.word_embeddings.weight"][self._tokens(text)]
        return functional.normalize(words.mean(0), dim=0)

    def _tokens(self, text: str) -> list[int]:
        if text not in self._ids:
            self._ids[text] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return self._ids[text]

    def save(self, path: Path) -> None:
        """Narrow matrices in integers, by their singular values so that both have a like size; the rest in halves."""
        found: dict[str, Any] = {}
        for name in MATRICES:
            left, size, right = torch.linalg.svd(
                (self._learned.pop(f"{name}.wide") @ self._learned.pop(f"{name}.narrow")).detach(), full_matrices=False
            )
            wide, narrow = left[:, :RANK] * size[:RANK].sqrt(), right[:RANK] * size[:RANK].sqrt()[:, None]
            columns, rows = wide.abs().amax(0) / 127, narrow.abs().amax(1) / 127
            found[f"{name}.wide"] = torch.round(wide / columns).to(torch.int8).numpy()
            found[f"{name}.narrow"] = torch.round(narrow / rows[:, None]).to(torch.int8).numpy()
            found[f"{name}.scales"] = (columns * rows).numpy()
        found |= {name: values.detach().numpy().astype(np.float16) for name, values in self._learned.items()}
        np.savez(path, **found)


def train(student: Student, chooser: Chooser, seconds: float) -> None:
    rates = {True: RATE, False: RATE / 2}  # of matrices and of vectors
    groups = [
        {"params": [each for each in student.parameters() if (each.ndim > 1) == wide], "weight_decay": 0.01 * wide}
        for wide in rates
    ]
    optimiser = torch.optim.AdamW(groups, lr=RATE)
    started, batches = time.monotonic(), chooser.batches()
    losses: list[float] = []
    while (share := (time.monotonic() - started) / seconds) < 1:
        batch = next(batches, None)
        if batch is None:
            batches = chooser.batches()
            continue
        for group, rate in zip(optimiser.param_groups, rates.values(), strict=True):
            group["lr"] = rate * min(1, (len(losses) + 1) / WARM_UP) * (1 - share)
        loss = loss_of(student, batch)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
        if len(losses) % 100 == 0:
            print(f"{len(losses)} batches, {share:.0%} of the time: loss {np.mean(losses[-100:]):.3f}", flush=True)


def loss_of(student: Student, batch: Sequence[Group]) -> Tensor:
    pairs = [(group.question, note) for group in batch for note in (*group.answers, *group.others)]
    said = student(pairs)
    right = torch.tensor([float(note in group.answers) for group in batch for note in (*group.answers, *group.others)])
    behind, place = [], 0
    for group in batch:
        answers, others = said[place:][: len(group.answers)], said[place + len(group.answers) :][: len(group.others)]
        behind += [functional.softplus(torch.logsumexp(others, 0) - answer) for answer in answers]
        place += len(group.answers) + len(group.others)
    verdicts = functional.binary_cross_entropy_with_logits(said, right)
    return verdicts + IN_ORDER * torch.stack(behind).mean() if behind else verdicts


def show(student: Student, scenes: Sequence[Mapping[str, Any]]) -> None:
    answers = [(question, scene["notes"][right[0]]) for scene in scenes for question, right in scene["asked"]]
    misses = [(question, scene["notes"][number]) for scene in scenes for question, number in scene["near"]]
    print(f"left out: {area(said_of(student, answers), said_of(student, misses)):.3f}", end=", ", flush=True)
    right: list[float] = []
    best: list[float] = []
    for scene in json.loads(OPEN_CASES.read_text(encoding="utf-8"))["scenes"]:
        texts = {entry["id"]: entry["text"] for entry in scene["memories"]}
        for asked in scene["questions"]:
            said = said_of(student, [(asked["question"], texts[each]) for each in asked["right"] or texts])
            if asked["kind"] != "far":
                (right if asked["right"] else best).append(said.max())
    print(f"open cases: {area(np.array(right), np.array(best)):.3f}", flush=True)


def said_of(student: Student, pairs: Sequence[tuple[str, str]]) -> Tensor:
    with torch.no_grad():
        return torch.cat([student(pairs[start : start + 64]) for start in range(0, len(pairs), 64)]).numpy()


def area(higher: Tensor, lower: Tensor) -> float:
    return float(np.mean([(value > lower).mean() + (value == lower).mean() / 2 for value in higher]))


if __name__ == "__main__":
    main()
