"""memsweep reembed"""

from __future__ import annotations

from memsweep.app import App
from memsweep.cli.door import InWorkspace, Json, progress_bar, show, with_app
from memsweep.model.text import counted
from memsweep.report import reembedding as report


def reembed(workspace: InWorkspace = "", as_json: Json = False) -> None:
    """Recompute all embeddings with the configured model. A stopped run goes on where it was."""

    def run(app: App) -> report.ReembeddedAnswer:
        memory = app.memory(workspace)
        with progress_bar("embedding", quiet=as_json) as progress:
            chunks = memory.care.reembed(progress)
        return report.reembedded(memory.workspace_id, chunks, memory.care.model())

    answer = with_app(run)
    chunks = counted(answer["chunks"], "chunk")
    show(answer, as_json, lambda console: console.print(f"Embedded {chunks} with {answer['model']}."))
