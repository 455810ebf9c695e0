"""The only reader of the environment and of memsweep.toml.

A value comes from the environment, else from memsweep.toml, else from the defaults. The file is
never looked for in the current folder: a checked-out repository must not decide where memories go.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from memsweep.errors import BadSetting
from memsweep.model.frozen import is_frozen, replace
from memsweep.model.ids import check_name
from memsweep.model.text import check_text, without_password
from memsweep.places import config_file, default_home, expanded
from memsweep.settings.fields import DEFAULT_MODELS, DEFAULT_URLS, About, Embedding, Settings, about

_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def stored_at(settings: Settings, where: str) -> Settings:
    """The same settings with another store: `sqlite`, `sqlite:FOLDER` or an address; empty changes nothing."""
    kind, _, folder = where.partition(":")
    if kind == "sqlite":
        return replace(settings, store="", home=expanded(folder).absolute() if folder else settings.home)
    return replace(settings, store=_checked_store(where)) if where else settings


def client_variables() -> dict[str, str]:
    """Return the variables that say where agent clients keep their files, if not in the usual place."""
    names = ("APPDATA", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME")
    return {name: os.environ[name] for name in names if os.environ.get(name)}


def kept_for_servers() -> dict[str, str]:
    """Return the variables that lead to our settings, for a server that is started from elsewhere."""
    names = ("MEMSWEEP_CONFIG", "MEMSWEEP_HOME")
    return {name: str(expanded(os.environ[name]).absolute()) for name in names if os.environ.get(name)}


def load_settings(environ: Mapping[str, str] = os.environ, *, overrides: Mapping[str, str] | None = None) -> Settings:
    """Read the file and the environment; refuse what is unknown or impossible."""
    environ = {**environ, **(overrides or {})}
    named = bool(environ.get("MEMSWEEP_CONFIG"))
    stored = {} if _home_is_locked(environ) else _from_file(config_file(environ), must_exist=named)
    settings: Settings = _build(Settings, _merge(stored, _from_environ(environ)), "")
    for name in filter(None, (settings.workspace, settings.personal)):
        check_name(name, "the workspace in the settings")
    _check_pairs(settings)
    embedding = _with_defaults(settings.embedding)
    return replace(
        settings,
        home=_home(settings.home),
        store=_checked_store(settings.store),
        embedding=embedding,
        api_key=_api_key(environ, embedding.api_key_env),
        project=environ.get("CLAUDE_PROJECT_DIR", ""),
    )


def _check_pairs(settings: Settings) -> None:
    """Refuse two settings that contradict each other."""
    chunking, context = settings.chunking, settings.context
    if chunking.overlap > chunking.size // 2:
        raise BadSetting(f"chunking.overlap {chunking.overlap} is more than half of chunking.size {chunking.size}.")
    if context.soft_tokens > context.hard_tokens:
        raise BadSetting(
            f"context.soft_tokens {context.soft_tokens} is above context.hard_tokens {context.hard_tokens}."
        )


def _with_defaults(embedding: Embedding) -> Embedding:
    url = embedding.url or DEFAULT_URLS.get(embedding.provider, "")
    if url and not url.startswith(("http://", "https://")):
        raise BadSetting(f"embedding.url {without_password(url)!r:.100} is not an http address.")
    return replace(embedding, url=url, model=embedding.model or DEFAULT_MODELS.get(embedding.provider, ""))


def _api_key(environ: Mapping[str, str], name: str) -> str:
    key = environ.get(name, "").strip()
    if not key.isascii() or not key.isprintable():
        raise BadSetting(f"the key in {name:.100} has characters that cannot be sent.", hint="Set it again.")
    return key


def _home_is_locked(environ: Mapping[str, str]) -> bool:
    """A home that is absent or cannot be entered has no settings; a server starts, and its tools say what is wrong."""
    home = environ.get("MEMSWEEP_HOME")
    if not home or environ.get("MEMSWEEP_CONFIG"):
        return False
    return not os.access(expanded(home), os.X_OK)


def _home(given: Path) -> Path:
    if given != Path():
        return Path(check_text(str(expanded(given).absolute()), "the path of home"))
    return default_home()


def _checked_store(url: str) -> str:
    """Empty, or the address of a server; an address that cannot be read is refused without showing its password."""
    if not url:
        return ""
    from memsweep.model.address import parse_address  # late: most homes are folders

    try:
        parse_address(url)
    except ValueError as error:
        raise BadSetting(
            f"store {without_password(url)!r:.100} {error}.",
            hint="Write it like falkor://user:password@host:6379, or falkors:// for TLS;"
            " in a password, / as %2F and @ as %40.",
        ) from None
    return url


def _from_file(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
        import tomllib  # late: most people have no file

        return tomllib.loads(text)
    except (OSError, ValueError) as error:  # no UTF-8 and no TOML are both ValueErrors
        if isinstance(error, FileNotFoundError) and not must_exist:
            return {}
        raise BadSetting(f"{path} cannot be read: {error}.", hint="Correct it or move it away.") from None


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    """MEMSWEEP_WORKSPACE=x sets `workspace`, MEMSWEEP_EMBEDDING_MODEL=x sets `embedding.model`."""
    values: dict[str, Any] = {}
    for name, path in variables().items():
        if text := environ.get(name):
            table = values
            for part in path[:-1]:
                table = table.setdefault(part, {})
            table[path[-1]] = text
    return values


@cache
def variables() -> Mapping[str, tuple[str, ...]]:
    """Every environment variable and the setting it stands for."""
    names: dict[str, tuple[str, ...]] = {}
    hints = _hints(Settings)
    for name in about(Settings):
        inner = [(name, sub) for sub in about(hints[name])] if is_frozen(hints[name]) else [(name,)]
        names |= {"MEMSWEEP_" + "_".join(path).upper(): path for path in inner}
    return names


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    joined = dict(base)
    for key, value in over.items():
        below = joined.get(key)
        joined[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return joined


def _build(kind: Any, values: dict[str, Any], prefix: str) -> Any:
    known = about(kind)
    if unknown := sorted(values.keys() - known.keys()):
        raise BadSetting(
            f"the setting {prefix}{unknown[0]:.100} is unknown.", hint=f"Known here: {', '.join(sorted(known))}."
        )
    hints = _hints(kind)
    return kind(**{key: _setting(hints[key], value, known[key], prefix + key) for key, value in values.items()})


def _setting(kind: type[Any], value: Any, allowed: About, name: str) -> Any:
    if allowed.is_command and isinstance(value, str):
        value = _command(value, name)
    return _checked(_convert(kind, value, name), allowed, name)


def _checked(value: Any, allowed: About, name: str) -> Any:
    """The value, if the table of settings allows it."""
    if isinstance(value, Mapping):
        return {key: _checked(number, allowed, f"{name}.{key}") for key, number in value.items()}
    if isinstance(value, tuple):
        return tuple(_checked(each, allowed, name) for each in value)
    if allowed.choices:
        value = next((known for known in allowed.choices if known.casefold() == value.casefold()), value)
        if value not in allowed.choices:
            raise BadSetting(f"{name} {value!r:.100} is unknown.", hint=f"Use one of: {', '.join(allowed.choices)}.")
    if allowed.form and not allowed.form.fullmatch(value):
        raise BadSetting(f"{name} {value!r:.100} does not match {allowed.form.pattern}.")
    if isinstance(value, int | float) and not isinstance(value, bool) and not _is_within(value, allowed):
        raise BadSetting(f"{name:.100} {value} is not {_range(allowed)}.")
    return value


def _is_within(value: float, allowed: About) -> bool:
    """Not a number is within nothing."""
    return (
        (allowed.least is None or value >= allowed.least)
        and (allowed.above is None or value > allowed.above)
        and (allowed.most is None or value <= allowed.most)
    )


def _range(allowed: About) -> str:
    low = f"above {allowed.above:,}" if allowed.above is not None else f"{allowed.least or 0:,} or more"
    return low if allowed.most is None else f"{low} and at most {allowed.most:,}"


def _convert(kind: type[Any], value: Any, name: str) -> Any:
    if is_frozen(kind):
        if not isinstance(value, dict):
            raise BadSetting(f"the setting {name} must be a table, not {value!r:.40}.")
        return _build(kind, value, f"{name}.")
    if get_origin(kind) is tuple:
        return _texts(value, name)
    if get_origin(kind) is Mapping:
        return _table(value, name, get_args(kind)[1])
    if kind is bool:
        return _truth(value, name)
    try:
        if isinstance(value, bool) or (kind in (str, Path) and not isinstance(value, str)):
            raise ValueError
        if kind is int and isinstance(value, float):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError):
        shown = type(value).__name__ if name in ("store", "embedding.url") else f"{value!r:.40}"  # may have a password
        raise BadSetting(f"the setting {name:.100} must be {kind.__name__}, not {shown}.") from None


def _truth(value: Any, name: str) -> bool:
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower(), value)
    if not isinstance(value, bool):
        raise BadSetting(f"the setting {name} must be true or false, not {value!r:.40}.")
    return value


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """A list of texts, or `a,b` in the environment."""
    parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise BadSetting(f"the setting {name} must be a list of strings, not {value!r:.40}.")
    return tuple(part for part in parts if part)


def _command(line: str, name: str) -> list[str]:
    """The words of a command line; without a space, `a,b` is a list, as everywhere in the environment."""
    import shlex  # late: hardly any setting is a command

    try:
        words = shlex.split(line)
    except ValueError as error:
        raise BadSetting(
            f"the setting {name} {line!r:.80} is not a valid command ({error}).", hint="Write it as a list."
        ) from None
    return words[0].split(",") if len(words) == 1 and words[0] == line.strip() else words


def _table(value: Any, name: str, kind: type[Any]) -> dict[str, Any]:
    """A table of numbers or texts, or `a=1,b=2` in the environment."""
    if isinstance(value, str):
        value = dict(part.strip().partition("=")[::2] for part in value.split(",") if part.strip())
    if not isinstance(value, dict):
        what = "texts" if kind is str else "numbers"
        raise BadSetting(f"the setting {name} must be a table of {what}, not {value!r:.40}.")
    return {str(key).strip(): _convert(kind, each, f"{name}.{key}") for key, each in value.items()}
