"""Other readings of a text for the same rules: without its escapes, and with names beside their values. Pure.

A secret that is found in a reading is mapped back, so that exactly its place in the text is redacted.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import accumulate
from typing import NamedTuple
from urllib.parse import unquote

PASSWORDS = tuple(
    "password|passwd|passphrase|pass phrase|passcode|pswd|pwd|passwort|kennwort|wachtwoord|lösenord|adgangskode|passord"
    "|salasana|contraseña|contrasenya|mot de passe|parola d'ordine|parola d’ordine|parola|senha|palavra-passe|hasło"
    "|heslo|jelszó|parool|şifre|lozinka|mật khẩu|kata sandi|kata laluan".split("|")
)
"""In letters that an English rule reads, too."""
OTHER_PASSWORDS = (
    *("пароль", "Пароль", "ПАРОЛЬ", "парола", "лозинка", "κωδικός", "Κωδικός", "συνθηματικό"),
    *("密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "패스워드", "비번"),
    *("كلمة المرور", "كلمة السر", "رمز عبور", "סיסמה", "סיסמא", "पासवर्ड", "รหัสผ่าน"),
)
OTHER_KEYS = (
    *("ключ API", "ключ api", "API-ключ", "Токен", "токен", "Секрет", "секрет", "密钥", "密鑰", "金鑰", "令牌"),
    *("シークレット", "トークン", "APIキー", "토큰", "비밀키", "API 키", "مفتاح API"),
)
KEYS = ("key", "token", "secret", "credentials", "creds", "auth")
WHICH_KEY = (
    "api access secret private auth encryption signing master account license service session deploy consumer"
    " storage shared subscription application app client bot webhook admin write root host function ssh"
).split()
"""`key` alone is the key of a table."""

SERVICES = (
    "adafruit airtable algolia alibaba aliyun artifactory asana assemblyai atlassian auth0 aiven beamer"
    " bitbucket bitly bittrex browserstack cloudflare cloudinary codecov cohere coinbase confluent"
    " contentful coveralls databento datadog deepgram discord disqus droneci dropbox etsy facebook fastly"
    " finicity finnhub flickr freshbooks gitea gitter gocardless greptile gumroad heroku hubspot influxdb"
    " intercom jfrog kagi klaviyo kraken kucoin launchdarkly linkedin looker mailchimp mailgun mapbox"
    " mattermost meraki messagebird mistral netlify newrelic new-relic nytimes okta ollama openweather"
    " pagerduty pinecone plaid postmark private-ai rapidapi scaleway sendbird sentry snyk squarespace"
    " sumologic telegram travis trello twitch twitter vercel virustotal wandb weatherstack yandex zendesk"
    " zoho"
).split()
"""Those who give keys that no form of their own tells from other words."""
SERVICE = "|".join(SERVICES)

PASSWORD = rf"(?:{'|'.join(PASSWORDS)})"
_SOME_KEY = "|".join(f"(?<={which}key)|(?<={which}[ _.-]key)" for which in WHICH_KEY)
_NO_SECRET = "".join(f"(?<!{which}token)(?<!{which}[_-]token)" for which in ("csrf", "xsrf", "public", "page"))
KEY = rf"(?:token{_NO_SECRET}|secret|credentials|creds|auth(?=[\"'])|key(?:{_SOME_KEY}))"


def small_letters(text: str) -> str:
    """Only those of ASCII: the others may become longer, and then nothing stands where it stood."""
    return text.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


_SHORT = ("pass", "pswd", "pw", "cred", "key", "token", "secret")
NAMES = tuple(map(small_letters, (*_SHORT, *PASSWORDS[7:], *OTHER_PASSWORDS, *OTHER_KEYS)))
"""What a text must hold one of for a table of its cells."""
PASSWORD_COLUMN = re.compile(
    rf"(?i)[\w ./-]{{0,40}}?(?:{PASSWORD}|pass|\bpw|{'|'.join(OTHER_PASSWORDS)})(?:[ _]\w{{1,10}})?"
)
KEY_COLUMN = re.compile(rf"(?i)[\w ./-]{{0,40}}?(?:{KEY}|{'|'.join(OTHER_KEYS)})(?:[ _](?:value|\d))?")


_MOST_LEVELS = 3
"""JSON in JSON in JSON."""
_ESCAPE = re.compile(
    r"\\(?:u[0-9A-Fa-f]{4}|[\"'\\/bfnrt])|%[2-7][0-9A-Fa-f]|&(?:quot|apos|amp|lt|gt|nbsp|#\d{2,5}|#[xX][0-9A-Fa-f]{2,4});"
)
_CONTROL = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_LONGEST_LINE, _LONGEST_NAME = 2000, 60
_AROUND = " \t\r\"'`*,"
_ASCII_NAMES = tuple(filter(str.isascii, NAMES))
_RULER = re.compile(r"[-+|:= \t]+")
_LOOSE = re.compile(r"[ \t]{2,}|\t")
_CSV_HEADER = re.compile(r"\"?[\w ./-]{1,40}\"?(?:[,;][ ]?\"?[\w ./-]{1,40}\"?){1,40}")
_LOOSE_CELL = re.compile(r"\S++(?:[ ]\S++)*+")
_INSERT = re.compile(r"(?i)insert[ ]into[ ][^\s(]{1,80}[ ]?\(([^()\n]{1,1000})\)\s{0,9}values\s{0,9}(?=\()")
_TUPLE = re.compile(r"\(((?:'[^'\n]{0,1000}'|[^'()\n]){1,4000}+)\)[,\s]{0,9}")
_SQL_VALUE = re.compile(r"(?<![ \t])[ \t]*+(?:'[^'\n]*+'|[^,'\n]++)")
_SECRET_KIND = re.compile(r"(?i)\bkind[\"']?:[ \t]{0,4}[\"']?secret\b")
_DATA = re.compile(r"(?m)^([ \t]*)(?:stringData|data):[ \t]*\n((?:\1[ \t]+[^\n]*(?:\n|\Z))+)")
_DATUM = re.compile(r"(?m)^[ \t]+[\w.-]{1,80}:[ \t]+(?:[|>][+-]?[ \t]*\n[ \t]+)?[\"']?([^\s\"'|>#]{4,}+)[\"']?[ \t]*$")
_COOKIE = re.compile(r"(?i)cookies?[\"']?[ \t]{0,3}[:= ,][ \t]{0,3}[\"']?(?=[\w.%-]{1,80}=)")
_CRUMB = re.compile(r"[; ]{0,3}([\w.%-]{1,80})=([^\s;,\"']{0,4000})")
_SESSION = re.compile(r"(?i)sess|sid|auth|tok|jwt|sso|login|remember|csrf|xsrf")


class ReadPiece(NamedTuple):
    """A part of a reading, and where it stands in the text; nowhere, if it was put in."""

    text: str
    start: int = -1
    end: int = -1


class PlainReading:
    """A text made of pieces of another."""

    def __init__(self, pieces: Iterable[ReadPiece], of: PlainReading | None = None) -> None:
        self._pieces = [piece for piece in pieces if piece.text]
        self._of = of
        self.text = "".join(piece.text for piece in self._pieces)
        self._starts = [0, *accumulate(len(piece.text) for piece in self._pieces)]
        self._put_in = [0, *accumulate(piece.start < 0 for piece in self._pieces)]

    def span(self, start: int, end: int) -> tuple[int, int] | None:
        """Return the span of a part of the reading in the text; None if it is not from the text itself."""
        first, last = bisect_right(self._starts, start) - 1, bisect_right(self._starts, end - 1) - 1
        if self._put_in[first] != self._put_in[last + 1]:
            return None
        piece, other = self._pieces[first], self._pieces[last]
        is_as_it_was, other_is = (len(each.text) == each.end - each.start for each in (piece, other))
        span = (
            piece.start + (start - self._starts[first] if is_as_it_was else 0),
            other.start + (end - self._starts[last]) if other_is else other.end,
        )
        return self._of.span(*span) if self._of else span


def readings(text: str, folded: str) -> Iterator[PlainReading]:
    """The readings of a text that differ from it, if it has any; `folded` is the text in small letters."""
    if beside := _beside(text, folded):
        yield PlainReading(beside)
    level: PlainReading | None = None
    for _ in range(_MOST_LEVELS):
        pieces = list(_unescaped(text))
        if not pieces:
            return
        level = PlainReading(pieces, level)
        text = level.text
        yield level
        if beside := _beside(text, small_letters(text)):
            yield PlainReading(beside, level)


def _unescaped(text: str) -> Iterator[ReadPiece]:
    """The lines that hold an escape, without one level of it."""
    position = 0
    while escape := _ESCAPE.search(text, position):
        start = max(text.rfind("\n", position, escape.start()) + 1, position)
        end = text.find("\n", escape.end())
        end = len(text) if end < 0 else end
        yield ReadPiece("\n")
        position = start
        for each in _ESCAPE.finditer(text, start, end):
            yield ReadPiece(text[position : each.start()], position, each.start())
            yield ReadPiece(_meant(each[0]), *each.span())
            position = each.end()
        yield ReadPiece(text[position:end], position, end)
        position = end


def _meant(escape: str) -> str:
    if escape[0] == "&":
        return html.unescape(escape)
    if escape[0] == "%":
        return unquote(escape)
    if escape[1] == "u":
        return chr(int(escape[2:], 16))
    return _CONTROL.get(escape[1], escape[1])


def _beside(text: str, folded: str) -> list[ReadPiece]:
    """`password="…"` for each value that a table, a row, or a list of its own kind calls one."""
    pieces: list[ReadPiece] = []
    for name, start, end in _pairs(text, folded):
        value = text[start:end]
        quote = next((quote for quote in "\"'`" if quote not in value), None)
        if quote:
            pieces += [ReadPiece(f"{name}={quote}"), ReadPiece(value, start, end), ReadPiece(f"{quote}\n")]
    return pieces


def _pairs(text: str, folded: str) -> Iterator[tuple[str, int, int]]:
    if "cookie" in folded:
        for cookies in _COOKIE.finditer(text):
            position = cookies.end()
            while crumb := _CRUMB.match(text, position):
                if _SESSION.search(crumb[1]):
                    yield "token", *crumb.span(2)
                position = crumb.end()
    if "insert into" in folded:
        for insert in _INSERT.finditer(text):
            yield from _inserted(text, insert)
    if any(mark in text for mark in "\n|,;\t"):
        yield from _tables(text, folded)
    if "secret" in folded and "data:" in text and _SECRET_KIND.search(text):
        for block in _DATA.finditer(text):
            for value in _DATUM.finditer(text, *block.span(2)):
                yield "kubernetes_secret", *value.span(1)


def _inserted(text: str, insert: re.Match[str]) -> Iterator[tuple[str, int, int]]:
    """The columns of `INSERT INTO users (name, password) VALUES ('ada', '…')`."""
    columns = [_column(cell) for cell, _, _ in _split(insert[1], ",", 0)]
    position = insert.end()
    while any(columns) and (row := _TUPLE.match(text, position)):
        values = [_cell(text, *each.span()) for each in _SQL_VALUE.finditer(text, *row.span(1))]
        if len(values) == len(columns):
            yield from _values(columns, values)
        position = row.end()


def _tables(text: str, folded: str) -> Iterator[tuple[str, int, int]]:
    """The cells below a column called password, and those beside a row called so."""
    if not (present := [name for name in (_ASCII_NAMES if text.isascii() else NAMES) if name in folded]):
        return
    position = 0
    for place in merge(*(_places(folded, name) for name in present)):
        if place < position:
            continue
        start, end = _line(text, place)
        position = end + 1
        if not (mark := _mark(text[start:end])):
            continue
        header = _split(text[start:end], mark, start)
        columns = [_column(cell) for cell, _, _ in header]
        yield from _second(header)
        while any(columns) and position < len(text):
            start, end = _line(text, position)
            row = _split(text[start:end], mark, start)
            if not _RULER.fullmatch(text, start, end):
                if len(row) != len(header):
                    break
                yield from _values(columns, row)
                if any(name in folded[start:end] for name in present):
                    yield from _second(row)
            position = end + 1


def _places(text: str, word: str) -> Iterator[int]:
    place = text.find(word)
    while place >= 0:
        yield place
        place = text.find(word, place + 1)


def _line(text: str, position: int) -> tuple[int, int]:
    start, end = text.rfind("\n", 0, position) + 1, text.find("\n", position)
    return start, len(text) if end < 0 else end


def _mark(line: str) -> str:
    """Return the mark between the cells of a line; empty if there is none."""
    if len(line) > _LONGEST_LINE:
        return ""
    if "|" in line:
        return "|"
    if _CSV_HEADER.fullmatch(line.strip().rstrip(",;")):
        return ";" if ";" in line else ","
    return "  " if _LOOSE.search(line.strip()) else ""


Cell = tuple[str, int, int]


def _split(line: str, mark: str, start: int) -> list[Cell]:
    if mark == "  ":
        return [_cell(line, *part.span(), start) for part in _LOOSE_CELL.finditer(line)]
    ends = accumulate(len(part) + 1 for part in line.split(mark))
    return [_cell(line, end - len(part) - 1, end - 1, start) for part, end in zip(line.split(mark), ends, strict=True)]


def _cell(text: str, start: int, end: int, offset: int = 0) -> Cell:
    """A cell without its quotes and its emphasis, and where it stands."""
    bare = text[start:end]
    start += len(bare) - len(bare.lstrip(_AROUND))
    bare = bare.strip(_AROUND)
    return bare, offset + start, offset + start + len(bare)


def _column(name: str) -> str:
    if len(name) > _LONGEST_NAME:
        return ""
    return "password" if PASSWORD_COLUMN.fullmatch(name) else "api_key" if KEY_COLUMN.fullmatch(name) else ""


def _values(columns: list[str], cells: list[Cell]) -> Iterator[tuple[str, int, int]]:
    for name, (value, start, end) in zip(columns, cells, strict=True):
        if name and value and not any(map(str.isspace, value)):
            yield name, start, end


def _second(row: list[Cell]) -> Iterator[tuple[str, int, int]]:
    """The cell beside the first one, if that is its name."""
    first, *others = [cell for cell in row if cell[0]] or [("", 0, 0)]
    return _values([_column(first[0])], others[:1]) if others else iter(())
