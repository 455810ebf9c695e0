"""The places of our files, before any setting is read. Nothing heavy is imported: a hook finds a server with it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from memsweep.errors import BadSetting


def environment() -> Mapping[str, str]:
    return os.environ


def handed_over(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment that a hook passes to a server: all that settings depend on, and no key of a service."""
    return {
        name: value for name, value in environ.items() if name.startswith("MEMSWEEP_") or name == "CLAUDE_PROJECT_DIR"
    }


def config_file(environ: Mapping[str, str] = os.environ) -> Path:
    if given := environ.get("MEMSWEEP_CONFIG"):
        return expanded(given)
    if home := environ.get("MEMSWEEP_HOME"):
        return expanded(home) / "memsweep.toml"
    from platformdirs import user_config_path

    return user_config_path("memsweep", appauthor=False) / "memsweep.toml"


def default_home() -> Path:
    from platformdirs import user_data_path

    return user_data_path("memsweep", appauthor=False)


def home_at_a_glance(environ: Mapping[str, str] = os.environ) -> Path:
    """The home that the settings would name, if they can be read; anything else is an error of some kind."""
    if given := environ.get("MEMSWEEP_HOME"):
        return expanded(given).absolute()
    try:
        text = config_file(environ).read_text("utf-8-sig")
    except FileNotFoundError:
        return default_home()
    import tomllib  # late: most people have no file

    named = tomllib.loads(text).get("home")
    return expanded(str(named)).absolute() if named else default_home()


def private_home(home: Path) -> Path:
    """Return the home; refuse one that other accounts can replace, for what they put there would be our memory."""
    try:
        found = home.stat()
    except OSError:
        return home  # not made yet, or whoever opens it says what is wrong
    if not hasattr(os, "geteuid"):
        return home
    if found.st_mode & 0o002:
        raise BadSetting(f"every account can write to the data folder {home}.", hint=f"Close it: chmod 700 '{home}'")
    if os.geteuid() != 0 and found.st_uid not in (0, os.geteuid()):
        raise BadSetting(
            f"the data folder {home} belongs to another account ({found.st_uid}).",
            hint="Set MEMSWEEP_HOME to a folder of your own.",
        )
    return home


def expanded(path: str | Path) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise BadSetting(f"{path!s:.100} cannot be found: there is no such user.") from None


def working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""
