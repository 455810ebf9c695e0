"""The environment over memsweep.toml over the defaults."""

import os
import re
import tomllib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsweep.cli.config import example_file
from memsweep.collector.planner import STRATEGIES
from memsweep.errors import BadInput, BadSetting
from memsweep.model.strategies import RULES
from memsweep.settings import Settings, config_file, load_settings
from tests.support.commands import Ran, memsweep

Run = Callable[..., Ran]


@pytest.fixture
def toml(home: Path) -> Any:
    """Write memsweep.toml and load it, with the environment over it."""

    def load(text: str, **variables: str) -> Settings:
        home.mkdir(exist_ok=True)
        (home / "memsweep.toml").write_text(text, "utf-8")
        return load_settings({"MEMSWEEP_HOME": str(home), **variables})

    return load


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    settings = load_settings({"MEMSWEEP_HOME": str(tmp_path)})
    assert settings.home == tmp_path
    assert (settings.workspace, settings.personal) == ("", "personal")
    assert (settings.embedding.provider, settings.embedding.timeout_seconds) == ("local", 30.0)
    assert (settings.chunking.size, settings.chunking.overlap) == (512, 50)


def test_the_platform_decides_where_memories_live_by_default(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("HOME", str(tmp_path))
    home = load_settings({}).home
    assert home.is_relative_to(tmp_path)
    assert "memsweep" in home.parts
    assert config_file({}).is_relative_to(tmp_path)


def test_the_environment_wins_over_the_file_and_the_file_over_the_defaults(toml: Any) -> None:
    text = 'workspace = "from-file"\n[chunking]\nsize = 100\noverlap = 10\n'
    settings = toml(text, MEMSWEEP_CHUNKING_SIZE="200")
    assert settings.workspace == "from-file"
    assert (settings.chunking.size, settings.chunking.overlap) == (200, 10)
    assert toml(text, MEMSWEEP_WORKSPACE="from-environment").workspace == "from-environment"


def test_an_empty_variable_is_no_setting(toml: Any) -> None:
    assert toml('workspace = "from-file"', MEMSWEEP_WORKSPACE="").workspace == "from-file"


def test_every_setting_can_be_set_in_the_environment(tmp_path: Path) -> None:
    settings = load_settings(
        {
            "MEMSWEEP_HOME": str(tmp_path / "x"),
            "MEMSWEEP_WORKSPACE": "w",
            "MEMSWEEP_LOG_LEVEL": "debug",
            "MEMSWEEP_EMBEDDING_PROVIDER": "openai",
            "MEMSWEEP_EMBEDDING_URL": "https://example.org/v1",
            "MEMSWEEP_EMBEDDING_MODEL": "m",
            "MEMSWEEP_EMBEDDING_API_KEY_ENV": "MY_KEY",
            "MEMSWEEP_EMBEDDING_TIMEOUT_SECONDS": "1.5",
            "MEMSWEEP_CHUNKING_SIZE": "64",
            "MEMSWEEP_CHUNKING_OVERLAP": "32",
            "MY_KEY": "secret",
        }
    )
    assert (settings.home, settings.workspace, settings.log_level) == (tmp_path / "x", "w", "DEBUG")
    assert (settings.embedding.url, settings.embedding.model) == ("https://example.org/v1", "m")
    assert (settings.embedding.timeout_seconds, settings.chunking.size) == (1.5, 64)
    assert settings.api_key == "secret"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("worspace = 'x'", "worspace is unknown"),
        ("[embeding]\nmodel = 'x'", "embeding is unknown"),
        ("[embedding]\nmodell = 'x'", "embedding.modell is unknown"),
        ("api_key = 'sk-1'", "api_key is unknown"),
        ("[embedding]\napi_key = 'sk-1'", "embedding.api_key is unknown"),
        ("workspace = 5", "workspace must be str"),
        ("workspace = ['a']", "workspace must be str"),
        ("workspace = 'Not/Valid'", "the workspace in the settings"),
        ("workspace = 'A b'", "the workspace in the settings"),
        ("log_level = 5", "log_level must be str"),
        ("log_level = 'LOUD'", "log_level 'LOUD' is unknown"),
        ("embedding = 'local'", "embedding must be a table"),
        ("chunking = 5", "chunking must be a table"),
        ("[embedding]\nprovider = 'magic'", "embedding.provider 'magic' is unknown"),
        ("[embedding]\nurl = 'ftp://x'", "embedding.url 'ftp://x' is not an http address"),
        ("[embedding]\ntimeout_seconds = 0", "timeout_seconds"),
        ("[embedding]\ntimeout_seconds = -1", "timeout_seconds"),
        ("[embedding]\ntimeout_seconds = nan", "timeout_seconds"),
        ("[embedding]\ntimeout_seconds = inf", "timeout_seconds"),
        ("[embedding]\ntimeout_seconds = true", "timeout_seconds must be float"),
        ("[embedding]\ntimeout_seconds = 'soon'", "timeout_seconds must be float"),
        ("[chunking]\nsize = 'big'", "chunking.size must be int"),
        ("[chunking]\nsize = 512.7", "chunking.size must be int"),
        ("[chunking]\nsize = true", "chunking.size must be int"),
        ("[chunking]\nsize = 15", "chunking.size 15"),
        ("[chunking]\nsize = 8193", "chunking.size 8193"),
        ("[chunking]\noverlap = 257", "chunking.overlap 257"),
        ("[chunking]\noverlap = -1", "chunking.overlap -1"),
        ("[chunking]\nsize = 2026-01-01", "chunking.size must be int"),
        (
            "[schedule]\nstrategies = ['stale_kode']",
            "schedule.strategies 'stale_kode' is unknown. Use one of: stale_code",
        ),
        ("[schedule]\nstrategies = ['expired', 5]", "schedule.strategies must be a list of strings"),
        (
            "[schedule]\nnotify_command = 'mail \"x'",
            "schedule.notify_command 'mail \"x' is not a valid command (No",
        ),
        ("[schedule]\nnotify_command = 5", "schedule.notify_command must be a list of strings"),
    ],
)
def test_what_is_unknown_or_impossible_is_refused_by_name(toml: Any, text: str, said: str) -> None:
    with pytest.raises(BadInput) as caught:
        toml(text)
    assert said in str(caught.value)
    assert caught.value.exit_status == 2
    assert "sk-1" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("MEMSWEEP_CHUNKING_SIZE", "many"),
        ("MEMSWEEP_CHUNKING_SIZE", "5.5"),
        ("MEMSWEEP_EMBEDDING_TIMEOUT_SECONDS", "soon"),
        ("MEMSWEEP_EMBEDDING_PROVIDER", "magic"),
        ("MEMSWEEP_WORKSPACE", "../../escape"),
        ("MEMSWEEP_LOG_LEVEL", "loud"),
        ("MEMSWEEP_SCHEDULE_STRATEGIES", "expired,stale_kode"),
        ("MEMSWEEP_HOME", "~nobody-of-this-name/x"),
        ("MEMSWEEP_CONFIG", "~nobody-of-this-name/x"),
    ],
)
def test_a_bad_variable_is_refused(home: Path, name: str, value: str) -> None:
    with pytest.raises(BadInput):
        load_settings({"MEMSWEEP_HOME": str(home), name: value})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("['mail', '-s', 'two words']", ("mail", "-s", "two words")),
        ("\"mail -s 'two words' me@example.org\"", ("mail", "-s", "two words", "me@example.org")),
        ("'/usr/bin/notify'", ("/usr/bin/notify",)),
        ("'mail,-s,x'", ("mail", "-s", "x")),
        ("\"'/opt/a, b/notify'\"", ("/opt/a, b/notify",)),
        ("'  '", ()),
    ],
)
def test_a_command_is_a_list_or_one_line_with_its_arguments(toml: Any, text: str, expected: tuple[str, ...]) -> None:
    assert toml(f"[schedule]\nnotify_command = {text}").schedule.notify_command == expected
    variable = {} if text.startswith("[") else {"MEMSWEEP_SCHEDULE_NOTIFY_COMMAND": text[1:-1]}
    assert toml("", **variable).schedule.notify_command == (expected if variable else ())


