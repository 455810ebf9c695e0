"""The words by which two statements are told to agree or not: tables."""

from __future__ import annotations

DROPPED = frozenset(
    """
    a an the our now currently already actually anymore meanwhile recently still just also then so please
    """.split()
)
"""What makes no difference between two statements."""
NEGATIONS = frozenset({"not", "no", "never"})
EMPHASIS = frozenset({"always", "do", "ever"})
"""What goes along with a negation, or with its absence."""
HEDGES = frozenset(
    """
    if unless when while because whether or might may maybe perhaps could would should think thinks believe believes
    guess said says say asked asks told wonder wonders probably likely today yesterday tomorrow tonight week
    sometimes often usually partly only except both either about
    """.split()
)
"""Where one of these stands, nothing is sure."""
UNKNOWN_SUBJECTS = frozenset("it this that these those he she they there here who what which".split())
PEOPLE = frozenset("user customer client person man woman boss friend colleague i we you".split())
"""Of whom more than one name may hold: a user is German and Catholic."""

_OPPOSITES = """
    on off, enabled disabled, public private, open closed, allowed forbidden, required optional, true false, valid
    invalid, manual automatic, up down, light dark, short long, brief detailed, concise verbose, formal informal,
    early late, big small, large small, hot cold, left right, mandatory optional, active inactive, online offline,
    safe unsafe, available unavailable, locked unlocked, full empty, alive dead, single married, vegetarian
    carnivore, visible hidden, synchronous asynchronous, mutable immutable, cheap expensive, free paid, daily
    weekly, weekly monthly, daily monthly
    """
OPPOSITES = frozenset(frozenset(pair.split()) for pair in _OPPOSITES.split(","))

_PLACES = "in at"
_TIMES = "on at in by until after before from every within for"
_PARTICIPLES = (
    "based located hosted stored called named owned led managed maintained written kept deployed scheduled set due"
)
FUNCTIONAL: dict[str, frozenset[str]] = {
    verb: frozenset(kinds.split())
    for verb, kinds in {
        "be": "number name",
        "have": "number",
        "use": "version",
        "prefer": "choice",
        "live": "name",
        "work": "name",
        "report": "name",
        "belong": "name",
        "run": "name number",
        "listen": "number",
        "cost": "number",
        "take": "number",
        "last": "number",
        "start": "number",
        "begin": "number",
        "end": "number",
        "open": "number",
        "close": "number",
        "expire": "number",
        "weigh": "number",
        "equal": "number",
        "hold": "number",
        "deploy": "number",
        "release": "number",
        "ship": "number",
        "meet": "number",
        "happen": "number",
        "go": "number",
        "retry": "number",
        "wait": "number",
        "keep": "number",
    }.items()
}
"""Verbs of which one thing holds at a time, and what that may be."""
_MEASURES = "to of than port version maximum minimum out around roughly most least up"
LINKERS = frozenset(f"{_PLACES} {_TIMES} {_PARTICIPLES} {_MEASURES}".split())
"""What may stand between the verb and the value."""
CHOSEN = frozenset(
    """
    favourite favorite default preferred primary name language color colour capital owner deadline password timezone
    birthday currency theme editor
    """.split()
)
"""Subjects of which one thing holds, though it is no name."""
DESCRIBING = ("ed", "able", "ible", "ful", "ous", "ive", "ing", "ly", "less", "est", "er")

_UNITS = """
    second minute hour day week month year ms s min h d kb mb gb tb kib mib gib byte percent euro dollar pound eur
    usd gbp m km cm mm kg g mg l ml am pm clock time times token character line degree meter metre mile
    """
UNITS = frozenset(_UNITS.split())
_COUNTED = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million billion half
    monday tuesday wednesday thursday friday saturday sunday january february march april june july august september
    october november december noon midnight once twice
    """
COUNTED = frozenset({*_COUNTED.split(), "month of may"})
