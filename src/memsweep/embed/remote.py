"""Embedding by a server that the user runs: Ollama, or anything that speaks OpenAI's protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from memsweep.errors import EmbedderError
from memsweep.model.text import without_password
from memsweep.model.workspace import EmbeddingModel

if TYPE_CHECKING:
    import ssl

    import httpx
    import numpy as np
    import numpy.typing as npt

_BATCH = 64


@cache
def _certificates() -> ssl.SSLContext:
    """Read once in a process: that takes longer than a request."""
    import httpx

    return httpx.create_ssl_context()


class _RemoteEmbedder:
    """The base of both protocols: batches, one clear sentence for every way to fail, and a checked shape."""

    service = ""
    path = ""

    def __init__(self, url: str, model: str, *, headers: Mapping[str, str], timeout_seconds: float) -> None:
        self._url, self._model = url.rstrip("/"), model
        self._headers, self._timeout = dict(headers), timeout_seconds

    @cached_property
    def model(self) -> EmbeddingModel:
        return EmbeddingModel(f"{self.service}:{self._model}", self._ask(["dimension"]).shape[1])

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import numpy as np

        dimension = self.model.dimension
        batches = [np.empty((0, dimension), np.float32)]
        for start in range(0, len(texts), _BATCH):
            batches.append(self._ask(texts[start : start + _BATCH]))
            if (got := batches[-1].shape[1]) != dimension:
                raise self._failed(f"gave vectors of {got} dimensions instead of {dimension}")
        return np.concatenate(batches)

    def _rows(self, answer: Any) -> Any:
        raise NotImplementedError

    @cached_property
    def _client(self) -> httpx.Client:
        import httpx

        return httpx.Client(headers=self._headers, timeout=self._timeout, verify=_certificates())

    def _ask(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import httpx
        import numpy as np

        try:
            answer = self._client.post(f"{self._url}{self.path}", json={"model": self._model, "input": list(texts)})
            answer.raise_for_status()
            rows = np.asarray(self._rows(answer.json()), np.float32)
        except httpx.HTTPStatusError as error:
            raise self._failed(f"answered {error.response.status_code}: {error.response.text[:200]}") from None
        except httpx.InvalidURL:  # what it says quotes the address
            raise self._failed("has no valid address") from None
        except httpx.HTTPError as error:
            raise self._failed(f"cannot be reached ({error or type(error).__name__})") from None
        except (ValueError, KeyError, TypeError, IndexError):
            raise self._failed("gave an answer without embeddings") from None
        if rows.ndim != 2 or len(rows) != len(texts) or not rows.size or not np.isfinite(rows).all():
            raise self._failed(f"gave {rows.shape} for {len(texts)} texts, or values that are no numbers")
        return rows

    def _failed(self, what: str) -> EmbedderError:
        return EmbedderError(
            f"the embedding server {without_password(self._url)} (model {self._model!r}) {what}; nothing was stored.",
            hint="Start it and try again, or choose another in memsweep.toml, [embedding].",
        )


class OllamaEmbedder(_RemoteEmbedder):
    service = "ollama"
    path = "/api/embed"

    def _rows(self, answer: Any) -> Any:
        return answer["embeddings"]


class OpenAIEmbedder(_RemoteEmbedder):
    service = "openai"
    path = "/embeddings"

    def _rows(self, answer: Any) -> Any:
        return [item["embedding"] for item in sorted(answer["data"], key=lambda item: item["index"])]