def test_the_names_of_the_strategies_are_those_of_the_collector() -> None:
    assert set(STRATEGIES) == {*RULES, "origin"}


@pytest.mark.parametrize("broken", [b"workspace = ", b"= x", b"[a\n", b"\xff\xfe", b"a = 1\na = 2", b"\0"])
def test_a_broken_file_is_named(home: Path, broken: bytes) -> None:
    home.mkdir()
    (home / "memsweep.toml").write_bytes(broken)
    with pytest.raises(BadSetting, match=r"memsweep\.toml cannot be read"):
        load_settings({"MEMSWEEP_HOME": str(home)})


def test_a_folder_in_the_place_of_the_file_is_named(home: Path) -> None:
    (home / "memsweep.toml").mkdir(parents=True)
    with pytest.raises(BadSetting, match=r"memsweep\.toml cannot be read"):
        load_settings({"MEMSWEEP_HOME": str(home)})


@pytest.mark.slow
def test_a_file_that_cannot_be_read_is_named(home: Path) -> None:
    home.mkdir()
    file = home / "memsweep.toml"
    file.write_text("workspace = 'x'")
    file.chmod(0)
    ran = memsweep("config", "show", home=home, as_ordinary_user=True)
    assert ran.status == 2
    assert str(file) in ran.err


