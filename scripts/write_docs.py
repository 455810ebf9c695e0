"""Write what the documents say of the code, and what the server says first: `make docs`.

Each part of a document stands between two comments of its name.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from memsweep.cli.config import meaning_with_choices
from memsweep.context import ContextHeap
from memsweep.context.service import ContextWindow
from memsweep.model.memory import Remembering, arguments_of
from memsweep.report.commands import OPERATIONS
from memsweep.services.adopt import AdoptService
from memsweep.services.care import CareService
from memsweep.services.code import CodeService
from memsweep.services.graph import GraphService
from memsweep.services.memory import Memory
from memsweep.services.sweep import SweepService
from memsweep.settings.fields import Settings, about
from memsweep.settings.load import variables

DOCS = Path(__file__).resolve().parent.parent / "docs"


def settings_table() -> str:
    """Every setting with its variable, default and meaning."""
    rows = ["| setting | environment | default | meaning |", "|---|---|---|---|"]
    for variable, path in variables().items():
        holder = getattr(Settings(), path[0]) if len(path) > 1 else Settings()
        meant = about(type(holder))[path[-1]]
        default = meant.default or _plain(getattr(holder, path[-1]))
        rows.append(f"| `{'.'.join(path)}` | `{variable}` | {default} | {meaning_with_choices(meant)} |")
    return "\n".join(rows)


def _plain(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case float() | int():
            return f"{value:g}" if isinstance(value, float) else str(value)
        case "" | () | {}:
            return "none"
        case tuple():
            return ", ".join(f"`{one}`" for one in value)
    return f"`{value}`"


def operations_table(kind: type) -> str:
    """Every public method of a class: how it is called, what it returns, what it does."""
    rows = ["| operation | returns | what it does |", "|---|---|---|"]
    for name in dict.fromkeys(name for each in reversed(kind.__mro__) for name in vars(each)):
        method = getattr(kind, name)
        if not name.startswith("_") and inspect.isfunction(method):
            returned = inspect.signature(method).return_annotation
            answer = (
                (returned if isinstance(returned, str) else inspect.formatannotation(returned))
                .replace("|", "\\|")
                .replace("[Mode]", "")
            )
            does = " ".join(inspect.cleandoc(method.__doc__ or "").partition("\n\n")[0].split())
            rows.append(f"| `{_call(name, method)}` | {'' if answer == 'None' else f'`{answer}`'} | {does} |")
    return "\n".join(rows)


def _call(name: str, method: Callable[..., object]) -> str:
    _, *parameters = inspect.signature(method).parameters.values()
    named = [each for each in parameters if each.kind is not inspect.Parameter.VAR_KEYWORD]
    if len(named) < len(parameters):
        kind = inspect.Parameter.KEYWORD_ONLY
        said = arguments_of(Remembering).items()
        named += [inspect.Parameter(name, kind, default=each.default) for name, each in said]
    return f"{name}({', '.join(map(_parameter, named))})"


def _parameter(given: inspect.Parameter) -> str:
    """Its name; `=` where it may be left out, with the default where that says something."""
    if given.default is inspect.Parameter.empty:
        return f"{given.name}=" if given.kind is inspect.Parameter.KEYWORD_ONLY else given.name
    tells = isinstance(given.default, str | bool | int | float) and given.default != ""
    return f"{given.name}={given.default!r}" if tells else f"{given.name}="


def doors_table() -> str:
    """What each operation is called at each door."""
    rows = ["| tool | command | library |", "|---|---|---|"]
    for each in OPERATIONS:
        command = f"`memsweep {each.command}`" if each.command else ""
        rows.append(f"| `{each.tool}` | {command} | {f'`{each.method}`' if each.method else ''} |")
    return "\n".join(rows)


LIBRARY: dict[str, type] = {
    "memory": Memory,
    "memory.code": CodeService,
    "memory.graph": GraphService,
    "memory.sweep": SweepService,
    "memory.care": CareService,
    "memory.adopt": AdoptService,
    "memory.context(…)": ContextWindow,
    "ContextHeap": ContextHeap,
}
PARTS: dict[str, dict[str, Callable[[], str]]] = {
    "settings.md": {"settings": settings_table},
    "tools.md": {"operations": doors_table},
    "library.md": {name: partial(operations_table, kind) for name, kind in LIBRARY.items()},
}


def written(name: str) -> tuple[str, str]:
    """A page as it is, and as it should be."""
    now = (DOCS / name).read_text("utf-8")
    then = now
    for part, make in PARTS[name].items():
        head, tail = f"<!-- {part} -->\n", f"\n<!-- end of {part} -->"
        before, found, rest = then.partition(head)
        _, ended, after = rest.partition(tail)
        if not found or not ended:
            raise SystemExit(f"docs/{name} has no place for {part!r}.")
        then = f"{before}{head}{make()}{tail}{after}"
    return now, then


def out_of_date() -> Iterator[tuple[str, str]]:
    for name in PARTS:
        now, then = written(name)
        if now != then:
            yield name, then


if __name__ == "__main__":
    sys.path.insert(0, str(DOCS.parent))
    from scripts import record_answers

    for name, text in out_of_date():
        (DOCS / name).write_text(text, "utf-8")
        print(f"wrote docs/{name}", file=sys.stderr)
    if not record_answers.is_current():
        record_answers.write()
        print(f"wrote {record_answers.RECORDED.name}", file=sys.stderr)
