"""Write what the documents say of the code: `make docs`. Each part stands between two comments of its name."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from memsweep.settings.example import meaning_with_choices
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


PARTS = {"settings.md": {"settings": settings_table}}


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
    for name, text in out_of_date():
        (DOCS / name).write_text(text, "utf-8")
        print(f"wrote docs/{name}", file=sys.stderr)
