"""What every model on this machine promises."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsweep.embed.local import LocalEmbedder
from memsweep.embed.minilm import MiniLMEmbedder
from memsweep.embed.protocol import Embedder
from tests.support.counts import rounds

MODELS: dict[str, Callable[[], Embedder]] = {"bundled": LocalEmbedder, "minilm": lambda: MiniLMEmbedder(2)}


@pytest.fixture(scope="module", params=MODELS)
def make_model(request: pytest.FixtureRequest) -> Callable[[], Embedder]:
    return MODELS[request.param]


@pytest.fixture(scope="module")
def model(make_model: Callable[[], Embedder]) -> Embedder:
    return make_model()


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=3))
@settings(max_examples=rounds(10, 40))
def test_any_text_has_a_finite_vector(model: Embedder, texts: list[str]) -> None:
    rows = model.embed(texts)
    assert np.isfinite(rows).all()
    if isinstance(model, MiniLMEmbedder):
        assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)


@pytest.mark.slow
def test_many_threads_may_load_and_use_it_at_once(make_model: Callable[[], Embedder]) -> None:
    shared, barrier = make_model(), Barrier(8)

    def work(_: int) -> bytes:
        barrier.wait()
        return shared.embed(["the same text", "another"])[0].tobytes()

    with ThreadPoolExecutor(8) as threads:
        assert len(set(threads.map(work, range(8)))) == 1