def test_a_byte_order_mark_is_no_part_of_the_file(toml: Any) -> None:
    assert toml('\ufeffworkspace = "windows"').workspace == "windows"


def test_the_file_may_be_somewhere_else(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text('workspace = "elsewhere"')
    assert load_settings({"MEMSWEEP_CONFIG": str(file), "MEMSWEEP_HOME": str(tmp_path)}).workspace == "elsewhere"


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match=r"absent\.toml"):
        load_settings({"MEMSWEEP_CONFIG": str(tmp_path / "absent.toml"), "MEMSWEEP_HOME": str(tmp_path)})


def test_a_file_in_the_current_folder_is_not_read(
    run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memsweep.toml").write_text("workspace = 'stolen'\nhome = '/tmp/stolen'")
    ran = run("config", "show", "--json")
    assert ran.json["workspace"] == ""
    assert ran.json["home"] == str(home)


def test_a_relative_home_is_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert load_settings({"MEMSWEEP_HOME": "here"}).home == tmp_path / "here"


def test_no_secret_is_shown(run: Run, home: Path) -> None:
    secrets = {"OPENAI_API_KEY": "sk-secret-1", "MEMSWEEP_EMBEDDING_PROVIDER": "openai"}
    for arguments in (["config", "show"], ["config", "show", "--json"]):
        ran = run(*arguments, **secrets)
        assert ran.status == 0
        assert "sk-secret-1" not in ran.out + ran.err
    settings = load_settings({"MEMSWEEP_HOME": str(home), **secrets})
    assert settings.api_key == "sk-secret-1"
    assert "sk-secret-1" not in f"{settings} {settings!r} {settings.shown()}"


def test_a_password_in_the_address_is_not_shown(run: Run) -> None:
    url = "http://user:hunter2@127.0.0.1:1/x"
    ran = run("config", "show", MEMSWEEP_EMBEDDING_URL=url, MEMSWEEP_EMBEDDING_PROVIDER="ollama")
    assert "hunter2" not in ran.out
    ran = run("remember", "x", MEMSWEEP_EMBEDDING_URL=url, MEMSWEEP_EMBEDDING_PROVIDER="ollama")
    assert ran.status == 6
    assert "hunter2" not in ran.err


def test_the_example_names_every_setting_with_its_default(toml: Any) -> None:
    example = example_file()
    assert toml(example) == toml("")
    lines = [line.removeprefix("# ") if re.match(r"# \w+ = ", line) else line for line in example.splitlines()]
    values = tomllib.loads("\n".join(lines))
    for one in fields(Settings):
        if one.name not in ("api_key", "project"):
            inner = getattr(Settings(), one.name)
            named = {sub.name for sub in fields(inner)} if is_dataclass(inner) else None
            assert one.name in values
            assert named is None or named == set(values[one.name])
    assert toml("\n".join(lines)) == toml("")


def test_what_happens_to_secrets_is_chosen_by_source_then_by_workspace(toml: Any) -> None:
    chosen = toml(
        '[secrets]\naction = "warn"\nworkspaces = { a = "off", b = "REFUSE" }\nsources = { web = "redact" }'
    ).secrets
    asked = [("x", ""), ("a", ""), ("b", ""), ("a", "web")]
    assert [chosen.action_for(*each) for each in asked] == ["warn", "off", "refuse", "redact"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('action = "hide"', "secrets.action 'hide' is unknown"),
        ('workspaces = { a = "hide" }', "secrets.workspaces.a 'hide' is unknown"),
        ("workspaces = { a = 1 }", "secrets.workspaces.a must be str"),
        ("sources = 1", "secrets.sources must be a table of texts"),
    ],
)
def test_an_unknown_way_with_secrets_is_refused(toml: Any, text: str, says: str) -> None:
    with pytest.raises(BadInput, match=re.escape(says)):
        toml(f"[secrets]\n{text}")


