"""Find names by rule: people, places, organisations and products, and what programmers name. Pure.

What programmers name is known by its form (`parse_config`, `src/main.py`, `HttpRequest`, `HAR-212`). Other names are
capitalised words. A word at the start of a sentence is capitalised anyway and proves nothing by itself, so it is only
suggested there; in the middle of a sentence, beside another one, or before `'s` it is a name. Whether there is enough
evidence is decided over the whole workspace.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memsweep.model.memory import ENOUGH_EVIDENCE
from memsweep.model.text import name_key

MAX_NAMES = 200
_MAX_WORDS = 6
_MAX_LENGTH = 200  # as of names that are given; what is longer is no name but data
_SURE = ENOUGH_EVIDENCE
_LIKELY = 1

_FENCED = re.compile(r"^[ \t]*(```+|~~~+).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_WORD = re.compile(r"[^\W_]+(?:['’.&-][^\W_]+)*")
# The same where all is ASCII, and only those that begin with a capital: more than twice as fast.
_ASCII_CAPITALISED = re.compile(r"(?<![A-Za-z0-9])(?<![A-Za-z0-9]['.&-])[A-Z][A-Za-z0-9]*(?:['.&-][A-Za-z0-9]+)*")
_GAP_IN_NAME = re.compile(r"[ \t]+(?:(?:of|de|del|della|di|da|dos|van|von|der|den|la|le|bin|ibn|&)[ \t]+){0,2}")
_AND = re.compile(r"[ \t]+(?:and|or|und|&)[ \t]+")
_SENTENCE_ENDS = frozenset('.!?:;…\n][>|*#•—–"“”(')
_BETWEEN_SENTENCES = frozenset("'‘_-")
_LOOK_BACK = 12
_NOT_AFTER_TITLE = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof|St|Sr|Jr)\.[ \t]*\Z")

_TOKEN = re.compile(r"""[^\s<>"'`()\[\]{},;|]++""")
_ENDS = ".:!?-/…*"
_ADDRESS = re.compile(r"[\w.+-]++@[\w-]++(?:\.[\w-]++)++")
_SCHEME = re.compile(r"[a-z][a-z0-9+]*+://[^/]")
_PATH = re.compile(r"(?:~|\.{1,2})?+/?+(?:[\w.@-]++/)++[\w.@-]*+")
_DOTTED = re.compile(r"[\w-]++(?:\.[\w-]++)++")
_JOINED = re.compile(r"_*+[A-Za-z][A-Za-z0-9]*+(?:_[A-Za-z0-9]++)++")
_NUMBERED = re.compile(r"(?:[A-Z][A-Z0-9]++|[a-z]++)-\d++")
_LOWER_HUMPED = re.compile(r"[a-z]++[A-Z][A-Za-z0-9]*+")
_HUMPED = re.compile(r"[A-Z][a-z0-9]++(?:[A-Z]++[a-z0-9]*+)++|[A-Z]{2,}+[a-z]++[A-Z]\w*+")
_NAMED_AFTER = re.compile(
    r"\b(?:service|package|repository|repo|library|module|container|branch|bucket|queue|host)[ \t]+(?:is[ \t]+)?"
    r"(?:called[ \t]+|named[ \t]+)?`?([a-z][a-z0-9]*+(?:[-/][a-z0-9]++)++)"
)


@dataclass(frozen=True, slots=True)
class Name:
    """A name, how much was seen of it that proves it, and in which of the texts it stands."""

    name: str
    evidence: int
    texts: tuple[int, ...]


def find_names(texts: Sequence[str]) -> list[Name]:
    """Names in the order of their evidence, then of their first sighting."""
    shown: dict[str, str] = {}
    evidence: Counter[str] = Counter()
    places: dict[str, dict[int, None]] = {}
    for index, text in enumerate(texts):
        for name, proof in _sightings(_FENCED.sub("\n", text)):
            key = name_key(name)
            shown.setdefault(key, name)
            evidence[key] += proof
            places.setdefault(key, {})[index] = None
    names = [Name(name, evidence[key], tuple(places[key])) for key, name in shown.items()]
    return sorted(names, key=lambda name: -name.evidence)[:MAX_NAMES]


def _sightings(text: str) -> list[tuple[str, int]]:
    found, rest = _by_form(text)
    run: list[re.Match[str]] = []
    for word in _capitalised(rest):
        if run and (len(run) == _MAX_WORDS or not _GAP_IN_NAME.fullmatch(rest, run[-1].end(), word.start())):
            found += _names_in(rest, run, word)
            run = []
        run.append(word)
    return found + _names_in(rest, run, None)


def _by_form(text: str) -> tuple[list[tuple[str, int]], str]:
    """Names that are known by their form, and the text with nothing in their places."""
    found: list[tuple[str, int]] = []
    kept: list[str] = []
    end = 0
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token.isalpha() and (token.islower() or token.istitle()):
            continue
        name = token.rstrip(_ENDS)
        if 1 < len(name) <= _MAX_LENGTH and _has_form(name):
            found.append((name, _SURE))
            kept += text[end : match.start()], "." * len(token)
            end = match.end()
    found += [(match[1], _SURE) for match in _NAMED_AFTER.finditer(text)]
    found += [(word, _SURE) for word in LOWER_CASE_PRODUCTS.findall(text)]
    return found, "".join([*kept, text[end:]]) if kept else text


