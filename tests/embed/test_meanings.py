"""What single words mean: the same whatever was met before, in any number of threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from memsweep.embed import local
from memsweep.embed.local import LocalEmbedder

TEXTS = ["The dog sleeps in the kitchen.", "Invoices are due in May.", "", "🎉", "dog"]


def test_a_word_is_nearest_to_itself_and_near_to_its_like() -> None:
    puppy, dog = LocalEmbedder().nearest(["puppy", "dog"], ["A dog barks.", "Invoices are due."])[0]
    assert dog == pytest.approx(1.0, abs=0.01)
    (far, _) = LocalEmbedder().nearest(["puppy", "dog"], ["Invoices are due."])[0]
    assert far < 0.3 < puppy


def test_frequent_words_are_less_rare() -> None:
    common, rare = LocalEmbedder().rarities(["the", "hydration"])
    assert 0 <= common < rare <= 1.01


def test_nothing_to_compare_is_no_error() -> None:
    model = LocalEmbedder()
    assert model.nearest([], TEXTS) == [[]] * len(TEXTS)
    assert model.nearest(["dog"], []) == []
    assert model.nearest(["dog"], [""])[0][0] <= 0.01


def test_what_is_forgotten_is_learned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = LocalEmbedder().nearest(["dog", "bill", "dog"], TEXTS)
    monkeypatch.setattr(local, "_MOST_WORDS", 3)
    monkeypatch.setattr(local, "_MOST_TEXTS", 2)
    model = LocalEmbedder()
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: model.nearest(["dog", "bill", "dog"], TEXTS), range(40))) == [wanted] * 40
