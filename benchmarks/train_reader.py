"""Teach the reader of `search.reader` which notes answer a question: writes `src/memsweep/embed/reader_learned.npz`.

python benchmarks/train_reader.py [--anew] [--out FILE]        (needs `pip install torch`)

The scenes of `data/reader_scenes.jsonl` are small worlds of twelve notes, with questions that some of the notes answer,
in their words or in others, and with questions that a note seems to answer and none does. None of them is in a set that
anything is measured with. The carried model stays as it is; learned are two narrow matrices for each of its matrices,
whose product is added, and its vectors. Weights are rounded as `transformer_network` will round them, so that the
network learns as it will run. It goes on from what is in the package, or begins with the carried model (`--anew`).

A group is a question with some of its answers, some of the notes that resemble it most, and at times one from
elsewhere, as small talk. Each pair of a group is judged by itself (does it answer?), and an answer has to be ahead of
the rest of its group. Five of six pairs are easy: first the reader reads all of them, and then it is taught with those
that it has wrong or nearly so, and with few of the others, once each. What comes out is the mean of its weights before
and after. A second pass over the hard ones, or the weights after the first as they are, make it worse in scenes that it
does not know: what is hard is sometimes wrong. For the same reason it is never taught to be certain.

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
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.nn import functional

from memsweep.embed import reader as reader_module
from memsweep.embed.reader import LAYERS, MATRICES, MarcoReader, ReaderWeights
from memsweep.embed.transformer import constants_of, tokenizer_from
from precision import OPEN_CASES
from scenes import load_scenes

RANK = 48
HEADS = 12
RATE = 3e-4
WARM_UP = 60
PAIRS = 56  # a batch
CLOSEST = 3  # notes that a question is set against
ANSWERS = 2  # of a question, in a group
ALWAYS = 0.15  # how many of the easy groups are taught
ELSEWHERE, SMALL_TALK = 0.35, 1 / 3  # of the groups have a note from elsewhere; of these are small talk
IN_ORDER = 0.5  # what the order of a group counts beside each verdict
DOUBT = 0.04  # how far from certain the right verdict is
SEVEN_BITS = 63
Tensor = Any


@dataclass(slots=True)
class Pair:
    """A question with a note that answers it or does not, and what was said of it."""

    question: str
    note: str
    right: bool
    said: float = 0.0

    @property
    def loss(self) -> float:
        return softplus(-self.said if self.right else self.said)


class Group(NamedTuple):
    """The pairs of one question, answers first."""

    pairs: Sequence[Pair]

    @property
    def answers(self) -> int:
        return sum(pair.right for pair in self.pairs)

    @property
    def longest(self) -> int:
        return max(len(pair.question) + len(pair.note) for pair in self.pairs)

    @property
    def trouble(self) -> float:
        """How wrong the worst pair is, or the order."""
        right, wrong = ([pair.said for pair in self.pairs if pair.right is which] for which in (True, False))
        order = softplus(max(wrong) - min(right)) if right and wrong else 0.0
        return max(order, *(pair.loss for pair in self.pairs))


def softplus(value: float) -> float:
    return math.log1p(math.exp(-abs(value))) + max(value, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--anew", action="store_true", help="begin with the carried model")
    parser.add_argument("--out", type=Path, default=reader_module._LEARNED)
    options = parser.parse_args()
    torch.manual_seed(0)
    taught, left_out = load_scenes()
    learned = {} if options.anew else dict(np.load(reader_module._LEARNED))
    student = Student(learned)
    chooser = Chooser(taught, student, random.Random(0))
    show(student, left_out)
    if not options.anew:
        chooser.read(MarcoReader())
    train(student, chooser.batches())
    show(student, left_out)
    if not options.anew:
        student.average(Student(learned))
        show(student, left_out)
    student.save(options.out)
    print(f"{options.out}: {options.out.stat().st_size:,} bytes")


class Chooser:
    """Which notes each question is set against, and which of them are worth teaching."""

    def __init__(self, scenes: Sequence[Mapping[str, Any]], student: Student, dice: random.Random) -> None:
        self._student, self._dice = student, dice
        self._scenes = [scene for scene in scenes if scene["asked"]]
        self._small_talk = [scene for scene in scenes if not scene["asked"]]
        self._words = cache(lambda text: set(re.findall(r"\w+", text.lower())))
        self._frequent = Counter(word for scene in scenes for note in scene["notes"] for word in self._words(note))
        self._groups = [group for scene in self._scenes for group in self._of_scene(scene)]

    def read(self, reader: MarcoReader) -> None:
        """Have every pair read as a search would."""
        for group in self._groups:
            said = reader.read(group.pairs[0].question, [pair.note for pair in group.pairs])
            for pair, value in zip(group.pairs, said, strict=True):
                pair.said = value

    def batches(self) -> list[list[Group]]:
        """Groups of a like length together, in any order."""
        batches: list[list[Group]] = [[]]
        for group in sorted(self._taught(), key=lambda group: group.longest):
            if sum(len(each.pairs) for each in batches[-1]) >= PAIRS:
                batches.append([])
            batches[-1].append(group)
        self._dice.shuffle(batches)
        return batches

    def _taught(self) -> Iterator[Group]:
        for group in self._groups:
            if self._dice.random() > ALWAYS + 1.5 * group.trouble:
                continue
            right = [pair for pair in group.pairs if pair.right]
            right = sorted(right, key=lambda pair: pair.said + self._dice.random())[:ANSWERS]
            wrong = [pair for pair in group.pairs if not pair.right and self._dice.random() < 0.15 + 2 * pair.loss]
            if self._dice.random() < ELSEWHERE or not right + wrong:
                wrong.append(Pair(group.pairs[0].question, self._elsewhere(), right=False))
            yield Group([*right, *wrong])

    def _of_scene(self, scene: Mapping[str, Any]) -> Iterator[Group]:
        notes = scene["notes"]
        asked = [(question, answers, answers, CLOSEST) for question, answers in scene["asked"]]
        for question, named, answers, others in asked + [(each, [place], [], 2) for each, place in scene["near"]]:
            rest = sorted(
                (place for place in range(len(notes)) if place not in named),
                key=lambda place: -self._likeness(question, notes[place]),
            )
            yield Group([Pair(question, notes[place], place in answers) for place in (*named, *rest[:others])])

    def _elsewhere(self) -> str:
        """A note of any scene, or one of those that answer nothing, whatever is asked."""
        scenes = self._small_talk if self._dice.random() < SMALL_TALK else self._scenes
        return str(self._dice.choice(self._dice.choice(scenes)["notes"]))

    def _likeness(self, one: str, other: str) -> float:
        """By the vectors of their words, and by rare words in common."""
        rare = sum(1 / math.log(2 + self._frequent[word]) for word in self._words(one) & self._words(other))
        return float(self._student.mean(one) @ self._student.mean(other)) + 0.3 * rare


class Rounded(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    """A product with a matrix as it will be rounded; what is learned are the narrow matrices behind it."""

    @staticmethod
    def forward(context: Any, state: Tensor, whole: Tensor, bias: Tensor, wide: Tensor, narrow: Tensor) -> Tensor:
        state = state.bfloat16()
        context.save_for_backward(state, whole, wide, narrow)
        return functional.linear(state, whole, bias.bfloat16())

    @staticmethod
    def backward(context: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        state, whole, wide, narrow = context.saved_tensors
        slope = slopes[0].bfloat16()
        flat, given = slope.flatten(0, -2), state.flatten(0, -2)
        to_wide = flat.T @ (given @ narrow.bfloat16().T)
        to_narrow = (flat @ wide.bfloat16()).T @ given
        return slope @ whole, None, flat.sum(0, dtype=torch.float32), to_wide.float(), to_narrow.float()


def is_matrix(name: str) -> bool:
    return name.removesuffix(".weight") in MATRICES


class Student:
    """The carried network, and what it learns on top."""

    def __init__(self, learned: Mapping[str, Any]) -> None:
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
        self._rounded: dict[str, Tensor] = {}
        for name in MATRICES:
            outputs, inputs = self._fixed[f"{name}.weight"].shape
            self._learned[f"{name}.narrow"] = torch.randn(RANK, inputs) * 0.02
            self._learned[f"{name}.wide"] = torch.zeros(outputs, RANK)
        self._go_on(learned)
        for values in self._learned.values():
            values.requires_grad_()
        self.begin()

    def _go_on(self, learned: Mapping[str, Any]) -> None:
        """From what was learned before, which may be narrower; both matrices of a product get a like size."""
        for name, values in learned.items():
            matrix, _, part = name.rpartition(".")
            if part == "wide":
                wide = torch.tensor(values * learned[f"{matrix}.scales"]).float()
                narrow = torch.tensor(learned[f"{matrix}.narrow"]).float()
                sizes = (narrow.norm(dim=1) / wide.norm(dim=0)).sqrt()
                self._learned[name][:, : len(narrow)] = wide * sizes
                self._learned[f"{matrix}.narrow"][: len(narrow)] = narrow / sizes[:, None]
            elif part not in ("narrow", "scales"):
                self._learned[name] = torch.tensor(values).float()

    def begin(self) -> None:
        """Round the matrices as they are now."""
        with torch.no_grad():
            for name in MATRICES:
                whole = self._fixed[f"{name}.weight"] + self._learned[f"{name}.wide"] @ self._learned[f"{name}.narrow"]
                scales = whole.abs().amax(1, keepdim=True) / SEVEN_BITS
                self._rounded[name] = (torch.round(whole / scales) * scales).bfloat16()

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
        given = state.bfloat16()
        query, key, value = (
            self._linear(f"{name}.attention.self.{part}", given).view(rows, length, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        looked = torch.softmax(query @ key.transpose(-1, -2) / math.sqrt(width / HEADS) + hidden.bfloat16(), -1)
        seen = (looked @ value).transpose(1, 2).reshape(rows, length, width)
        mixed = self._linear(f"{name}.attention.output.dense", seen)
        state = self._normal(f"{name}.attention.output.LayerNorm", state + mixed)
        bent = functional.gelu(self._linear(f"{name}.intermediate.dense", state.bfloat16()))
        return self._normal(f"{name}.output.LayerNorm", state + self._linear(f"{name}.output.dense", bent))

    def _linear(self, name: str, state: Tensor) -> Tensor:
        own = (self._learned[f"{name}.{part}"] for part in ("bias", "wide", "narrow"))
        return Rounded.apply(state, self._rounded[name], *own)  # type: ignore[no-untyped-call, unused-ignore]

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

    def average(self, other: Student) -> None:
        """With another: the product of the joined matrices is the mean of both products."""
        with torch.no_grad():
            for name, values in other._learned.items():
                own, part = self._learned[name], name.rpartition(".")[2]
                if part == "narrow":
                    self._learned[name] = torch.cat([own, values])
                else:
                    self._learned[name] = (torch.cat([own, values], 1) if part == "wide" else own + values) / 2

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


def train(student: Student, batches: Sequence[Sequence[Group]]) -> None:
    rates = {True: RATE, False: RATE / 2}  # of matrices and of vectors
    groups = [
        {"params": [each for each in student.parameters() if (each.ndim > 1) == wide], "weight_decay": 0.01 * wide}
        for wide in rates
    ]
    optimiser = torch.optim.AdamW(groups, lr=RATE)
    losses: list[float] = []
    for number, batch in enumerate(batches):
        for group, rate in zip(optimiser.param_groups, rates.values(), strict=True):
            group["lr"] = rate * min(1, (number + 1) / WARM_UP) * (1 - number / len(batches))
        student.begin()
        loss = loss_of(student, batch)
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        optimiser.step()
        losses.append(loss.item())
        if len(losses) % 100 == 0:
            print(f"{len(losses)} of {len(batches)} batches: loss {np.mean(losses[-100:]):.3f}", flush=True)


def loss_of(student: Student, batch: Sequence[Group]) -> Tensor:
    pairs = [pair for group in batch for pair in group.pairs]
    said = student([(pair.question, pair.note) for pair in pairs])
    behind, place = [], 0
    for group in batch:
        answers, others = said[place:][: group.answers], said[place:][group.answers : len(group.pairs)]
        behind += [functional.softplus(torch.logsumexp(others, 0) - answer) for answer in answers if len(others)]
        place += len(group.pairs)
    right = torch.tensor([1 - DOUBT if pair.right else DOUBT for pair in pairs])
    verdicts = functional.binary_cross_entropy_with_logits(said, right)
    return verdicts + IN_ORDER * torch.stack(behind).mean() if behind else verdicts


def show(student: Student, scenes: Sequence[Mapping[str, Any]]) -> None:
    student.begin()
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