def _has_form(name: str) -> bool:
    """Return whether it is an address, a path, a file, dotted, joined by _, humped, a ticket or a host."""
    if "://" in name or "@" in name:
        return bool(_SCHEME.match(name) or _ADDRESS.fullmatch(name))
    if "/" in name:
        return bool(_PATH.fullmatch(name)) and (
            name.count("/") > 1 or name[0] in "/~." or "." in name.rpartition("/")[2]
        )
    if "." in name:
        return bool(_DOTTED.fullmatch(name)) and _is_dotted(name.split("."))
    if "-" in name and _NUMBERED.fullmatch(name):
        return name.partition("-")[0] not in NUMBERED_WORDS
    if "_" in name:
        return bool(_JOINED.fullmatch(name))
    return name[0].islower() and not name.islower() and bool(_LOWER_HUMPED.fullmatch(name))


def _is_dotted(parts: Sequence[str]) -> bool:
    """A file by its ending, or what programs call by several names."""
    if parts[-1].lower() in FILE_ENDINGS and any(letter.isalpha() for letter in parts[0]):
        return True
    named = all(part[:1].isalpha() or part[:1] == "_" for part in parts)
    return named and ((len(parts) > 2 and min(map(len, parts)) > 1) or any("_" in part for part in parts))


def _capitalised(text: str) -> Iterator[re.Match[str]]:
    if text.isascii():
        return _ASCII_CAPITALISED.finditer(text)
    return (word for word in _WORD.finditer(text) if word.group()[0].isupper())


def _names_in(text: str, run: list[re.Match[str]], following: re.Match[str] | None) -> list[tuple[str, int]]:
    if not run:
        return []
    opens = _opens_sentence(text, run[0].start())
    if not opens:
        return _named(text, run, _SURE)
    first = run[0].group()
    if len(run) > 1:
        # "Hey Mel" and "Ada Lovelace wrote" look alike: what never begins a name is left out, the rest is one.
        return _named(text, run[1:] if _begins_no_name(first) else run, _SURE)
    return _named(text, run, _proof_of_first(text, run[0], following))


def _begins_no_name(word: str) -> bool:
    lower = word.lower()
    return lower not in FIRST_NAMES and (lower in OPENERS or lower in NEVER or lower.endswith("ly"))


def _proof_of_first(text: str, word: re.Match[str], following: re.Match[str] | None) -> int:
    """Return the proof that a sentence's first word is a name: its form, `'s`, a colon, or another name beside it.

    Doing something makes it likely: who does so twice is a name.
    """
    said = word.group()
    lower = said.lower()
    if said.endswith(("'s", "’s")):
        return 0 if lower in CONTRACTED or _begins_no_name(said[:-2]) else _SURE
    if _begins_no_name(said) or lower in ABBREVIATIONS:
        return 0
    is_label, is_loud = _is_label(text, word), said.isupper() and len(said) > 2
    if _HUMPED.fullmatch(said) or is_label != is_loud:
        return _SURE
    if following is not None and _AND.fullmatch(text, word.end(), following.start()):
        return _SURE
    return _LIKELY if DOES_SOMETHING.match(text, word.end()) else 0


def _is_label(text: str, word: re.Match[str]) -> bool:
    return text.startswith(":", word.end()) and not text.startswith("://", word.end())


def _named(text: str, run: list[re.Match[str]], proof: int) -> list[tuple[str, int]]:
    while run and (run[0].group().lower().rstrip(".") in TITLES or run[0].group().lower() in NEVER):
        run = run[1:]
    while run and run[-1].group().lower() in NEVER:
        run = run[:-1]
    if not run or (len(run) == 1 and _is_no_name(run[0].group())):
        return []
    name = text[run[0].start() : run[-1].end()].removesuffix("'s").removesuffix("’s")
    return [(name, proof)] if 1 < len(name) <= _MAX_LENGTH else []


def _is_no_name(word: str) -> bool:
    return word.lower() in ABBREVIATIONS or word.partition("-")[0] in NUMBERED_WORDS


def _opens_sentence(text: str, start: int) -> bool:
    """Return whether a place begins a sentence: only marks and spaces separate it from an end or the top."""
    before = text[max(0, start - _LOOK_BACK) : start]
    for letter in reversed(before):
        if letter in _SENTENCE_ENDS:
            return not _NOT_AFTER_TITLE.search(before)
        if letter not in _BETWEEN_SENTENCES and not letter.isspace():
            return False
    return start <= _LOOK_BACK


