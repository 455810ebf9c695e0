"""The clients that `memsweep init` knows: where each keeps its servers, on every platform. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

Platform = Literal["linux", "darwin", "win32"]
PLATFORMS: tuple[Platform, ...] = ("linux", "darwin", "win32")


@dataclass(frozen=True, slots=True)
class PluginCommands:
    """The commands of a client that add and remove our plugin."""

    program: str
    add: str
    remove: str
    settings: str
    """The file that its commands write to, which a person has settings in as well."""


@dataclass(frozen=True, slots=True)
class Client:
    """`files` and `signs` are written with the variables of `folders`; a sign is what is there if the client is."""

    id: str
    title: str
    form: Literal["json", "toml"]
    servers: str
    """The table that its servers are in."""
    files: Mapping[Platform, str]
    signs: Mapping[Platform, tuple[str, ...]]
    extra: Mapping[str, Any]
    """What an entry has beside the command."""
    restart: str
    plugin: PluginCommands | None = None


def _everywhere(file: str) -> dict[Platform, str]:
    return dict.fromkeys(PLATFORMS, file)


def _beside(file: str, *signs: str) -> dict[Platform, tuple[str, ...]]:
    return dict.fromkeys(PLATFORMS, (file, *signs))


CLIENTS = (
    Client(
        "claude-code",
        "Claude Code",
        "json",
        "mcpServers",
        _everywhere("{claude}/.claude.json"),
        _beside("{claude}/.claude.json", "{home}/.claude"),
        {"type": "stdio"},
        "It is there in the next session.",
        PluginCommands("claude", "install", "uninstall", "{claude_settings}/settings.json"),
    ),
    Client(
        "codex",
        "Codex",
        "toml",
        "mcp_servers",
        _everywhere("{codex}/config.toml"),
        _beside("{codex}"),
        {},
        "It is there in the next session.",
        PluginCommands("codex", "add", "remove", "{codex}/config.toml"),
    ),
    Client(
        "cursor",
        "Cursor",
        "json",
        "mcpServers",
        _everywhere("{home}/.cursor/mcp.json"),
        _beside("{home}/.cursor"),
        {},
        "Reload the window.",
    ),
    Client(
        "vscode",
        "VS Code",
        "json",
        "servers",
        _everywhere("{config}/Code/User/mcp.json"),
        _beside("{config}/Code/User"),
        {"type": "stdio"},
        "Reload the window.",
    ),
    Client(
        "claude-desktop",
        "Claude Desktop",
        "json",
        "mcpServers",
        _everywhere("{config}/Claude/claude_desktop_config.json"),
        _beside("{config}/Claude"),
        {},
        "Quit it and start it again.",
    ),
)


def folders(platform: Platform, home: PurePath, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the folders that the paths of the table begin with."""
    config = {
        "linux": variables.get("XDG_CONFIG_HOME") or str(home / ".config"),
        "darwin": str(home / "Library" / "Application Support"),
        "win32": variables.get("APPDATA") or str(home / "AppData" / "Roaming"),
    }
    return {
        "home": str(home),
        "config": config[platform],
        "codex": variables.get("CODEX_HOME") or str(home / ".codex"),
        "claude": variables.get("CLAUDE_CONFIG_DIR") or str(home),
        "claude_settings": variables.get("CLAUDE_CONFIG_DIR") or str(home / ".claude"),
    }
