"""Git hooks that refresh the index in the background, beside whatever hooks were there.

A hook that was there keeps working: it is set aside under another name and called by ours with the same
arguments, and its exit status is git's. Ours never makes git wait or fail.
"""

from __future__ import annotations

import os
import shlex
import stat
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memsweep.code.gitrepo import run_git
from memsweep.errors import BadInput, Conflict

HOOKS = ("post-commit", "post-merge", "post-checkout", "post-rewrite")
HookState = Literal["absent", "installed", "installed beside another", "another"]

_MARK = "# memsweep: refresh the code index in the background"
_KEPT = ".before-memsweep"
_SCRIPT = """#!/bin/sh
{mark}
log=$(git rev-parse --git-path memsweep.log 2>/dev/null) || log=/dev/null
( {command} >"$log" 2>&1 </dev/null & ) >/dev/null 2>&1 </dev/null
kept="$0{kept}"
[ -x "$kept" ] && exec "$kept" "$@"
exit 0
"""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one repository."""

    root: Path
    folder: Path

    def install(self, workspace_id: str) -> list[str]:
        """Write the hooks; returns those that are new."""
        self.folder.mkdir(parents=True, exist_ok=True)
        return [name for name in HOOKS if self._install(name, workspace_id)]

    def remove(self) -> list[str]:
        """Take ours away and put back what was there; returns those that were ours."""
        return [name for name in HOOKS if self._remove(name)]

    def status(self) -> dict[str, HookState]:
        return {name: self._state(name) for name in HOOKS}

    def _install(self, name: str, workspace_id: str) -> bool:
        hook, kept = self.folder / name, self.folder / f"{name}{_KEPT}"
        ours = _is_ours(hook)
        if not ours and os.path.lexists(hook):
            if os.path.lexists(kept):
                raise Conflict(f"both {hook} and {kept} exist.", hint="Move one of them away.")
            hook.rename(kept)
        draft = self.folder / f"{name}.memsweep-draft"
        draft.write_text(_script(self.root, workspace_id), "utf-8")
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        draft.replace(hook)
        return not ours

    def _remove(self, name: str) -> bool:
        hook, kept = self.folder / name, self.folder / f"{name}{_KEPT}"
        if not _is_ours(hook):
            return False
        if os.path.lexists(kept):
            kept.replace(hook)
        else:
            hook.unlink()
        return True

    def _state(self, name: str) -> HookState:
        hook = self.folder / name
        if not _is_ours(hook):
            return "another" if os.path.lexists(hook) else "absent"
        return "installed beside another" if os.path.lexists(f"{hook}{_KEPT}") else "installed"


def find_hooks(path: str) -> Hooks:
    """The hooks folder of the repository that a path is in, wherever git keeps it."""
    top = _ask(path, ["rev-parse", "--show-toplevel"])
    folder = _ask(path, ["rev-parse", "--git-path", "hooks"])
    return Hooks(Path(top), (Path(path) / folder).resolve())


def _ask(path: str, arguments: Sequence[str]) -> str:
    answer = run_git(path, arguments)
    if answer is None:
        raise BadInput(f"{path} is not in a git repository.", hint="Give the path of one.")
    return os.fsdecode(answer).rstrip("\n")


def _script(root: Path, workspace_id: str) -> str:
    command = [sys.executable, "-m", "memsweep", "index", str(root), "--join"]
    command += ["--workspace", workspace_id] if workspace_id else []
    return _SCRIPT.format(mark=_MARK, command=shlex.join(command), kept=_KEPT)


def _is_ours(hook: Path) -> bool:
    try:
        return _MARK in hook.read_text("utf-8", errors="replace")
    except OSError:
        return False
