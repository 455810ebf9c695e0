"""The command by which a client starts our server on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from memsweep.clients.plan import Machine
from memsweep.clients.table import PLATFORMS, Platform
from memsweep.settings.load import client_variables, kept_for_servers


def this_machine() -> Machine:
    platform: Platform = next((each for each in PLATFORMS if sys.platform.startswith(each)), "linux")
    return Machine(platform, Path.home(), client_variables())


def server_entry() -> dict[str, Any]:
    """The program of this installation by its whole path: a client may have another PATH than the shell."""
    script = Path(sys.executable).with_name("memsweep.exe" if sys.platform == "win32" else "memsweep")
    if os.access(script, os.X_OK):
        command, arguments = str(script), ["serve"]
    else:
        command, arguments = sys.executable, ["-P", "-m", "memsweep", "serve"]
    entry: dict[str, Any] = {"command": command, "args": arguments}
    variables = kept_for_servers()
    return {**entry, "env": variables} if variables else entry
