"""A server whose import of its heavy parts waits: `python -m tests.server.held BEGAN RELEASED ARGUMENTS…`.

BEGAN and RELEASED are named pipes. It opens the first when it comes to the import, and goes on when somebody opens
the second. In a process that has imported everything already, what waits is the import of the server alone.
"""

import importlib.abc
import importlib.util
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_SERVER = "memsweep.server.app"


class Held(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds nothing, or what was imported before; but not at once."""

    def __init__(self, began: str, released: str) -> None:
        self._began, self._released = began, released
        self._name = _SERVER if "mcp" in sys.modules else "mcp"
        self._imported = sys.modules.pop(_SERVER, None)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        sys.meta_path.remove(self)
        with open(self._began, "w"):
            pass
        with open(self._released):
            pass
        return self._imported and importlib.util.spec_from_loader(fullname, self)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._imported

    def exec_module(self, module: ModuleType) -> None:
        """It was executed when it was imported."""


def main() -> None:
    began, released, *arguments = sys.argv[1:]
    sys.meta_path.insert(0, Held(began, released))
    sys.argv = ["memsweep", "serve", *arguments]
    from memsweep.__main__ import main as memsweep

    memsweep()


if __name__ == "__main__":
    main()
