"""Work as a process does that has no numpy yet, in one that has."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from memsweep import numeric


@contextmanager
def without_numpy() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(numeric, "_is_loaded", lambda: False)
        patch.setattr(numeric, "_ENOUGH", float("inf"))
        yield
