"""No input makes a call slow: its time grows as n log n with every argument, event and file, or less.

What is tried doubles twice, twice (`inputs.grows`); in a soak texts are large and full of everything.
"""

import itertools
import json
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from memsweep.adopt import notes
from memsweep.app import App, Memory
from memsweep.clients import editing
from memsweep.code.extract import extract
from memsweep.code.gitignore import Patterns
from memsweep.code.gitindex import parse_index
from memsweep.code.index import is_secret_text
from memsweep.code.markdown import parse_markdown
from memsweep.code.parse import load_grammar, symbols_by_ast
from memsweep.code.relations import relations
from memsweep.code.rules import RULES
from memsweep.context.messages import sweep_messages
from memsweep.context.supersede import find_replacements
from memsweep.errors import MemsweepError
from memsweep.graph.building import BuildOptions, Named, possible_names, read_facts
from memsweep.hooks.event import edited_files, read_event
from memsweep.hooks.prompting import asked
from memsweep.memory.names import find_names
from memsweep.memory.remember import cut, line_spans
from memsweep.model.checks import MAX_ITEMS, MOST_BYTES, MOST_OTHER_BYTES, within_limits
from memsweep.model.segment import ContextSegment
from memsweep.model.stating import stated
from memsweep.project.locate import read_project_file
from memsweep.server.app import tool_rows
from memsweep.server.envelope import read_line
from memsweep.store.texts import forgotten_hash
from tests.growth.inputs import EVERYTHING, FULL_OF, grows, text_of
from tests.support.counts import THOROUGH

SIZE = 100_000 if THOROUGH else 24_000
COUNT = 8_000 if THOROUGH else 800
_number = itertools.count(1)
pytestmark = [pytest.mark.slow, pytest.mark.soak]


def refused_or_done(call: Callable[[], object]) -> Callable[[], None]:
    def tried() -> None:
        with suppress(MemsweepError):
            call()

    return tried


def slow_texts(use: Callable[[str], object], most: int = SIZE, kinds: Sequence[str] = FULL_OF) -> list[str]:
    """Which texts a use of them is slow with."""

    def make(kind: str, size: int) -> Callable[[], object]:
        text = text_of(kind, size, next(_number))
        return refused_or_done(lambda: use(text))

    found = ((kind, grows(partial(make, kind), min(SIZE, most))) for kind in kinds)
    return [f"full of {kind!r}: {slow}" for kind, slow in found if slow]


# Tools -------------------------------------------------------------------------------------------------------------

USUAL: Mapping[str, Any] = {
    "text": "A note of the harbour.",
    "segments": [{"text": "said"}],
    "segment_ids": ["seg_000000000000"],
    "ids": ["Ada", "Grace"],
    "entities": ["Ada"],
    "batch": {"entities": [{"local_id": "a", "name": "Ada"}], "relations": []},
}
SHAPES: Mapping[str, Callable[[str], Any]] = {
    "a text": lambda text: text,
    "a list": lambda text: [text, text],
    "an object": lambda text: {"text": text, "name": text, "path": text, text: 1},
    "objects": lambda text: [{"text": text, "name": text, "from": text, "relation": text, "to": text}],
}


def _thing(number: int) -> dict[str, str]:
    return {"text": f"Text {number}", "name": f"A{number}", "from": "Ada", "relation": f"r{number}", "to": f"B{number}"}


ITEMS: Mapping[str, Callable[[int], Any]] = {
    "texts": lambda count: [f"Alpha{number}" for number in range(count)],
    "the same text": lambda count: ["Alpha1"] * count,
    "objects": lambda count: [_thing(number) for number in range(count)],
    "a batch": lambda count: {
        "entities": [{"local_id": f"A{number}", "name": f"A{number}"} for number in range(count)],
        "relations": [{"from": "A0", "relation": "r", "to": f"A{number}"} for number in range(count)],
    },
    "fields": lambda count: {f"field{number}": f"value {number}" for number in range(count)},
    "levels": lambda count: json.loads("[" * min(count, 900) + "]" * min(count, 900)),
}


@pytest.fixture
def stocked(app: App) -> App:
    memory = app.memory()
    for number in range(20):
        fact = {"from": f"Alpha{number}", "relation": "uses", "to": "Ada"}
        memory.remember(f"Alpha{number} uses Ada at pier {number}.", relations=[fact])
    return app