@given(st.dictionaries(st.sampled_from(["workspace", "home", "log_level", "embedding", "chunking", "x"]), st.text()))
def test_any_environment_gives_settings_or_a_clear_refusal(values: dict[str, str]) -> None:
    variables = {f"MEMSWEEP_{name.upper()}": text for name, text in values.items() if "\0" not in text}
    with suppress(BadInput):
        load_settings({"MEMSWEEP_CONFIG": os.devnull, **variables})


MISTYPED = (
    "redis://user:hunter2@host",
    "falkor:user:hunter2@host",
    "falkor//user:hunter2@host:6379",
    "user:hunter2@host:6379",
    "falkor://user:hunter2",
    "falkor://user:hunter2/prefix",
    "falkor://user:hunter2@host:port",
    "falkor://user:hun/ter2@host",
    "falkor://user:12/hunter2@host",
    "falkor://user:12?hunter2@host",
    "falkor://user:12?hunter2=1@host",
    "falkor://user:12#hunter2@host",
    "falkor://user:h@hunter2@host:x",
    "falkor://user:hunter2@host?hosts=1",
    "falkor://user:hunter2@[::1",
    "falkor://user:hunter2@host:6379:6379",
    "falkor://user:hunter2@",
    "falkor://host?password=hunter2",
    "falkor://user:12?timeout=hunter2@host",
    "falkor://user:1@2?hunter2@host",
    "falkor://user:1@2?timeout=hunter2@host",
    "falkor:///user:hunter2%40host:1",
    "FALKOR//:hunter2@host\n",
)


@pytest.mark.parametrize("url", MISTYPED)
def test_no_mistyped_store_is_told_with_its_password(url: str, run: Run) -> None:
    told = [run(*command, MEMSWEEP_STORE=url) for command in (("config", "show"), ("list",), ("where",))]
    for ran in (*told, run("workspace", "copy", "default", "--to", url)):
        assert "ter2" not in ran.out + ran.err
        assert "is not an address" in ran.out + ran.err or "has the parameter " in ran.err


def test_a_password_with_signs_in_it_is_not_shown(run: Run) -> None:
    for url in ("falkor://u:p@hunter2@host", "falkors://u:hunter2%2F@host:1/prefix?ca=/a@b", "falkors://:hunter2@host"):
        shown = run("config", "show", MEMSWEEP_STORE=url).out
        assert "***@" in shown
        assert "hunter2" not in shown


def test_a_store_that_is_no_text_is_not_repeated(tmp_path: Path) -> None:
    (tmp_path / "memsweep.toml").write_text('store = ["falkor://u:hunter2@host"]')
    with pytest.raises(BadSetting) as caught:
        load_settings({"MEMSWEEP_HOME": str(tmp_path)})
    assert "hunter2" not in str(caught.value)
