"""Numbers, sizes and times as a page writes them. Pure."""

from __future__ import annotations

import re
from datetime import datetime

from markupsafe import Markup

_THIN = "\u202f"
_MINUTE, _HOUR, _DAY = 60, 3600, 86_400
_STEPS = ((_HOUR, _MINUTE, "min"), (_DAY, _HOUR, "h"), (60 * _DAY, _DAY, "d"), (730 * _DAY, 30 * _DAY, "mo"))
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")
_UNITS = ("B", "KB", "MB", "GB", "TB")


def number(value: float) -> str:
    """With a thin space before every three digits."""
    return f"{value:,}".replace(",", _THIN)


def counted(value: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{number(value)} {one if value == 1 else many or one + 's'}"


def percent(share: float) -> str:
    """Of something that there is any of, never a flat zero."""
    value = 100 * share
    if 0 < value < 0.1:
        return f"under 0.1{_THIN}%"
    return f"{value:.0f}{_THIN}%" if value >= 10 or value == int(value) else f"{value:.1f}{_THIN}%"


def size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 999.5:
            return f"{count:.0f} {unit}" if unit in ("B", "KB") else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def span(seconds: float) -> str:
    """A length of time, in the unit that says enough."""
    for most, unit, name in _STEPS:
        if seconds < most:
            return f"{seconds // unit:.0f} {name}"
    return f"{seconds // (365 * _DAY):.0f} y"


def ago(moment: datetime, now: datetime) -> str:
    seconds = (now - moment).total_seconds()
    if abs(seconds) < _MINUTE:
        return "just now"
    return f"{span(seconds)} ago" if seconds > 0 else f"in {span(-seconds)}"


def when(moment: datetime, now: datetime) -> Markup:
    """Return a time as how long ago it was, with the moment itself on hover."""
    exact = moment.astimezone().strftime("%d %b %Y, %H:%M")
    return Markup('<time datetime="{}" title="{}">{}</time>').format(moment.isoformat(), exact, ago(moment, now))


def dated(sentence: str) -> str:
    """A sentence whose moments are written for people."""
    return _MOMENT.sub(lambda found: _date(datetime.fromisoformat(found.group())), sentence)


def _date(moment: datetime) -> str:
    local = moment.astimezone()
    return f"{local.day} {local:%b %Y, %H:%M}"


def clock_time(moment: datetime) -> str:
    return moment.astimezone().strftime("%H:%M")


def day_month(moment: datetime) -> str:
    local = moment.astimezone()
    return f"{local.day} {local:%B}"


def day(moment: datetime, now: datetime) -> str:
    """A day as a heading: today and yesterday by their names, the year only where it is another one."""
    local, today = moment.astimezone(), now.astimezone()
    if (away := (today.date() - local.date()).days) in (0, 1):
        return ("Today", "Yesterday")[away]
    return f"{local:%A}, {local.day} {local:%B}" + ("" if local.year == today.year else f" {local.year}")
