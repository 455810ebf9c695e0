"""Choose the embedder and the reader that the settings ask for."""

from __future__ import annotations

from collections.abc import Callable

from memsweep.embed.protocol import Embedder, Reader
from memsweep.settings import Settings


def make_embedder(settings: Settings, local: Callable[[], Embedder]) -> Embedder:
    """`local`: the bundled model, which is loaded once for all that need it."""
    chosen = settings.embedding
    if chosen.provider == "local":
        return local()
    if chosen.provider == "minilm":
        from memsweep.embed.minilm import MiniLMEmbedder

        return MiniLMEmbedder(chosen.threads)
    from memsweep.embed.remote import OllamaEmbedder, OpenAIEmbedder

    if chosen.provider == "ollama":
        return OllamaEmbedder(chosen.url, chosen.model, headers={}, timeout_seconds=chosen.timeout_seconds)
    headers = {"Authorization": f"Bearer {settings.api_key}"} if settings.api_key else {}
    return OpenAIEmbedder(chosen.url, chosen.model, headers=headers, timeout_seconds=chosen.timeout_seconds)


def make_reader(settings: Settings) -> Reader | None:
    if settings.search.reader == "none":
        return None
    from memsweep.embed.reader import MarcoReader

    return MarcoReader(settings.embedding.threads)
