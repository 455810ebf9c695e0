"""One line of input: a message for the SDK, or what a line that is none is answered with. Pure.

The SDK drops what it cannot parse, and its client waits for ever. Here each such line gets the error that JSON-RPC
has for it, with its id where one can be found. Only what is no plain request is looked at a second time.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    ErrorData,
    JSONRPCError,
    JSONRPCMessage,
    JSONRPCRequest,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from memsweep.model.checks import MOST_VALUES
from memsweep.model.text import MAX_ECHO, clipped, lone_surrogate
from memsweep.model.visible import visible

MAX_LINE_BYTES = 64 * 1024 * 1024  # the longest text, with every byte of it escaped
_DATA_ECHO = 40  # beside the message, which repeats the same
MAX_BATCH = 100  # beyond, a batch gets one answer and not one for each
TOO_MANY_VALUES = f"the message has more than {MOST_VALUES:,} values. Send it in parts."
_HEAD, _TAIL = 1 << 16, 1 << 8  # where the id of a broken line is looked for
# A text that does not end goes to the end of the line: nothing is looked at twice.
_TOKEN = re.compile(r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)|[{}\[\],:]|[^\s"{}\[\],:]++', re.DOTALL)
_STRUCTURE = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{\[,]', re.DOTALL)


def has_too_many_values(raw: bytes) -> bool:
    """Return whether JSON has so many values that reading it would hold up everybody else for seconds.

    Text is skipped; most messages have few enough even with the commas in their texts.
    """
    if sum(map(raw.count, (b"{", b"[", b","))) <= MOST_VALUES:
        return False
    marks = (found for found in _STRUCTURE.finditer(raw) if raw[found.start()] != ord('"'))
    return next(islice(marks, MOST_VALUES, None), None) is not None


@dataclass(frozen=True, slots=True)
class LongLine:
    """A line beyond the limit; what lies between its two ends was not kept."""

    head: bytes
    tail: bytes

    @staticmethod
    def of(line: bytes) -> LongLine:
        return LongLine(line[:_HEAD], line[-_TAIL:])

    def then(self, more: bytes) -> LongLine:
        return LongLine(self.head, (self.tail + more[-_TAIL:])[-_TAIL:])


@dataclass(frozen=True, slots=True)
class Refused:
    """A line that is no message: why, for the log, and the lines that answer it, which a notification has none of."""

    why: str
    answers: tuple[str, ...] = ()


def read_line(line: bytes | LongLine) -> JSONRPCMessage | Refused:
    """Return the message of a line, or its refusal."""
    if isinstance(line, LongLine):
        why = f"the line is longer than {MAX_LINE_BYTES:,} bytes."
        return _refused(INVALID_REQUEST, why, _find_id(line.head, line.tail))
    if has_too_many_values(line):
        return _refused(INVALID_REQUEST, TOO_MANY_VALUES, _find_id(line))
    try:
        message = jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError as error:
        return _look_closer(line, None, error)
    # The SDK takes a request whose id is null or a fraction for a notification, which is not answered.
    return message if isinstance(message, JSONRPCRequest) else _look_closer(line, message, None)


def write_line(message: JSONRPCMessage) -> str:
    """A message as it is sent; an error repeats only so much of what was asked."""
    if isinstance(message, JSONRPCError):
        message = JSONRPCError(jsonrpc="2.0", id=message.id, error=_brief(message.error))
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True)
    except PydanticSerializationError:
        return _error(INTERNAL_ERROR, "the answer cannot be written as JSON.", getattr(message, "id", None))


def _brief(error: ErrorData) -> ErrorData:
    data = error.data
    if isinstance(data, dict):
        data = {name: _brief_value(value) for name, value in data.items()}
    brief = {"code": error.code, "message": _brief_value(error.message, MAX_ECHO), "data": _brief_value(data)}
    return ErrorData(**{name: brief[name] for name in error.model_fields_set})


def _brief_value(value: Any, room: int = _DATA_ECHO) -> Any:
    from memsweep.secrets.find import redacted  # late: a server starts without its patterns

    return clipped(visible(redacted(value)[0]), room) if isinstance(value, str) else value


def _look_closer(
    line: bytes, message: JSONRPCMessage | None, error: ValidationError | None
) -> JSONRPCMessage | Refused:
    if not line.strip():
        return Refused("an empty line")
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as broken:
        why = f"the line is not UTF-8: byte 0x{line[broken.start]:02x} at position {broken.start}."
        return _refused(PARSE_ERROR, why, _find_id(line))
    except (ValueError, RecursionError):
        return _refused(PARSE_ERROR, _complaint(error), _find_id(line))
    if isinstance(value, list):
        return _batch(value)
    if not isinstance(value, dict):
        return _refused(INVALID_REQUEST, "a message is a JSON object.", None)
    return _object(value, message, error, line)


def _object(
    value: dict[str, Any], message: JSONRPCMessage | None, error: ValidationError | None, line: bytes
) -> JSONRPCMessage | Refused:
    is_notification = "id" not in value
    number = value.get("id")
    if "method" not in value and ("result" in value or "error" in value):
        return message or _broken_answer(number)
    if wrong := _wrong_envelope(value):
        return _refused(INVALID_REQUEST, wrong, number)
    wrong = _wrong_params(value)
    if is_notification:  # which is never answered
        return Refused(wrong) if wrong else message or Refused(_complaint(error))
    if wrong:
        return _refused(INVALID_PARAMS, wrong, number)
    if lone_surrogate(value):  # in the arguments of a tool, which names the one that has it
        return JSONRPCRequest.model_validate(value)
    return _refused(PARSE_ERROR, _complaint(error), _find_id(line))


def _broken_answer(number: Any) -> JSONRPCMessage | Refused:
    """Whoever waits for this answer hears that it is broken; an answer is not answered."""
    if not _is_id(number) or lone_surrogate(number):
        return Refused("an answer to nothing that was asked")
    return JSONRPCError(
        jsonrpc="2.0", id=number, error=ErrorData(code=INVALID_REQUEST, message="the client's answer has no form.")
    )


def _wrong_envelope(value: dict[str, Any]) -> str:
    if value.get("jsonrpc") != "2.0":
        return 'jsonrpc must be "2.0".'
    if not isinstance(value.get("method"), str):
        return "method must be text."
    if "id" in value and not _is_id(value["id"]):
        return "id must be text or a whole number."
    if found := lone_surrogate({name: value.get(name) for name in ("id", "method")}):
        return f"{found.sentence} {found.hint}"
    return ""


def _wrong_params(value: dict[str, Any]) -> str:
    params = value.get("params")
    if not isinstance(params, dict | None):
        return "params must be an object."
    if not params:
        return ""
    others = {name: each for name, each in params.items() if value["method"] != "tools/call" or name != "arguments"}
    found = lone_surrogate(others)
    return f"{found.sentence} {found.hint}" if found else ""


def _batch(messages: list[Any]) -> Refused:
    why = "batches are not accepted; send each message on a line of its own."
    numbers = [each["id"] for each in messages[: MAX_BATCH + 1] if isinstance(each, dict) and "id" in each]
    if not numbers or len(messages) > MAX_BATCH:
        return _refused(INVALID_REQUEST, why, None)
    return Refused(why, tuple(_error(INVALID_REQUEST, why, number) for number in numbers))


def _complaint(error: ValidationError | None) -> str:
    """Return the parser's complaint, which repeats nothing of the line."""
    if error is None:
        return "the line is not valid JSON."
    first = error.errors(include_url=False, include_input=False)[0]
    reason = str(first.get("ctx", {}).get("error", first["msg"]))
    if reason.startswith("recursion limit"):
        return "the line is nested too deeply; at most 199 levels are accepted."
    return f"the line is not valid JSON: {reason[:MAX_ECHO]}."


