"""One entry of a configuration file is changed, and every other byte stays."""

import json

import pytest

from memsweep.clients import editing
from memsweep.clients.editing import CannotEdit

AT = ("mcpServers", "memsweep")
ENTRY = {"command": "/bin/memsweep", "args": ["serve"]}
COMMENTED = """// servers
{
    "theme": "dark", // mine
    /* all
       of them */
    "mcpServers": {
        "other": {"command": "x", "url": "http://a//b"}, // keep
    },
}
"""
FILES = [
    "{}",
    "{ }\n",
    '{"a": 1}',
    '{"mcpServers": {}}',
    '{\n\t"mcpServers": {\n\t\t"other": {"command": "x"}\n\t}\n}\n',
    '{\r\n  "a": [1, {"mcpServers": 5}]\r\n}\r\n',
    '\ufeff{"a": "b\\"c"}',
    COMMENTED,
]


@pytest.mark.parametrize("text", FILES)
def test_an_entry_is_added_and_taken_away_and_nothing_else_moves(text: str) -> None:
    before = editing.parse_json(text)
    after = editing.set_member(text, AT, ENTRY)
    assert editing.parse_json(after) == {**before, "mcpServers": {**before.get("mcpServers", {}), "memsweep": ENTRY}}
    assert [line for line in text.splitlines() if "//" in line and line in after] == [
        line for line in text.splitlines() if "//" in line
    ]
    gone = editing.parse_json(editing.drop_member(after, AT))
    assert gone == {**before, "mcpServers": before.get("mcpServers", {})}


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "mcpServers": {\n    // none yet\n  }\n}\n',
        '{\r\n  "mcpServers": {\r\n    "a": 1\r\n  }\r\n}\r\n',
        '{\n "mcpServers": {\n  "a": 1, // first\n  "b": 2 // second\n  /* end */\n }\n}',
        '{\n "mcpServers": {\n  "a": 1, // first\n  "b": 2, // second\n  /* end */\n }\n}',
        '{"mcpServers": {"a": {} /* last */ }}',
        '{"mcpServers": {"a": 1, // x\n}}',
        COMMENTED,
    ],
)
def test_what_was_added_is_taken_away_to_the_byte(text: str) -> None:
    assert editing.drop_member(editing.set_member(text, AT, ENTRY), AT) == text


def test_comments_around_an_entry_stay() -> None:
    added = editing.set_member('{"mcpServers": { /* none yet */ }}', AT, ENTRY)
    assert "/* none yet */" in added
    followed = added.replace('"memsweep": {', '"memsweep": { // ours').replace("}\n  }}", '}, /* mine */ "z": 1}}')
    gone = editing.drop_member(followed, AT)
    assert "/* none yet */" in gone
    assert "/* mine */" in gone
    assert editing.parse_json(gone) == {"mcpServers": {"z": 1}}


def test_an_entry_that_is_there_is_replaced_where_it_stands() -> None:
    text = '{"mcpServers": {"memsweep": {"command": "old"}, "z": {}}, "b": 1}'
    after = editing.set_member(text, AT, ENTRY)
    assert list(json.loads(after)["mcpServers"]) == ["memsweep", "z"]
    assert json.loads(after)["mcpServers"]["memsweep"] == ENTRY
    assert editing.drop_member('{"a": 1}', AT) == '{"a": 1}'


def test_an_empty_file_becomes_one_with_the_entry() -> None:
    assert json.loads(editing.set_member("", AT, ENTRY)) == {"mcpServers": {"memsweep": ENTRY}}


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "5",
        '{"mcpServers": []}',
        '{"mcpServers": {}, "mcpServers": {"a": 1}}',
        "{'a': 1}",
        "// only a comment",
        "[" * 5000,
        '{"a": "unfinished',
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        editing.set_member(text, AT, ENTRY)


TOML = """# mine
model = "o4"   # a comment

[mcp_servers.other]
command = "x"

[profiles.fast]
model = "mini"
"""
TABLE = ("mcp_servers", "memsweep")


@pytest.mark.parametrize("text", ["", "\n", 'model = "x"', TOML, TOML.replace("\n", "\r\n")])
def test_a_table_is_appended_and_taken_away_and_nothing_else_moves(text: str) -> None:
    after = editing.set_table(text, TABLE, ENTRY)
    assert after.startswith(text)
    assert editing.parse_toml(after)["mcp_servers"]["memsweep"] == ENTRY
    gone = editing.drop_table(after, TABLE)
    assert editing.parse_toml(gone) == editing.parse_toml(text)
    assert gone.strip() == text.strip(), "with its line breaks"


def test_a_table_in_the_middle_leaves_every_other_byte() -> None:
    text = TOML.replace("\n", "\r\n")
    ours = '[mcp_servers.memsweep]\r\ncommand = "x"\r\n\r\n'
    assert editing.drop_table(text.replace("[profiles", f"{ours}[profiles"), TABLE) == text


def test_a_table_that_is_there_is_replaced_with_the_tables_below_it() -> None:
    text = TOML + '\n[mcp_servers.memsweep]\ncommand = "old"\n[mcp_servers.memsweep.env]\nA = "1"\n[last]\nx = 1\n'
    entry = {**ENTRY, "env": {"A": "1"}}
    after = editing.set_table(text, TABLE, entry)
    assert editing.parse_toml(after)["mcp_servers"]["memsweep"] == entry
    assert editing.parse_toml(after)["last"] == {"x": 1}
    assert "# a comment" in after


@pytest.mark.parametrize(
    "text",
    [
        "mcp_servers = 5",
        'mcp_servers = { other = { command = "x" } }',
        'mcp_servers.memsweep.command = "old"',
        "broken = ",
        'text = """\n[mcp_servers.memsweep]\n"""\nmcp_servers.memsweep.command = "x"',
    ],
)
def test_a_file_whose_tables_have_another_form_is_refused(text: str) -> None:
    with pytest.raises(CannotEdit):
        editing.set_table(text, TABLE, ENTRY)
