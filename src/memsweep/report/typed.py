"""`TypedDict` as the schemas of answers need it: Python's own has all of it from 3.12 on."""

from __future__ import annotations

import sys

if sys.version_info >= (3, 12):
    from typing import TypedDict as TypedDict
else:
    from typing_extensions import TypedDict as TypedDict
