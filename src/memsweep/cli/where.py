"""The command `memsweep where`, alone: clients and prompts ask it often, so it starts in a moment."""

from __future__ import annotations

import json
import sys

from memsweep.model.text import counted
from memsweep.model.visible import escaped_in_json, visible
from memsweep.project.whereabouts import Whereabouts, whereabouts
from memsweep.quick_look import at_a_glance
from memsweep.report import Answer
from memsweep.report.place import where as report
from memsweep.settings import load_settings


def print_where(project: str, as_json: bool) -> None:
    """Without the library that draws tables: this command has to start at once."""
    answer = report(look(project))
    if as_json:
        unicode = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
        print(escaped_in_json(json.dumps(answer, ensure_ascii=not unicode, indent=2)))
        return
    print("\n".join(lines(answer)))


def look(project: str = "") -> Whereabouts:
    settings = load_settings()
    seen = at_a_glance(
        settings, project, lambda resolver, glance: whereabouts(settings, resolver, glance.memories, glance.owned)
    )
    if seen is not None:
        return seen
    from memsweep.app import App

    app = App(settings, project=project)
    try:
        return app.projects.whereabouts()
    finally:
        app.close()


def lines(answer: Answer) -> list[str]:
    held = counted(answer["memories"], "memory", "memories") if answer["made"] else "the first memory makes it"
    said = [f"workspace  {answer['workspace_id']} ({held})", f"because    {answer['reason']}"]
    if answer["project"]:
        said.append(f"project    {answer['project']}")
    if answer["personal"]:
        said.append(f"personal   {answer['personal']} ({counted(answer['personal_memories'], 'memory', 'memories')})")
    return [visible(line) for line in (*said, *answer["notes"])]
