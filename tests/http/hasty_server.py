"""`memsweep serve --http` that waits a second for calls when it is told to stop: `-m tests.http.hasty_server`."""

import sys

from memsweep.cli import run
from memsweep.server.http import door
from memsweep.web import connections

if __name__ == "__main__":
    door._FINISH_SECONDS = connections._CLOSE_SECONDS = 1
    sys.exit(run(["serve", "--http", "--port", "0"]))
