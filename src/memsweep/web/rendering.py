"""Templates to HTML. Everything is escaped, and nothing unseen gets through, unless a filter says otherwise."""

from __future__ import annotations

import hashlib
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markupsafe import Markup

from memsweep.report.commands import in_commands
from memsweep.report.reasons import why
from memsweep.web import words
from memsweep.web.events import who
from memsweep.web.icons import LOGO, icon
from memsweep.web.plan_sections import names_of
from memsweep.web.strategies import strategy_name
from memsweep.web.visible import as_it_is, marked, plain, shown

HERE = Path(__file__).parent
STATIC = HERE / "static"


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=plain,
        auto_reload=False,
    )
    made.filters |= {
        "n": words.number,
        "counted": words.counted,
        "percent": words.percent,
        "size": words.size,
        "clock_time": words.clock_time,
        "dated": words.dated,
        "shown": shown,
        "as_it_is": as_it_is,
        "day_month": words.day_month,
        "ago": _ago,
        "day": _day,
        "strategy": strategy_name,
        "in_commands": in_commands,
    }
    made.globals |= {
        "who": who,
        "marked": marked,
        "names_of": names_of,
        "why": why,
        "version": _version(),
        "icon": icon,
        "logo": LOGO,
    }
    return made


def render(template: str, values: dict[str, Any]) -> str:
    return environment().get_template(template).render(values)


@pass_context
def _ago(context: Context, moment: datetime) -> Markup:
    return words.when(moment, context["now"])


@pass_context
def _day(context: Context, moment: datetime) -> str:
    return words.day(moment, context["now"])


def _version() -> str:
    """Of the files that browsers keep: another one for every change of any."""
    files = sorted(path for path in STATIC.iterdir() if path.is_file())
    return hashlib.sha256(b"".join(path.read_bytes() for path in files)).hexdigest()[:10]
