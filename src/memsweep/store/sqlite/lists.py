"""Sets of keys as statements take them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def as_list(values: Iterable[Any]) -> str:
    """As JSON, which a statement takes apart again."""
    return json.dumps(sorted(values))


def as_numbers(keys: Iterable[int]) -> str:
    """The same in the order in which they are. Whole numbers look alike in Python, which takes half of the time."""
    return str(list(keys))
