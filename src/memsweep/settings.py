"""Settings: the only reader of the environment and of memsweep.toml.

A value comes from the environment, else from memsweep.toml, else from the defaults below. The file is
never looked for in the current folder: a checked-out repository must not decide where memories go.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_origin, get_type_hints
from urllib.parse import urlsplit

from memsweep.errors import BadSetting
from memsweep.model.ids import DEFAULT_WORKSPACE, check_name
from memsweep.model.text import check_text, without_password

EMBEDDERS = ("local", "ollama", "openai")
ENCODINGS = ("o200k_base", "cl100k_base", "length/4")
_DEFAULT_URLS = {"ollama": "http://127.0.0.1:11434", "openai": "https://api.openai.com/v1"}
_DEFAULT_MODELS = {"ollama": "nomic-embed-text", "openai": "text-embedding-3-small"}


EXAMPLE = """\
# memsweep.toml: every setting with its default. The environment wins: MEMSWEEP_HOME, MEMSWEEP_EMBEDDING_MODEL, …

# home = ""                     # where memories live; empty means the platform's data folder
# store = ""                    # empty means files in home; or falkor://user:password@host:6379 (falkors:// for TLS)
# workspace = "default"         # what an empty workspace id means
# log_level = "WARNING"         # DEBUG, INFO, WARNING or ERROR

[embedding]
# provider = "local"            # local (bundled, no network), ollama, or openai (any compatible server)
# url = ""                      # empty means the provider's usual address
# model = ""                    # empty means nomic-embed-text (ollama), text-embedding-3-small (openai)
# api_key_env = "OPENAI_API_KEY"  # the environment variable that holds the key
# timeout_seconds = 30.0

[chunking]
# size = 512                    # tokens
# overlap = 50

[code]
# max_file_size = 1048576       # bytes; larger files are not indexed
# secrets = []                  # patterns of files never to index, besides .env*, keys and credentials

[gc]
# plan_hours = 1.0              # how long a saved plan can be applied
# grace_days = 0.0              # what is younger is protected
# apply_seconds = 60.0          # an apply that takes longer is rolled back
# purge_days = 30.0             # how long trash is kept at least

[context]                       # context windows; context_gc_configure changes the numbers of one
# soft_tokens = 100000          # above it, small batches are stashed
# hard_tokens = 200000          # a full collection starts at 90 % of it
# changes_per_step = 20         # so many new segments between two looks at a few of them
# batch = 20                    # a small step stashes so many at most
# last_n = 10                   # the last messages are roots
# decision_minutes = 60         # decisions are roots for so long
# encoding = "o200k_base"       # how tokens are counted: o200k_base, cl100k_base, or length/4 (an estimate)
# weights = {}                  # what keep_score is made of, such as { recency = 0.15, references = 0.1 }

