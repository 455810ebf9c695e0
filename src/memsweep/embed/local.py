"""The bundled static model: word vectors from the wordllama package, read without importing it.

Importing wordllama costs half a second of CPU and sets up logging and an HTTP client; its two data
files are all that is needed. Nothing here can touch the network.
"""

from __future__ import annotations

import importlib.util
import json
import math
import mmap
import re
import struct
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, chain, islice, pairwise, repeat
from operator import add, truediv
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from memsweep.errors import EmbedderError
from memsweep.forking import new_lock
from memsweep.model.workspace import EmbeddingModel
from memsweep.numeric import compared, numpy_for, singles, total

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from memsweep.numeric import Rows


_TOKENIZER = Path("tokenizers", "l2_supercat_tokenizer_config.json")
_WEIGHTS = Path("weights", "l2_supercat_256.safetensors")
_BATCH = 64  # what the tokeniser makes of a text while it works is many times its size
_FEW = 32  # more texts than this are worth a batch, and 32 MB for weights that need no conversion
_MANY = 1 << 16  # tokens a text, where it pays to have numpy
_WINDOW = 1 << 16  # characters that are tokenised together; a token cut at its edge is counted twice


class LocalEmbedder:
    """Mean of word vectors, 256 dimensions, thousands of texts a second."""

    model = EmbeddingModel("wordllama-l2-supercat-256", 256)

    def __init__(self) -> None:
        self._loading = new_lock()

    def load(self) -> None:
        """Get ready for many texts."""
        _ = self._tokenizer

    def embed(self, texts: Sequence[str]) -> Rows:
        few = [self._words.of(text) for text in texts] if len(texts) <= _FEW else []
        np = numpy_for(self.model.dimension * (sum(map(len, few)) if few else len(texts) * _MANY))
        if np is None:
            return [self._mean(tokens) for tokens in few]
        rows: npt.NDArray[Any] = np.zeros((len(texts), self.model.dimension), np.float32)
        for row, vectors in enumerate(self._of_few(few) if few else self._of_many(texts)):
            if len(vectors):
                np.add.reduce(vectors, axis=0, out=rows[row])
                rows[row] /= len(vectors)
        return rows

    def _mean(self, tokens: Sequence[int]) -> array[float]:
        summed = total(map(self._weights.numbers, tokens), self.model.dimension)
        return singles(map(truediv, summed, repeat(len(tokens)))) if tokens else summed

    def _of_few(self, texts: Iterable[Sequence[int]]) -> Iterator[npt.NDArray[np.float32]]:
        import numpy as np

        for tokens in texts:
            yield _to_float32(self._halves.take(np.array(tokens, np.intp), axis=0))

    def _of_many(self, texts: Sequence[str]) -> Iterator[npt.NDArray[np.float32]]:
        import numpy as np

        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            for encoding in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                yield self._fast_weights.take(np.array(encoding.ids, np.intp), axis=0)

    def token_ends(self, text: str) -> list[int]:
        """Return the end of each token of the text, in characters."""
        windows = [text[start : start + _WINDOW] for start in range(0, len(text), _WINDOW)]
        return [
            start * _WINDOW + end
            for start, encoding in enumerate(self._tokenizer.encode_batch(windows, add_special_tokens=False))
            for _, end in encoding.offsets
        ]

    def rarities(self, words: Sequence[str]) -> list[float]:
        return self._meanings.rarities(words)

    def nearest(self, words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        return self._meanings.nearest(words, texts)

    @cached_property
    def _meanings(self) -> Meanings:
        return Meanings(self._words.of, self._weights)

    @cached_property
    def _folder(self) -> Path:
        spec = importlib.util.find_spec("wordllama")
        if spec is None or not spec.submodule_search_locations:
            raise EmbedderError(
                "the bundled embedding model is missing.", hint="Install it with: pip install wordllama"
            )
        return Path(spec.submodule_search_locations[0])

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        with self._loading:
            tokenizer = Tokenizer.from_file(str(self._folder / _TOKENIZER))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        if hasattr(tokenizer.model, "_resize_cache"):
            # To this model a whole text is one word: it would keep every short text, up to 120 MB, to no use.
            tokenizer.model._resize_cache(0)
        return tokenizer

    @cached_property
    def _words(self) -> WordTokens:
        pieces = None
        if "_tokenizer" not in self.__dict__:
            with suppress(ValueError):  # laid out in another way, it is left to the library
                pieces = Pieces(self._folder / _TOKENIZER)
        return WordTokens(lambda: self._tokenizer, pieces)

    @cached_property
    def _fast_weights(self) -> npt.NDArray[np.float32]:
        import numpy as np

        return self._halves.astype(np.float32)

    @cached_property
    def _halves(self) -> npt.NDArray[np.float16]:
        import numpy as np

        return np.frombuffer(self._weights.raw, np.float16).reshape(-1, self.model.dimension)

    @cached_property
    def _weights(self) -> ModelWeights:
        return ModelWeights.mapped(self._folder / _WEIGHTS)


def _to_float32(halves: npt.NDArray[np.float16]) -> npt.NDArray[np.float32]:
    """Every finite half is exact in 32 bits: its bits with a wider exponent, less the difference of their biases.

    What numpy does to convert them takes three times as long.
    """
    import numpy as np

    bits = halves.view(np.int16).astype(np.int32)
    bits <<= 13
    bits &= -0x70000001  # the copies of the sign, all but the first
    wide = bits.view(np.float32)
    wide *= np.float32(2.0**112)
    return wide


# The tokens of short texts, put together from those of their words, most of which were met before.
# That is exact: no token of the bundled model reaches from a word over the space behind it. Where all words are known
# it is six times as fast as the tokeniser.

_WORD = re.compile(" +[^ ]*")
_LONG = 32  # characters; a longer word is hardly met again
_MOST = 16_384  # words: about 5 MB, four times as much if they are all long and of many tokens
_FEW_KNOWN = 2048  # words; for more it pays to load the tokeniser


class WordTokens:
    """Gives what the tokeniser gives, for any text."""

    def __init__(self, load: Callable[[], Any], pieces: Pieces | None = None) -> None:
        """`load` gives the tokeniser; `pieces` are for the first words, until it is worth while."""
        self._load, self._pieces = load, pieces
        marks = pieces.marks if pieces else (each.content for each in load().get_added_tokens_decoder().values())
        self._marks = ["▁", *marks]
        self._known: dict[str, list[int]] = {}

    def of(self, text: str) -> list[int]:
        ids: list[int] = []
        if any(mark in text for mark in self._marks):
            ids += self._load().encode(text, add_special_tokens=False).ids
            return ids
        known = self._known
        for word in _WORD.findall(f" {text}") if text else ():
            ids += known[word] if word in known else self._learn(word)
        return ids

    def _learn(self, word: str) -> list[int]:
        ids = self._cut(word.replace(" ", "▁"))
        if len(word) <= _LONG:
            if len(self._known) >= _MOST:
                self._known = {}
            self._known[word] = ids
        return ids

    def _cut(self, word: str) -> list[int]:
        if len(self._known) >= _FEW_KNOWN:
            self._pieces = None
        if (pieces := self._pieces) is not None and len(word) <= _LONG:
            return pieces.of(word)
        return [token.id for token in self._load().model.tokenize(word)]


# The tokens of single words, from the table in the tokeniser's file. Gives what the tokeniser's model gives.
# Reading the table takes an eighth of the time that the library needs to get ready. That is for a process that answers
# one search; who has more words to look at soon makes up for the library.

_SPACE = "▁"
_NONE = 1 << 30
_FIRST_TEXT = 259
"""The tokens before are three marks and the 256 bytes. Every other is what its own letters are merged to."""
Rank = tuple[bool, int, int, int]


class Pieces:
    """Byte pair encoding: of all neighbours, the pair that comes first in the table of merges becomes one.

    That table is three times as long as the vocabulary and follows from it: whatever has two parts that are tokens can
    be merged of them, in the order of its number and theirs, and runs of spaces come last.
    """

    def __init__(self, file: Path) -> None:
        raw = file.read_bytes()
        self.marks = [token["content"] for token in _part(raw, b'"added_tokens": ', b'"normalizer": ')]
        self._ids: dict[str, int] = _part(raw, b'"vocab": ', b'"merges": ')

    def of(self, word: str) -> list[int]:
        if (whole := self._ids.get(word, 0)) >= _FIRST_TEXT:
            return [whole]
        pieces = [piece for letter in word for piece in self._of_letter(letter)]
        while len(pieces) > 1:
            pairs = [left + right for left, right in pairwise(pieces)]
            ids = [self._ids.get(pair, _NONE) for pair in pairs]
            if (first := min(ids)) == _NONE:
                break
            at = ids.index(first)
            if ids.count(first) > 1 or not pairs[at].strip(_SPACE):  # seldom: it is not the number alone that decides
                at = min((rank, at) for at, pair in enumerate(pairwise(pieces)) if (rank := self.rank(*pair)))[1]
            pieces[at : at + 2] = [pieces[at] + pieces[at + 1]]
        return [self._ids[piece] for piece in pieces]

    def rank(self, left: str, right: str) -> Rank | None:
        """Return the place of the pair in the table of merges; None if it is not there."""
        both = self._ids.get(left + right)
        return None if both is None else (not (left + right).strip(_SPACE), both, self._ids[left], self._ids[right])

    def _of_letter(self, letter: str) -> list[str]:
        return [letter] if letter in self._ids else [f"<0x{byte:02X}>" for byte in letter.encode()]


def _part(raw: bytes, name: bytes, following: bytes) -> Any:
    """Return the JSON between two names of a file; to read the whole file would take twice as long."""
    start = raw.index(name) + len(name)
    return json.JSONDecoder().raw_decode(raw[start : raw.index(following, start)].decode())[0]


# Single words by the vectors of the bundled model: how rare a word is, and how close it comes to those of a text.

_LETTERS = re.compile(r"[^\W_]+")
_MOST_WORDS = 16_384  # that are kept: 5 MB, twice as much if none is a token by itself
_MOST_TEXTS = 2048  # some 2 MB beside the texts
_VOCABULARY = 32_000


class Meanings:
    """Vectors of words; those of words and texts met lately are kept. Safe to use from several threads."""

    def __init__(self, tokens: Callable[[str], list[int]], weights: ModelWeights) -> None:
        self._tokens, self._weights = tokens, weights
        self._lock = new_lock()
        self._forget()

    def rarities(self, words: Sequence[str]) -> list[float]:
        """From 0 to 1, by where a word stands in the model's vocabulary: the most frequent come first."""
        return [math.log(max(self._tokens(word), default=0) + 10) / math.log(_VOCABULARY) for word in words]

    def nearest(self, words: Sequence[str], texts: Sequence[str]) -> list[list[float]]:
        """For each text and each of the words, the best cosine with a word of the text."""
        if not words or not texts:
            return [[] for _ in texts]
        with self._lock:
            if len(self._places) > _MOST_WORDS:
                self._forget()
            if len(self._texts) > _MOST_TEXTS:
                self._texts.clear()
            self._read(texts)
            asked, of_text = self._places_of(words), [self._texts[text] for text in texts]
            rows, lengths = self._rows, self._lengths
        every = list(chain.from_iterable(of_text))
        met = list(dict.fromkeys(every))
        spots = dict(zip(met, range(len(met)), strict=True))
        mine, theirs = (b"".join(map(rows.__getitem__, places)) for places in (asked, met))
        dots = compared(mine, theirs, self._weights.width, "dot", "float16")
        mine_long, theirs_long = [lengths[place] for place in asked], [lengths[place] for place in met]
        at = list(map(spots.__getitem__, every))
        return _best(dots, mine_long, theirs_long, at, list(map(len, of_text)))

    def _forget(self) -> None:
        self._places: dict[str, int] = {}
        self._texts: dict[str, list[int]] = {}
        self._rows: list[bytes | memoryview] = []
        self._lengths: list[float] = []

    def _read(self, texts: Sequence[str]) -> None:
        """Get to know the words of some texts, all new ones at once."""
        new = {text: list(set(_LETTERS.findall(text.lower()))) or [""] for text in texts if text not in self._texts}
        places = iter(self._places_of([word for words in new.values() for word in words]))
        self._texts |= {text: list(islice(places, len(words))) for text, words in new.items()}

    def _places_of(self, words: Sequence[str]) -> list[int]:
        if new := [word for word in dict.fromkeys(words) if word not in self._places]:
            self._learn(new)
        return list(map(self._places.__getitem__, words))

    def _learn(self, words: Sequence[str]) -> None:
        rows = [self._row(self._tokens(word)) for word in words]
        width = self._weights.width
        squares = compared(bytes(2 * width), b"".join(rows), width, "sqeuclidean", "float16")
        self._places |= {word: at for at, word in enumerate(words, len(self._rows))}
        self._rows += rows
        self._lengths += [math.sqrt(square) or math.inf for square in squares]

    def _row(self, tokens: Sequence[int]) -> bytes | memoryview:
        """Most words are a token, and have its row as it is."""
        if len(tokens) == 1:
            return self._weights.row(tokens[0])
        width = self._weights.width
        if (np := numpy_for(width * len(tokens))) is not None:
            halves = np.frombuffer(b"".join(map(self._weights.row, tokens)), np.float16)
            summed_halves: bytes = halves.reshape(-1, width).sum(axis=0, dtype=np.float64).astype(np.float16).tobytes()
            return summed_halves
        summed: Iterable[float] = repeat(0.0, width)
        for row in map(self._weights.numbers, tokens):
            summed = map(add, summed, row)
        return struct.pack(f"<{width}e", *summed)


def _best(
    dots: memoryview[float], mine: list[float], theirs: list[float], spots: list[int], sizes: list[int]
) -> list[list[float]]:
    """For each text and each of my words, the best cosine with those of theirs that the text has: one text behind the
    other, of these sizes."""
    ends = list(accumulate(sizes))
    np = numpy_for(len(dots))
    if np is not None:
        cosines = np.frombuffer(dots).reshape(len(mine), -1) / (np.array(mine)[:, None] * np.array(theirs))
        best: list[list[float]] = np.maximum.reduceat(cosines[:, spots], [0, *ends[:-1]], axis=1).T.tolist()
        return best
    rows = [dots[at : at + len(theirs)] for at in range(0, len(dots), len(theirs))]
    close = [
        [dot / (own * other) for dot, other in zip(row, theirs, strict=True)]
        for row, own in zip(rows, mine, strict=True)
    ]
    of_text = [spots[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return [[max(map(row.__getitem__, places)) for row in close] for places in of_text]


class ModelWeights(NamedTuple):
    """`raw` is a view of the mapped file."""

    raw: memoryview
    width: int

    @classmethod
    def mapped(cls, file: Path) -> ModelWeights:
        with file.open("rb") as opened:
            whole = memoryview(mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ))
        (header_size,) = struct.unpack_from("<Q", whole)
        header = json.loads(bytes(whole[8 : 8 + header_size]))
        tensor = next(entry for name, entry in header.items() if name != "__metadata__")
        first, end = (8 + header_size + offset for offset in tensor["data_offsets"])
        return cls(whole[first:end], tensor["shape"][1])

    def row(self, token: int) -> memoryview:
        return self.raw[2 * self.width * token : 2 * self.width * (token + 1)]

    def numbers(self, token: int) -> tuple[float, ...]:
        return struct.unpack_from(f"<{self.width}e", self.raw, 2 * self.width * token)
