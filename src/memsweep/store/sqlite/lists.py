"""Sets of keys as statements take them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any


def as_list(values: Iterable[Any]) -> str:
    """As JSON, which a statement takes apart again."""
    return json.dumps(sorted(values))
