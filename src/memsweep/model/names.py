"""The law of names found by rule: when enough has been seen, and how sure that makes us."""

from __future__ import annotations

# A capitalised word is taken for a name once it was seen so often in the middle of a sentence.
ENOUGH_EVIDENCE = 2
RULE_CONFIDENCE = 0.8
