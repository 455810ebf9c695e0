"""memsweep where"""

from __future__ import annotations

import json
import sys

from memsweep.model.text import counted
from memsweep.model.visible import escaped_in_json, visible
from memsweep.report.place import WhereAnswer
from memsweep.report.place import where as report
from memsweep.where import where as look


def print_where(project: str, as_json: bool) -> None:
    """Without the library that draws tables: this command has to start at once."""
    answer = report(look(project))
    if as_json:
        unicode = (sys.stdout.encoding or "").lower() in ("utf-8", "utf8")
        print(escaped_in_json(json.dumps(answer, ensure_ascii=not unicode, indent=2)))
        return
    print("\n".join(lines(answer)))


def lines(answer: WhereAnswer) -> list[str]:
    held = counted(answer["memories"], "memory", "memories") if answer["made"] else "the first memory makes it"
    said = [f"workspace  {answer['workspace_id']} ({held})", f"because    {answer['reason']}"]
    if answer["project"]:
        said.append(f"project    {answer['project']}")
    if answer["personal"]:
        said.append(f"personal   {answer['personal']} ({counted(answer['personal_memories'], 'memory', 'memories')})")
    return [visible(line) for line in (*said, *answer["notes"])]
