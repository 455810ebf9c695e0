"""The environment of the processes that tests start."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_OF_THE_MACHINE = ("MEMSWEEP_", "OPENAI_", "CLAUDE_", "PYTEST_")


def environment(home: Path | str | None, **more: str) -> dict[str, str]:
    """The environment of a child: ours without our settings, with this home."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(_OF_THE_MACHINE)}
    given = {} if home is None else {"MEMSWEEP_HOME": str(home)}
    path = os.pathsep.join([*os.environ.get("PYTHONPATH", "").split(os.pathsep), str(ROOT)]).strip(os.pathsep)
    return {**kept, "PYTHONPATH": path, "COLUMNS": "200", **given, **more}
