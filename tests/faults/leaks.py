"""Campaign: keys handed in through any door, in any field, among any text: no byte of them is in any file."""

import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

from memsweep.app import make_app
from memsweep.secrets.find import find
from memsweep.services.memory import Memory
from memsweep.settings import load_settings
from tests.secrets.lines import negatives, positives

OPERATIONS = 12
KEYS = [line for line in positives() if len(line.text[line.start : line.end]) >= 16 and "\n" not in line.text]
"""Long enough that their bytes are nowhere by chance."""
ALONE = [key for line in KEYS if find(key := line.text[line.start : line.end]) and len(key) <= 150]
"""Known by their own form."""
PROSE = [line for line in negatives() if "\n" not in line and "'" not in line and '"' not in line]


class Leaks:
    """One workspace, and what was handed in."""

    def __init__(self, chance: Random, folder: Path, **settings: str) -> None:
        self.chance, self.folder = chance, folder
        self.keys: list[str] = []
        app = make_app(load_settings({"MEMSWEEP_HOME": str(folder / "home"), **settings}))
        self.close = app.close
        self.memory: Memory = app.memory()
        self.root = folder / "code"
        self.root.mkdir()

    def text(self, most: int = 3) -> str:
        """A line with a key, between others."""
        line = self.chance.choice(KEYS)
        self.keys.append(line.text[line.start : line.end])
        lines = [*self.chance.sample(PROSE, self.chance.randrange(most)), line.text]
        self.chance.shuffle(lines)
        return "\n".join(lines)

    def label(self) -> str:
        """A key alone, as a name has it."""
        self.keys.append(self.chance.choice(ALONE))
        return f"k {self.keys[-1]}"

    def remember(self) -> None:
        chance = self.chance
        self.memory.remember(
            self.text(),
            tags=[self.label()],
            metadata={"a": {"b": [self.text()]}, self.label(): 1},
            thread_id=chance.choice([None, self.label()]),
            entities=chance.choice([None, ["Ada", self.label()]]),
            relations=[{"from": "Ada", "relation": "HAS", "to": self.label()}],
        )

    def relate(self) -> None:
        self.memory.graph.relate(self.label(), "KNOWS", "Ada")

    def build(self) -> None:
        self.memory.graph.build(f"Ada Lovelace works on the Engine. {self.text()}")

    def add(self) -> None:
        self.memory.context("w").add([{"text": self.text(), "tags": [self.label()], "task_id": self.label()}])

    def compress(self) -> None:
        window = self.memory.context("c")
        window.add([{"text": self.text()}, *({"text": f"m{number}"} for number in range(12))])
        window.compress([window.segments()[0].segment_id], self.text())

    def transcript(self) -> None:
        messages = [{"role": self.chance.choice(["user", "assistant"]), "content": self.text()} for _ in range(3)]
        self.memory.context("t").add_transcript(json.dumps(messages))

    def index(self) -> None:
        ending = self.chance.choice(["py", "md", "yaml", "js", "txt"])
        (self.root / f"f{self.chance.randrange(4)}.{ending}").write_text(self.text() + "\n", "utf-8")
        self.memory.code.index(self.root)

    def found(self) -> list[str]:
        self.memory.care.backup(self.folder / "backup")
        files = [file for file in (self.folder / "home").rglob("*") if file.is_file()]
        content = b"\0".join(file.read_bytes() for file in [*files, self.folder / "backup"])
        return [f"{key[:24]}… is in a file" for key in dict.fromkeys(self.keys) if key.encode() in content]


DOORS: tuple[Callable[[Leaks], None], ...] = (
    Leaks.remember,
    Leaks.relate,
    Leaks.build,
    Leaks.add,
    Leaks.compress,
    Leaks.transcript,
    Leaks.index,
)


def run(seed: int) -> dict[str, Any]:
    chance = Random(seed)
    with tempfile.TemporaryDirectory(prefix="memsweep-leaks-") as folder:
        leaks = Leaks(chance, Path(folder))
        try:
            for _ in range(OPERATIONS):
                chance.choice(DOORS)(leaks)
            violations = leaks.found()
        finally:
            leaks.close()
    return {"operations": OPERATIONS, "keys": len(leaks.keys), "violations": violations}
