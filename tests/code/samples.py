"""One small file in each language, with what is in it, as `tests/data/languages` has them."""

import re
from dataclasses import dataclass, replace
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "data" / "languages"


@dataclass(frozen=True)
class Sample:
    """What is expected is written one a line."""

    text: str
    symbols: str
    """Kind and qualified name, in the order of the file."""
    relations: str
    """Some of them; a name that ends in a question mark is none of this file."""
    never: str = ""
    """What no relation may contain."""


def _read(file: Path) -> Sample:
    _, *parts = re.split(r"^=== (symbols|relations|never|text)\n", file.read_bytes().decode(), flags=re.MULTILINE)
    return Sample(**dict(zip(parts[::2], parts[1::2], strict=True)))


SAMPLES = {file.stem: _read(file) for file in sorted(FOLDER.iterdir())}
_TYPESCRIPT = SAMPLES["typescript"]
SAMPLES["tsx"] = replace(
    _TYPESCRIPT,
    text=_TYPESCRIPT.text + "const View = () => <Shape size={1} />;\n",
    symbols=_TYPESCRIPT.symbols + "function View\n",
)
