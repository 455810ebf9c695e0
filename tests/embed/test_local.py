"""The bundled model."""

import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.embed.local import _TOKENIZER, LocalEmbedder, Pieces, WordTokens, _to_float32
from memsweep.embed.protocol import quantise
from tests.support.commands import run
from tests.support.no_network import NO_NETWORK

QUIET = (
    NO_NETWORK
    + """
import memsweep
with memsweep.open_memory() as memory:
    added = memory.remember("Ada Lovelace wrote the first program.")
    assert memory.search("program").hits[0].passage.memory_id == added.memory_id
    assert memory.care.reembed() == 1
import json
import sys
assert not {"wordllama", "requests", "httpx", "huggingface_hub"} & set(sys.modules), "something heavy was imported"
print("quiet")
"""
)


@pytest.fixture(scope="module")
def embedder() -> LocalEmbedder:
    return LocalEmbedder()


@pytest.fixture(scope="module")
def pieces(embedder: LocalEmbedder) -> Pieces:
    return Pieces(embedder._folder / _TOKENIZER)


@pytest.mark.slow
def test_every_token_of_the_vocabulary_is_cut_alike(embedder: LocalEmbedder, pieces: Pieces) -> None:
    """Each by itself, and with the next: where they meet, the order of the merges decides."""
    model, every = embedder._tokenizer.model, list(pieces._ids)
    for word in (*every, *map("".join, pairwise(every))):
        assert pieces.of(word) == [token.id for token in model.tokenize(word)]


@pytest.mark.slow
def test_the_bundled_model_never_touches_the_network(home: Path) -> None:
    ran = run([sys.executable, "-c", QUIET], home=home, HF_HUB_OFFLINE="0")
    assert (ran.status, ran.out) == (0, "quiet\n"), ran.err


@pytest.mark.slow
def test_it_gives_a_row_for_each_text_in_the_same_order(embedder: LocalEmbedder) -> None:
    texts = [f"text number {number}" for number in range(50)]
    rows = embedder.embed(texts)
    assert rows.shape == (50, embedder.model.dimension)
    assert rows.dtype == np.float32
    for text, row in zip(texts, rows, strict=True):
        np.testing.assert_array_equal(embedder.embed([text])[0], row)
    assert embedder.embed([]).shape == (0, 256)


_PIECES = ["word", " ", "  ", "\n", "\t", "▁", "<s>", "</s>", "<unk>", "<", "漢字", "🎉", "e\u0301", "x" * 40, ""]


@given(st.lists(st.one_of(st.sampled_from(_PIECES), st.text(st.characters(exclude_categories=["Cs"])))).map("".join))
def test_words_have_the_tokens_of_the_whole_text(embedder: LocalEmbedder, pieces: Pieces, text: str) -> None:
    whole = embedder._tokenizer.encode(text, add_special_tokens=False).ids
    for words in (embedder._words, WordTokens(lambda: embedder._tokenizer, pieces)):
        assert words.of(text) == whole
        assert words.of(text) == whole  # and when they are known


def test_known_words_do_not_grow_without_end(embedder: LocalEmbedder, pieces: Pieces) -> None:
    tokens = WordTokens(lambda: embedder._tokenizer, pieces)
    for start in range(0, 20_000, 500):
        tokens.of(" ".join(f"w{number}" for number in range(start, start + 500)))
    assert 0 < len(tokens._known) <= 16_384
    tokens.of("x" * 33)
    assert f" {'x' * 33}" not in tokens._known
    assert tokens._pieces is None, "so many words are the tokeniser's"


@pytest.mark.slow
def test_all_weights_are_converted_exactly(embedder: LocalEmbedder) -> None:
    np.testing.assert_array_equal(_to_float32(embedder._halves), embedder._halves.astype(np.float32))


def test_similar_texts_are_closer_than_others(embedder: LocalEmbedder) -> None:
    dog, puppy, tax = embedder.embed(["a dog barks", "the puppy barked", "income tax declaration"])

    def cosine(one: np.ndarray, other: np.ndarray) -> float:
        return float(one @ other / np.linalg.norm(one) / np.linalg.norm(other))

    assert cosine(dog, puppy) > cosine(dog, tax) + 0.2


FLOATS = st.floats(-1e6, 1e6, width=32)


@given(st.lists(st.lists(FLOATS, min_size=4, max_size=4), max_size=6))
def test_a_quantised_row_keeps_its_direction(values: list[list[float]]) -> None:
    rows = np.array(values, np.float32).reshape(len(values), 4)
    packed = quantise(rows)
    assert [len(data) for data in packed] == [4] * len(values)
    for row, data in zip(rows, packed, strict=True):
        kept = np.frombuffer(data, np.int8).astype(np.float64)
        peak = float(np.abs(row).max())
        if peak == 0:
            assert not kept.any()
        else:
            assert np.abs(kept).max() == 127
            np.testing.assert_allclose(kept / 127, row.astype(np.float64) / peak, atol=0.5 / 127 + 1e-6)


def test_the_merges_follow_from_the_vocabulary(embedder: LocalEmbedder, pieces: Pieces) -> None:
    model = json.loads((embedder._folder / _TOKENIZER).read_bytes())["model"]
    ranks = [pieces.rank(*pair.split(" ")) for pair in model["merges"]]
    assert None not in ranks
    assert ranks == sorted(ranks)
    known = model["vocab"]
    splits = ((word[:at], word[at:]) for word in known for at in range(1, len(word)))
    assert len(ranks) == sum(left in known and right in known for left, right in splits)