def arguments_of_tools(app: App) -> Iterator[tuple[str, str, Callable[[Any], object]]]:
    """Every tool with each of its arguments, and a call with something else as that argument."""
    for row in tool_rows(app, "full"):
        code, defaults = row.function.__code__, row.function.__defaults__ or ()
        names = code.co_varnames[: code.co_argcount]
        usual = {name: USUAL.get(name, "x") for name in names[: len(names) - len(defaults)]}
        for name in names:
            if not row.files:  # it reads files, which are tried below

                def use(value: Any, call: Any = row.function, name: str = name, usual: Any = usual) -> None:
                    with suppress(TypeError, ValueError, AttributeError, LookupError):  # its schema refuses these
                        within_limits(name, value)
                        call(**{**usual, name: value})

                yield row.function.__name__, name, use


def test_no_text_in_an_argument_makes_a_tool_slow(stocked: App) -> None:
    kinds = itertools.cycle(FULL_OF)
    slow: list[str] = []
    for tool, name, use in arguments_of_tools(stocked):
        for shape, in_shape in SHAPES.items():
            most = MOST_BYTES.get(name, MOST_OTHER_BYTES)
            some = FULL_OF if most > MOST_OTHER_BYTES and (shape == "a text") != (name == "segments") else [next(kinds)]
            found = slow_texts(lambda text, use=use, into=in_shape: use(into(text)), most, some)
            slow += [f"{tool}({name}) with {shape} {each}" for each in found]
    assert slow == []


def test_no_number_of_items_in_an_argument_makes_a_tool_slow(stocked: App) -> None:
    slow: list[str] = []
    kinds = itertools.cycle(ITEMS)
    for tool, name, use in arguments_of_tools(stocked):
        for kind in ITEMS if THOROUGH else [next(kinds)]:
            make = ITEMS[kind]

            def prepared(size: int, use: Any = use, make: Any = make) -> Callable[[], object]:
                return refused_or_done(partial(use, make(size)))

            for most in {min(MAX_ITEMS, COUNT), COUNT}:
                if found := grows(prepared, most):
                    slow.append(f"{tool}({name}) with {kind}: {found}")
    assert slow == []


# Hooks and messages ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["prompt", "cwd", "session_id", "transcript_path", "patch", "output"])
def test_no_event_of_a_hook_is_slow(stocked: App, field: str) -> None:
    def use(text: str) -> None:
        tool = {"tool_name": "apply_patch", "tool_input": {"patch": f"*** Begin Patch\n{text}"}, "tool_response": text}
        said = {"prompt": "what of the harbour?", "cwd": "/", **tool, **({field: text} if field != "patch" else {})}
        event = read_event("PostToolUse", said)
        edited_files(event)
        if field == "prompt" and (query := asked(event.prompt)):
            stocked.memory().search(query, limit=5)

    assert slow_texts(use) == []