NEVER = frozenset(
    (
        "i i'm i've i'd i'll ok okay am pm monday tuesday wednesday thursday friday saturday sunday mondays "
        "tuesdays wednesdays thursdays fridays saturdays sundays january february march april may june july august "
        "september october november december jan feb mar apr jun jul aug sep sept oct nov dec mon tue wed thu fri "
        "sat sun the a an and but or so if then when what why how who where yes no hey hi hello thanks thank wow "
        "oh well yeah this that these those it he she they we you my your his her its our their mum mom dad "
        "english french german spanish italian portuguese dutch danish swedish norwegian finnish polish czech "
        "greek turkish russian ukrainian chinese japanese korean arabic hebrew hindi latin american british "
        "european african asian australian canadian mexican brazilian indian irish scottish welsh swiss austrian "
        "belgian christian muslim jewish buddhist easter christmas"
    ).split()
)
TITLES = frozenset(
    "mr mrs ms miss dr prof professor sir madam president chancellor king queen uncle aunt auntie captain judge".split()
)
# At the start of a sentence these are no part of a name that follows.
OPENERS = frozenset(
    (
        "about above according across after afterwards again against all almost along already also although always "
        "among another any anybody anyone anything anyway are aren't around as ask at back be because been before "
        "behind being below beside besides best better between beyond both bring buy by call called can can't "
        "check come could dear did didn't do does doesn't don't done down during each either else even every "
        "everybody everyone everything except few find finally first for former from get give go good great had "
        "half has have haven't having here honestly in indeed inside instead into is isn't just keep last later "
        "least less let let's like long look looking make many maybe meanwhile meet met might mine more most much "
        "must near need neither never new next nobody none nor not nothing now nowhere of off often old on once "
        "one only open or other others ours out outside over own past per perhaps please put quite rather read "
        "really remember remind renamed same say see send set several shall should show since some somebody "
        "someone something sometimes somewhere sorry soon start still stop such sure take tell than their them "
        "there therefore thereby they though through throughout thus till to today together told tomorrow tonight "
        "too toward towards try twice two under unless unlike until up upon us use using usually very via visit "
        "wait want was wasn't watch way were weren't what whatever whenever whether which while whoever whole whom "
        "whose will with within without work would write wrote yesterday yet todo fixme note notes warning error "
        "important info debug decision update question answer reminder summary user assistant system human tool"
    ).split()
)
# First names that are words as well.
FIRST_NAMES = frozenset("will mark bill grace rose hope faith frank rich rob drew sue pat jack may april june".split())
CONTRACTED = frozenset(
    (
        "it's that's what's who's where's when's how's why's here's there's let's he's she's this's one's "
        "everyone's everything's nothing's today's tomorrow's yesterday's tonight's"
    ).split()
)
ABBREVIATIONS = frozenset(
    (
        "pdf url uri api asap fyi tbd tba eta faq html css json xml yaml csv sql http https ftp ssh tls ssl dns ip "
        "tcp udp cpu gpu ram ssd hdd usb wifi vpn ui ux id ids db os pc tv cd dvd ceo cto cfo hr pr qa mr pm am ok "
        "todo fixme nb ps ie eg etc aka diy gps sms pin atm vat rgb utc gmt cet est pst sdk cli gui ide ci cd mvp "
        "kpi okr poc rfc ascii utf mot pto lol omg btw imo imho brb ama gif png jpg jpeg svg zip ok. re cc bcc "
        "iban bic"
    ).split()
)
DOES_SOMETHING = re.compile(
    r" (?:is|was|has|had|will|would|can|could|did|does|isn't|wasn't|hasn't|won't|can't|didn't|doesn't|never|"
    r"said|says|asked|asks|told|tells|thinks|thought|wants|wanted|likes|liked|loves|hates|knows|knew|went|came|left|"
    r"made|makes|took|takes|gave|gives|got|gets|works|lives|moved|started|stopped|sent|quit|wrote|called)\b"
)
# With a number behind a hyphen these are no tickets and no hosts.
NUMBERED_WORDS = frozenset(
    "UTF ISO SHA RFC MD COVID top catch mid pre sub non step level grade type part chapter day week year".split()
)
FILE_ENDINGS = frozenset(
    (
        "py pyi ipynb js mjs cjs jsx ts tsx json jsonl yaml yml toml ini cfg conf lock md rst txt csv tsv xml html htm "
        "css scss sql sh bash zsh ps1 rb php go rs c h cc cpp hpp cs java kt swift scala lua pl ex exs env log db "
        "sqlite proto tf pdf png jpg jpeg svg zip gz whl vue svelte gradle service patch diff"
    ).split()
)
LOWER_CASE_PRODUCTS = re.compile(
    r"(?<![\w./@-])(?:systemd|numpy|pandas|scipy|pytest|npm|pnpm|yarn|pip|nginx|redis|sqlite|postgres|mysql|kubectl|"
    r"docker|git|tmux|vim|emacs|curl|ffmpeg|pytorch|tensorflow|scikit-learn|matplotlib|webpack|eslint|mypy|ruff|grpc|"
    r"kafka|rabbitmq|celery|fastapi|openssl|bash|zsh|homebrew)(?![\w/@-]|\.\w)"
)
