"""Results in words and in JSON: one wording for every door. Pure."""

from typing import Any

Answer = dict[str, Any]
"""An answer as JSON has it. docs/tools.md explains every field, and tests compare it with what comes."""