def _talk(count: int, *, anthropic: bool) -> list[dict[str, Any]]:
    """A question, a call and its result, again and again."""
    said: list[dict[str, Any]] = []
    for number in range(count // 3):
        own, path = f"call{number}", {"file_path": f"/a{number % 50}.py"}
        if anthropic:
            call = {"type": "tool_use", "id": own, "name": "Read", "input": path}
            result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": own, "content": "out"}]}
            said += [{"role": "user", "content": "q"}, {"role": "assistant", "content": [call]}, result]
        else:
            call = {"id": own, "type": "function", "function": {"name": "read", "arguments": json.dumps(path)}}
            result = {"role": "tool", "tool_call_id": own, "content": "out"}
            said += [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": [call]}, result]
    return said


def _one_message(count: int) -> list[dict[str, Any]]:
    """All calls in one message, and all results in the next."""
    calls = [{"type": "tool_use", "id": f"call{number}", "name": "Read", "input": {}} for number in range(count)]
    results = [{"type": "tool_result", "tool_use_id": f"call{number}", "content": "out"} for number in range(count)]
    return [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": calls},
        {"role": "user", "content": results},
        *({"role": "user", "content": f"and {number}"} for number in range(count)),
    ]


MESSAGES: Mapping[str, Callable[[int], list[dict[str, Any]]]] = {
    "OpenAI's": partial(_talk, anthropic=False),
    "Anthropic's": partial(_talk, anthropic=True),
    "all in one": _one_message,
}


@pytest.mark.parametrize("talk", MESSAGES.values(), ids=list(MESSAGES))
@pytest.mark.parametrize("budget", [100, 10**9])
def test_no_list_of_messages_is_slow(talk: Callable[[int], list[dict[str, Any]]], budget: int) -> None:
    def make(size: int) -> Callable[[], object]:
        messages = talk(size)
        return lambda: sweep_messages(messages, budget, pinned=range(size))

    assert grows(make, COUNT) == ""


# Texts that are kept ------------------------------------------------------------------------------------------------

NOW = datetime(2026, 11, 16, tzinfo=UTC)


def _replacements(text: str) -> object:
    said = [("note", None, text), ("message", "user", text), ("message", "user", f"actually, it is {text}")]
    return find_replacements(
        [
            ContextSegment(str(number), each, kind, NOW, NOW, role=role)  # type: ignore[arg-type]
            for number, (kind, role, each) in enumerate(said)
        ]
    )


def _facts(text: str) -> object:
    names = [Named(found.name, True) for found in find_names([text])]
    known = {name: name for name in possible_names(text) if len(name) <= 200}
    return read_facts(text, names, known, BuildOptions(related=True))


WORK: Mapping[str, Callable[[str], object]] = {
    "names": lambda text: find_names([text]),
    "chunks": lambda text: line_spans(text, cut(text, App.local_model.token_ends, 512, 50)),
    "replacements": _replacements,
    "facts of a text": _facts,
    "facts that are stated": lambda text: list(stated(text, [("a", "b", "c")])),
    "messages": lambda text: sweep_messages([{"role": "user", "content": text}] * 3, 100),
    "markdown": parse_markdown,
    "what was forgotten": forgotten_hash,
}


@pytest.mark.parametrize("work", WORK)
def test_no_text_that_is_kept_is_slow_to_work_on(work: str) -> None:
    """With everything, also where it is no soak: what each of them reads is nobody's in advance."""
    assert slow_texts(WORK[work], kinds=EVERYTHING) == []


# Files -------------------------------------------------------------------------------------------------------------


def _transcript(count: int) -> str:
    """A session of Claude Code."""
    own, before, lines = next(_number), None, []
    for number, message in enumerate(_talk(count, anthropic=True)):
        line = {"type": message["role"], "uuid": f"u{own}-{number}", "parentUuid": before, "sessionId": "s"}
        before = line["uuid"]
        lines.append(json.dumps({**line, "timestamp": "2026-01-01T00:00:00Z", "message": message}))
    return "\n".join(lines)


def _of_codex(text: str) -> str:
    said = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}
    return json.dumps({"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": said})


def _in_window(memory: Memory, text: str) -> object:
    return memory.context(f"window{next(_number)}").add_transcript(text)


def _pattern(text: str) -> None:
    patterns = Patterns(text.split("\n"))
    for path in ("a", "a/b", "word", "src/key.py", text[:200]):
        patterns.verdict(path, is_folder=False)


def _project_file(folder: Path, text: str) -> None:
    (folder / ".memsweep.toml").write_text(text)
    read_project_file(str(folder))


def _edited(text: str) -> None:
    for whole in (text, f'{{"mcpServers": {{{text}', f'{{"mcpServers": {{}}, "x": {json.dumps(text)}}}'):
        with suppress(MemsweepError, ValueError):
            editing.set_member(whole, ("mcpServers", "memsweep"), {"command": "x"})
        with suppress(MemsweepError, ValueError):
            editing.drop_member(whole, ("mcpServers", "memsweep"))


def _edited_toml(text: str) -> None:
    for whole in (text, f"[mcp_servers.memsweep]\nx = {json.dumps(text)}\n"):
        with suppress(MemsweepError, ValueError):
            editing.set_table(whole, ("mcp_servers", "memsweep"), {"command": "x"})
        with suppress(MemsweepError, ValueError):
            editing.drop_table(whole, ("mcp_servers", "memsweep"))


def _note_of_a_client(text: str) -> None:
    notes.read_note(text.encode())
    notes.read_note(f"---\nname: {text}\n---\n{text}".encode())
    notes.read_entries(text.encode())
    notes.named_paths(text)
    notes.edited_index(text.encode(), ["a.md"], ["- [b](b.md)"])


def _index_of_git(text: str) -> None:
    parse_index(text.encode())
    names = [each.encode() for each in text.split(" ")]
    entries = (struct.pack(">62xH", min(len(each), 4095)) + each + b"\0" * (8 - (64 + len(each)) % 8) for each in names)
    parse_index(struct.pack(">4sII", b"DIRC", 2, len(names)) + b"".join(entries))


def _of_claude(text: str) -> str:
    return json.dumps(
        {"type": "user", "uuid": text[:9], "sessionId": "s", "message": {"role": "user", "content": text}}
    )


def _lines(text: str) -> None:
    read_line(text.encode())
    read_line(json.dumps({"a": text}).encode())


FORMATS: Mapping[str, Callable[[Memory, Path, str], object]] = {
    **{
        f"a graph as {form}": lambda memory, _, text, form=form: memory.graph.load(text, form)
        for form in ("json", "graphml", "cytoscape", "cypher")
    },
    "a graph": lambda memory, _, text: memory.graph.load(text),
    "a session": lambda memory, _, text: _in_window(memory, text),
    "a session of Claude Code": lambda memory, _, text: _in_window(memory, _of_claude(text)),
    "a session of Codex": lambda memory, _, text: _in_window(memory, _of_codex(text)),
    "the rules of git": lambda memory, _, text: _pattern(text),
    "the index of git": lambda memory, _, text: _index_of_git(text),
    "a file of a project": lambda memory, folder, text: _project_file(folder, text),
    "settings in JSON": lambda memory, _, text: _edited(text),
    "settings in TOML": lambda memory, _, text: _edited_toml(text),
    "a note of a client": lambda memory, _, text: _note_of_a_client(text),
    "a text in Markdown": lambda memory, _, text: parse_markdown(text),
    "a secret": lambda memory, _, text: is_secret_text(text),
    "a line of the protocol": lambda memory, _, text: _lines(text),
}


@pytest.mark.parametrize("form", FORMATS)
def test_no_text_makes_a_file_slow_to_read(app: App, tmp_path: Path, form: str) -> None:
    memory = app.memory()
    assert slow_texts(lambda text: FORMATS[form](memory, tmp_path, text)) == []


@pytest.mark.parametrize("language", sorted(RULES))
def test_no_text_makes_a_program_slow_to_read(language: str) -> None:
    """What a grammar itself needs is native code's, and bounded by a worker process that is ended."""
    grammar = load_grammar(language)

    def make(kind: str, size: int) -> Callable[[], object]:
        data = text_of(kind, size, next(_number)).encode()
        captures = grammar.captures(grammar.parse(data))

        def read() -> None:
            found = extract(data, captures, grammar.rules)
            relations(data, found.symbols, found.references, grammar.rules)
            symbols_by_ast(data)

        return read

    kinds = FULL_OF if THOROUGH else FULL_OF[:5]
    assert [f"full of {kind!r}: {slow}" for kind in kinds if (slow := grows(partial(make, kind), SIZE // 8))] == []


def test_no_session_is_slow_to_read(app: App) -> None:
    def make(size: int) -> Callable[[], object]:
        text = _transcript(size)
        return lambda: _in_window(app.memory(), text)

    assert grows(make, COUNT) == ""


@pytest.mark.parametrize("shape", ["a star", "a chain", "one fact"])
@pytest.mark.parametrize("form", ["json", "graphml", "cytoscape", "cypher"])
def test_no_graph_is_slow_to_import(app: App, form: str, shape: str) -> None:
    def make(size: int) -> Callable[[], object]:
        own = next(_number)
        written = app.memory(f"from{own}")
        ends = {"a star": ("Hub", "N{}"), "a chain": ("N{}", "N{}x"), "one fact": ("Hub", "N")}[shape]
        for begin in range(0, size, 400):
            facts = [
                {"from": ends[0].format(each), "relation": f"r{each}", "to": ends[1].format(each)}
                for each in range(begin, min(size, begin + 400))
            ]
            names = sorted({fact[end] for fact in facts for end in ("from", "to")})
            entities = [{"local_id": each, "name": each} for each in names]
            written.graph.relate_many({"entities": entities, "relations": facts})
        text = written.graph.dump(form)
        return lambda: app.memory(f"to{own}").graph.load(text, form)

    assert grows(make, COUNT) == ""


def test_what_grows_too_fast_is_noticed() -> None:
    def make(size: int) -> Callable[[], object]:
        return lambda: [None for _ in range(size) for _ in range(size // 10)]

    assert "times as long" in grows(make, 6000)
