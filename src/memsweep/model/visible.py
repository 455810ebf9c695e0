"""Text as a model, a terminal or a page may show it: nothing in it hides, gives orders or is fetched. Pure.

What has been shown comes out the same when it is shown again, so nothing piles up in a text that a model reads and
writes back. Whoever needs the exact text has the library, an export, or `--json`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ud800-\udfff\ufdd0-\ufdef\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_SIGN = "[^\x00-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\U000e0000-\U000e0fff]"
_PICTOGRAPH = "[\u2049-\u3299\U0001f000-\U0001faff]"
# What makes one sign of several, and stays: joiners in emoji, and in scripts that join letters; a variant of the sign
# before it, of the few that fonts have; the flags of England, Scotland and Wales.
_PART_OF_A_SIGN = "|".join(
    (
        f"(?<={_PICTOGRAPH})\u200d(?={_PICTOGRAPH})",
        f"(?<=\ufe0f)\u200d(?={_PICTOGRAPH})",
        "(?<=[\u0620-\u08ff\u0900-\u0dff\u1000-\u109f\u1780-\u17b3])[\u200c\u200d](?![\u200c\u200d])",
        f"(?<={_SIGN})[\ufe00-\ufe02\ufe0e\ufe0f]|(?<=[#*0-9])\ufe0f(?=\u20e3)|(?<=[\u1820-\u18aa])[\u180b-\u180f]",
        "(?<=[\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff])[\U000e0100-\U000e010f]",
        "(?<=\U0001f3f4)\U000e0067\U000e0062(?:\U000e0065\U000e006e\U000e0067|\U000e0073\U000e0063\U000e0074"
        "|\U000e0077\U000e006c\U000e0073)\U000e007f",
    )
)
_ANY_UNSEEN = re.compile(f"[\r{_UNSEEN}]")
_EACH_UNSEEN = re.compile(f"({_PART_OF_A_SIGN})|[{_UNSEEN}]|\r(?!\n)")
# What HTML fetches by itself, but for what has no more than a path and is closed.
_FETCHED = (
    r"\s{0,9}(?:img|image|picture|source|video|audio|track|i?frame|embed|object)\b"
    r"(?!(?:[^<>\"':&\\/]|/(?!/)|\"(?:[^<>\":&\\/]|/(?!/))*\"|'(?:[^<>':&\\/]|/(?!/))*')*+>)"
)
# How a tag begins, with its name, and whether that is all; a picture in HTML from elsewhere; marks of other models.
_TAG = re.compile(
    rf"<(?={_FETCHED}[\s/])|<(?=[|\uff5c][^\s<>|\uff5c]{{1,60}}[|\uff5c]>|</?SYS>>)"
    r"|\[(?=/?(?:INST|TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|SYSTEM_PROMPT)\])"
    r"|[<\uff1c\ufe64](?=\s{0,9}/?\s{0,9}(permissions\s{1,9}instructions|[^\W\d_][^\s<>/=\"'`(){}\[\],;|]{0,63})(\s{0,9}>)?)",
    re.IGNORECASE,
)
# Names of tags to which clients and models give a meaning, by their letters alone.
_OBEYED = frozenset(
    "invoke functioncalls functioncall functionresults functionresult toolcall toolcalls tooluse toolresult toolresults"
    " toolresponse tooloutput toolerror tooluseerror systemreminder systemprompt systemmessage systemnotification"
    " systeminstruction systeminstructions userinstructions skillsinstructions custominstructions"
    " permissionsinstructions userquery usermessage usermemoryinput userpromptsubmithook sessionstarthook"
    " sessionendhook pretoolusehook"
    " posttoolusehook precompacthook stophook subagentstophook notificationhook commandname commandmessage commandargs"
    " bashinput bashstdout bashstderr ideselection ideopenedfile idediagnostics newdiagnostics tasknotification"
    " taskreminder teammatemessage environmentcontext environmentdetails turnaborted persistedoutput startofturn"
    " endofturn".split()
)
_OBEYED_FAMILIES = ("antml", "memsweepmemory", "localcommand")
_OBEYED_ALONE = ("system", "assistant")
# Where a picture would be fetched from another place: any destination that is more than a path, named here or below.
_ELSEWHERE = r"[\s<]*+(?!data:)[^\s)>]{0,64}?(?::|//|\\|&)"
_DESTINATION = re.compile(rf"\]\({_ELSEWHERE}", re.IGNORECASE)
_NAME = r"\[((?:[^\[\]\\]|\\.){1,999}+)\]"
_DEFINITION = re.compile(rf"^[ \t>*+-]{{0,20}}{_NAME}:{_ELSEWHERE}", re.IGNORECASE | re.MULTILINE | re.DOTALL)
_LABEL = re.compile(rf"(?<=[!\]]){_NAME}", re.DOTALL)
_BLANK_LINES = re.compile(r"(\n[ \t\r]*\n)")


def visible(text: str) -> str:
    """The text with everything in it shown: signs that nobody sees, tags that clients obey, pictures from elsewhere."""
    return _without_pictures(_TAG.sub(_without_tag, written_out(text)))


def visible_in(value: Any) -> Any:
    """The same in every text of an answer, names included."""
    match value:
        case str():
            return visible(value)
        case Mapping():
            return {visible_in(name): visible_in(each) for name, each in value.items()}
        case list() | tuple():
            return [visible_in(each) for each in value]
    return value


def _named(sign: str) -> str:
    return f"[U+{ord(sign):04X}]"


def written_out(text: str, write: Callable[[str], str] = _named) -> str:
    """The text with each sign that nobody sees, or that turns its neighbours round, written in its place."""
    if not _ANY_UNSEEN.search(text):
        return text
    return _EACH_UNSEEN.sub(lambda found: found[1] or write(found[0]), text)


def escaped_in_json(text: str) -> str:
    """JSON that says the same, in which such signs are escaped."""
    return written_out(text, _escaped)


def _escaped(sign: str) -> str:
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _without_tag(found: re.Match[str]) -> str:
    name, alone = found.groups()
    return found[0] if name is not None and not _is_obeyed(name, alone is not None) else _named(found[0])


def _is_obeyed(name: str, alone: bool) -> bool:
    plain = unicodedata.normalize("NFKD", name).casefold()
    letters, own = ("".join(filter(str.isalnum, each)) for each in (plain, plain.rpartition(":")[2]))
    is_one = letters in _OBEYED or own in _OBEYED or letters.startswith(_OBEYED_FAMILIES)
    return is_one or (alone and letters in _OBEYED_ALONE)


def _without_pictures(text: str) -> str:
    """Markdown in which a picture from elsewhere is a text."""
    if "![" not in text:
        return text
    labels = {_key(found[1]) for found in _DEFINITION.finditer(text)}

    def shown(paragraph: str) -> str:
        ends = [found.start() for found in _DESTINATION.finditer(paragraph)]
        if labels:
            ends += [found.start() for found in _LABEL.finditer(paragraph) if _key(found[1]) in labels]
        last = max(ends, default=-1) + 1
        return paragraph[:last].replace("![", "!\\[") + paragraph[last:]

    return "".join(map(shown, _BLANK_LINES.split(text)))


def _key(label: str) -> str:
    return " ".join(label.casefold().split())
