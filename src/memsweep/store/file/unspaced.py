"""Patterns of scripts that do not put spaces between words. With so many letters they take long to make."""

from __future__ import annotations

import re

# Thai, Lao, Burmese, Khmer, the Japanese syllabaries, Han
_LETTERS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
LETTER = re.compile(f"([{_LETTERS}])")
RUN = re.compile(f"[{_LETTERS}]+|[^{_LETTERS}]+")