[schedule]                      # background collection by a running server
# enabled = false
# cron = "0 2 * * *"            # minute hour day month weekday, by the clock on the wall
# strategies = ["stale_code"]
# workspaces = []               # empty means all
# ttl_days = 0.0                # for `expired`; 0 means only what has a date of its own
# purge_days = 0.0              # also purge what has been in the trash for so long; 0 means never
# notify_command = []           # gets the summary as JSON on standard input
# notify_url = ""               # gets the summary as JSON by POST
"""


@dataclass(frozen=True, slots=True)
class Embedding:
    """Who embeds: the bundled model, or a server. An API key is read from the variable named here."""

    provider: str = "local"
    url: str = ""
    model: str = ""
    api_key_env: str = "OPENAI_API_KEY"
    timeout_seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Chunking:
    """In tokens."""

    size: int = 512
    overlap: int = 50


@dataclass(frozen=True, slots=True)
class Code:
    """`secrets`: patterns of files that are never indexed, besides the ones that are built in."""

    max_file_size: int = 1_048_576
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Gc:
    """The collector: how long a plan lasts, what is too young to go, how long an apply may take, when trash is old."""

    plan_hours: float = 1.0
    grace_days: float = 0.0
    apply_seconds: float = 60.0
    purge_days: float = 30.0


@dataclass(frozen=True, slots=True)
class Context:
    """Context windows: when they are collected, what is a root for how long, how tokens are counted."""

    soft_tokens: int = 100_000
    hard_tokens: int = 200_000
    changes_per_step: int = 20
    batch: int = 20
    last_n: int = 10
    decision_minutes: int = 60
    encoding: str = "o200k_base"
    weights: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Background collection, off by default. No workspaces means all; 0 days means never."""

    enabled: bool = False
    cron: str = "0 2 * * *"
    strategies: tuple[str, ...] = ("stale_code",)
    workspaces: tuple[str, ...] = ()
    ttl_days: float = 0.0
    purge_days: float = 0.0
    notify_command: tuple[str, ...] = ()
    notify_url: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set, with its default."""

    home: Path = Path()
    store: str = ""
    workspace: str = DEFAULT_WORKSPACE
    log_level: str = "WARNING"
    embedding: Embedding = field(default_factory=Embedding)
    chunking: Chunking = field(default_factory=Chunking)
    code: Code = field(default_factory=Code)
    gc: Gc = field(default_factory=Gc)
    context: Context = field(default_factory=Context)
    schedule: Schedule = field(default_factory=Schedule)
    api_key: str = field(default="", repr=False)

    def shown(self) -> dict[str, Any]:
        """What may be shown to a person: no secret."""
        values = asdict(self)
        del values["api_key"]
        values["embedding"]["url"] = without_password(self.embedding.url)
        return {**values, "home": str(self.home), "store": without_password(self.store)}


def stored_at(settings: Settings, where: str) -> Settings:
    """The same settings with another store: `sqlite`, `sqlite:FOLDER` or an address; empty changes nothing."""
    kind, _, folder = where.partition(":")
    if kind == "sqlite":
        return replace(settings, store="", home=_expanded(folder).absolute() if folder else settings.home)
    return replace(settings, store=_checked_store(where)) if where else settings


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    if given := environ.get("MEMSWEEP_CONFIG"):
        return _expanded(given)
    if home := environ.get("MEMSWEEP_HOME"):
        return _expanded(home) / "memsweep.toml"
    from platformdirs import user_config_path

    return user_config_path("memsweep", appauthor=False) / "memsweep.toml"


def load_settings(environ: Mapping[str, str] = os.environ, *, overrides: Mapping[str, str] | None = None) -> Settings:
    """Read the file and the environment; refuse what is unknown or impossible."""
    environ = {**environ, **(overrides or {})}
    named = bool(environ.get("MEMSWEEP_CONFIG"))
    stored = {} if _home_is_locked(environ) else _from_file(config_file(environ), must_exist=named)
    values = _merge(stored, _from_environ(environ))
    settings: Settings = _build(Settings, values, "")
    embedding = _checked_embedding(settings.embedding)
    check_name(settings.workspace, "the workspace in the settings")
    for name in ("plan_hours", "grace_days", "apply_seconds", "purge_days"):
        if not 0 <= getattr(settings.gc, name) < 1e6:
            raise BadSetting(f"gc.{name} {getattr(settings.gc, name)} is not from 0 to 1,000,000.")
    if settings.code.max_file_size < 1:
        raise BadSetting(f"code.max_file_size {settings.code.max_file_size} is not a number of bytes.")
    if not 16 <= settings.chunking.size <= 8192 or not 0 <= settings.chunking.overlap <= settings.chunking.size // 2:
        raise BadSetting(
            f"chunking.size {settings.chunking.size} and chunking.overlap {settings.chunking.overlap} do not fit.",
            hint="size is from 16 to 8192, overlap at most half of it.",
        )
    return Settings(
        home=_home(settings.home),
        store=_checked_store(settings.store),
        workspace=settings.workspace,
        log_level=_one_of(settings.log_level.upper(), ("DEBUG", "INFO", "WARNING", "ERROR"), "log_level"),
        embedding=embedding,
        chunking=settings.chunking,
        code=settings.code,
        gc=settings.gc,
        context=_checked_context(settings.context),
        schedule=settings.schedule,
        api_key=_api_key(environ, embedding.api_key_env),
    )


def _api_key(environ: Mapping[str, str], name: str) -> str:
    key = environ.get(name, "").strip()
    if not key.isascii() or not key.isprintable():
        raise BadSetting(f"the key in {name} has letters that cannot be sent.", hint="Set it again.")
    return key


def _home_is_locked(environ: Mapping[str, str]) -> bool:
    """A home that is absent or cannot be entered has no settings; a server starts, and its tools say what is wrong."""
    home = environ.get("MEMSWEEP_HOME")
    if not home or environ.get("MEMSWEEP_CONFIG"):
        return False
    return not os.access(_expanded(home), os.X_OK)


def _home(given: Path) -> Path:
    if given != Path():
        return Path(check_text(str(_expanded(given).absolute()), "the path of home"))
    from platformdirs import user_data_path

    return user_data_path("memsweep", appauthor=False)


def _checked_store(url: str) -> str:
    """Empty, or the address of a server; an address that cannot be read is refused without showing its password."""
    try:
        parts = urlsplit(url)
        well_formed = not url or (parts.scheme in ("falkor", "falkors") and bool(parts.hostname) and parts.port != 0)
    except ValueError:
        well_formed = False
    if not well_formed:
        raise BadSetting(
            f"store {without_password(url)!r} is not an address.",
            hint="Write it like falkor://user:password@host:6379, or falkors:// for TLS.",
        )
    return url


def _checked_embedding(embedding: Embedding) -> Embedding:
    _one_of(embedding.provider, EMBEDDERS, "embedding.provider")
    url = embedding.url or _DEFAULT_URLS.get(embedding.provider, "")
    if url and not url.startswith(("http://", "https://")):
        raise BadSetting(f"embedding.url {url!r} is not an http address.")
    if not 0 < embedding.timeout_seconds <= 3600:
        raise BadSetting(f"embedding.timeout_seconds {embedding.timeout_seconds} is not from 0 to 3600.")
    model = embedding.model or _DEFAULT_MODELS.get(embedding.provider, "")
    return Embedding(embedding.provider, url, model, embedding.api_key_env, embedding.timeout_seconds)


def _checked_context(context: Context) -> Context:
    _one_of(context.encoding, ENCODINGS, "context.encoding")
    for name in ("soft_tokens", "hard_tokens", "changes_per_step", "batch"):
        if getattr(context, name) < 1:
            raise BadSetting(f"context.{name} {getattr(context, name)} is not above 0.")
    if min(context.last_n, context.decision_minutes) < 0:
        raise BadSetting("context.last_n and context.decision_minutes cannot be negative.")
    if context.soft_tokens > context.hard_tokens:
        raise BadSetting(
            f"context.soft_tokens {context.soft_tokens} is above context.hard_tokens {context.hard_tokens}."
        )
    return context


def _one_of(value: str, known: tuple[str, ...], name: str) -> str:
    if value not in known:
        raise BadSetting(f"{name} {value!r} is unknown.", hint=f"Use one of: {', '.join(known)}.")
    return value


def _expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadSetting(f"{path} cannot be found: there is no such user.") from None


def _from_file(path: Path, *, must_exist: bool) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        if isinstance(error, FileNotFoundError) and not must_exist:
            return {}
        raise BadSetting(f"{path} cannot be read: {error}.", hint="Correct it or move it away.") from None


def _from_environ(environ: Mapping[str, str]) -> dict[str, Any]:
    """MEMSWEEP_WORKSPACE=x sets `workspace`, MEMSWEEP_EMBEDDING_MODEL=x sets `embedding.model`."""
    values: dict[str, Any] = {}
    for name, path in _variables().items():
        if text := environ.get(name):
            table = values
            for part in path[:-1]:
                table = table.setdefault(part, {})
            table[path[-1]] = text
    return values


def _variables() -> dict[str, tuple[str, ...]]:
    """Every environment variable and the setting it stands for."""
    names: dict[str, tuple[str, ...]] = {}
    for one in fields(Settings):
        hint = get_type_hints(Settings)[one.name]
        inner = [(one.name, sub.name) for sub in fields(hint)] if is_dataclass(hint) else [(one.name,)]
        names |= {"MEMSWEEP_" + "_".join(path).upper(): path for path in inner if path != ("api_key",)}
    return names


def _merge(base: dict[str, Any], over: dict[str, Any]) -> dict[str, Any]:
    joined = dict(base)
    for key, value in over.items():
        below = joined.get(key)
        joined[key] = _merge(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return joined


def _build(kind: type[Any], values: dict[str, Any], prefix: str) -> Any:
    known = {one.name for one in fields(kind)} - {"api_key"}
    if unknown := sorted(values.keys() - known):
        raise BadSetting(
            f"the setting {prefix}{unknown[0]} is unknown.", hint=f"Known here: {', '.join(sorted(known))}."
        )
    hints = get_type_hints(kind)
    return kind(**{key: _convert(hints[key], value, prefix + key) for key, value in values.items()})


def _convert(kind: type[Any], value: Any, name: str) -> Any:
    if is_dataclass(kind):
        if not isinstance(value, dict):
            raise BadSetting(f"the setting {name} must be a table, not {value!r:.40}.")
        return _build(kind, value, f"{name}.")
    if get_origin(kind) is tuple:
        parts = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
        if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
            raise BadSetting(f"the setting {name} must be a list of texts, not {value!r:.40}.")
        return tuple(part for part in parts if part)
    if get_origin(kind) is Mapping:
        return _numbers(value, name)
    if kind is bool:
        words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if isinstance(value, str):
            value = words.get(value.strip().lower(), value)
        if not isinstance(value, bool):
            raise BadSetting(f"the setting {name} must be true or false, not {value!r:.40}.")
        return value
    try:
        if isinstance(value, bool) or (kind in (str, Path) and not isinstance(value, str)):
            raise ValueError
        if kind is int and isinstance(value, float):
            raise ValueError
        return kind(value)
    except (TypeError, ValueError):
        raise BadSetting(f"the setting {name} must be {kind.__name__}, not {value!r:.40}.") from None


def _numbers(value: Any, name: str) -> dict[str, float]:
    """A table of numbers, or `a=1,b=2` in the environment."""
    if isinstance(value, str):
        value = dict(part.strip().partition("=")[::2] for part in value.split(",") if part.strip())
    if not isinstance(value, dict):
        raise BadSetting(f"the setting {name} must be a table of numbers, not {value!r:.40}.")
    return {str(key).strip(): _convert(float, number, f"{name}.{key}") for key, number in value.items()}