def _refused(code: int, why: str, number: Any) -> Refused:
    return Refused(why, (_error(code, why, number),))


def _error(code: int, why: str, number: Any) -> str:
    """A number with a fraction is no id in this protocol, but its sender knows it again."""
    known = number if isinstance(number, str | int | float) and not isinstance(number, bool) else None
    return json.dumps({"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": why}})


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _find_id(line: bytes, tail: bytes = b"") -> Any:
    """The id of a line that cannot be parsed, from its first or its last members."""
    found = _id_in_head(line[:_HEAD].decode("utf-8", "replace"))
    return _id_in_tail((tail or line)[-_TAIL:].decode("utf-8", "replace")) if found is None else found


def _id_in_head(text: str) -> Any:
    """The value of the member `id` of the object that the text begins with."""
    depth, before, key = 0, "", ""
    for found in _TOKEN.finditer(text.removeprefix("\ufeff")):
        token = found.group()
        if depth == 1 and key == '"id"' and before == ":":
            return _scalar(token) if found.end() < len(text) else None  # it may go on
        if depth == 1 and before in ("{", ","):
            key = token
        depth += (token in ("{", "[")) - (token in ("}", "]"))
        if depth <= 0:
            return None
        before = token
    return None


def _id_in_tail(text: str) -> Any:
    """The same where nothing but simple members follow: then the rest alone is an object, too."""
    start = len(text)
    while (start := text.rfind('"id"', 0, start)) >= 0:
        rest = _loaded("{" + text[start:])
        if isinstance(rest, dict):
            return rest["id"]
    return None


def _scalar(token: str) -> Any:
    value = _loaded(token)
    return value if isinstance(value, str | int | float) else None


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
