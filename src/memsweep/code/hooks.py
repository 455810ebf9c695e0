"""Git hooks that refresh the index in the background, beside whatever hooks were there.

A hook that was there keeps working: it is set aside under another name and called by ours with the same
arguments, and its exit status is git's. Ours never makes git wait or fail. The work trees of a repository
share its hooks: each of them is refreshed only if it was installed there.
"""

from __future__ import annotations

import filecmp
import os
import re
import shlex
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memsweep.code.gitcommand import Git, find_git
from memsweep.errors import BadInput, Conflict, StoreReadOnly
from memsweep.project.worktree import find_work_tree
from memsweep.regular import read_regular, read_start

HOOKS = ("post-commit", "post-merge", "post-checkout", "post-rewrite")
HookState = Literal["absent", "installed", "installed beside another", "another"]

_MARK = "# memsweep: refresh the code index in the background"
_KEPT = ".before-memsweep"
_LONGEST_SCRIPT = 1024**2
_SCRIPT = """#!/bin/sh
{mark}
log=$(git rev-parse --git-path memsweep.log 2>/dev/null) || log=/dev/null
refresh() {{ ( "$@" >"$log" 2>&1 </dev/null & ) >/dev/null 2>&1 </dev/null; }}
case "$(git rev-parse --show-toplevel 2>/dev/null)" in
{trees}esac
[ -x "$0{kept}" ] || exit 0
{call}
"""
_TREES = re.compile(r'^case "\$\(git [^\n]*+\n', re.MULTILINE)
_TREES_END = re.compile(r"^esac$", re.MULTILINE)
_END = " ;;\n"
_CALL = f'exec "$0{_KEPT}" "$@"'
# A hook may ask its own name what it is; a shell can be told it, other interpreters cannot.
_SHELL = re.compile(rb"#! *((?:/\S*/)(?:env +)?(?:sh|ash|dash|bash|ksh)(?: +-[befhmnpuvx]+)?) *\n")
_CALL_SHELL = f"""exec %s -c '. "$0{_KEPT}"' "$0" "$@\""""


@dataclass(frozen=True, slots=True)
class Hooks:
    """The hooks of one work tree."""

    root: Path
    folder: Path

    def install(self, workspace_id: str) -> list[str]:
        """Write the hooks; returns those that are new."""
        with self._writing():
            self.folder.mkdir(parents=True, exist_ok=True)
            for name in HOOKS:
                self._refuse_two(name)
            return [name for name in HOOKS if self._install(name, workspace_id)]

    def remove(self) -> list[str]:
        """Take ours away and put back what was there; returns those that were ours."""
        with self._writing():
            return [name for name in HOOKS if self._remove(name)]

    def status(self) -> dict[str, HookState]:
        return {name: self._state(name) for name in HOOKS}

    def _install(self, name: str, workspace_id: str) -> bool:
        hook, kept = self.folder / name, self.folder / f"{name}{_KEPT}"
        trees = _trees(hook)
        if trees is None and os.path.lexists(hook):
            hook.replace(kept)
        self._write(hook, {**_standing(trees or {}), str(self.root): _refresh(self.root, workspace_id)})
        return str(self.root) not in (trees or {})

    def _remove(self, name: str) -> bool:
        hook, kept = self.folder / name, self.folder / f"{name}{_KEPT}"
        trees = _trees(hook)
        if trees is None or trees.pop(str(self.root), None) is None:
            return False
        if _standing(trees):
            self._write(hook, _standing(trees))
        elif os.path.lexists(kept):
            kept.replace(hook)
        else:
            hook.unlink()
        return True

    def _state(self, name: str) -> HookState:
        hook = self.folder / name
        trees = _trees(hook)
        if trees is None:
            return "another" if os.path.lexists(hook) else "absent"
        if str(self.root) not in trees:
            return "absent"
        return "installed beside another" if os.path.lexists(f"{hook}{_KEPT}") else "installed"

    def _refuse_two(self, name: str) -> None:
        """A hook manager may have written a hook anew that is set aside already; two different ones are too many."""
        hook, kept = self.folder / name, self.folder / f"{name}{_KEPT}"
        if _trees(hook) is None and os.path.lexists(hook) and os.path.lexists(kept):
            if hook.is_file() and kept.is_file() and filecmp.cmp(hook, kept, shallow=False):
                return
            raise Conflict(f"both {hook} and {kept} exist.", hint="Move one of them away.")

    def _write(self, hook: Path, trees: dict[str, str]) -> None:
        lines = "".join(f"{_before(root)}{command}{_END}" for root, command in trees.items())
        call = _call(Path(f"{hook}{_KEPT}"))
        draft = self.folder / f"{hook.name}.memsweep-draft"
        draft.write_bytes(os.fsencode(_SCRIPT.format(mark=_MARK, trees=lines, kept=_KEPT, call=call)))
        draft.chmod(draft.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
        draft.replace(hook)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreReadOnly(
                f"the hooks folder {self.folder} cannot be written ({error.strerror}).", hint="Check core.hooksPath."
            ) from None


def find_hooks(path: str) -> Hooks:
    """The hooks folder of the repository that a path is in, wherever git keeps it."""
    tree = find_work_tree(os.path.realpath(path)) if os.path.isdir(path) else None
    git = None if tree is None else find_git(tree.top)
    if tree is None or git is None:
        missing = "git is not installed" if tree else f"{path} is not in a git work tree"
        raise BadInput(f"{missing}.", hint="" if tree else "Give the path of one.")
    top, folder = (_answer(git, arguments) for arguments in (["--show-toplevel"], ["--git-path", "hooks"]))
    if os.path.realpath(top) != tree.top:
        # On each commit it would be that folder which is indexed, and nobody has asked for it.
        raise BadInput(f"the repository at {tree.top} has its files in {top}.", hint="Check core.worktree.")
    return Hooks(Path(tree.top), Path(tree.top, folder).resolve())


def _answer(git: Git, arguments: Sequence[str]) -> str:
    done = git.ask("rev-parse", *arguments)
    if done is None or done.returncode != 0:
        said = os.fsdecode(done.stderr).strip().partition("\n")[0] if done else "it did not answer"
        raise BadInput(f"git cannot use the repository at {git.top}: {said[:200]}.")
    return os.fsdecode(done.stdout).rstrip("\n")


def _refresh(root: Path, workspace_id: str) -> str:
    # -P: what lies in the repository is not to be imported.
    command = [sys.executable, "-P", "-m", "memsweep", "--project", str(root), "index", str(root), "--join"]
    command += ["--workspace", workspace_id] if workspace_id else []
    return shlex.join(command)


def _before(root: str) -> str:
    return f"{shlex.quote(root)}) refresh "


def _trees(hook: Path) -> dict[str, str] | None:
    """The work trees that a hook of ours refreshes, and how; None if it is not ours."""
    try:
        script = os.fsdecode(read_regular(hook, _LONGEST_SCRIPT))
    except OSError:
        return None
    if _MARK not in script:
        return None
    first = _TREES.search(script)
    ends = [found.start() for found in _TREES_END.finditer(script, first.end())] if first else []
    entries = script[first.end() : ends[-1]].split(_END)[:-1] if first and ends else []
    roots = [shlex.split(entry)[0].removesuffix(")") for entry in entries]
    return {root: entry.removeprefix(_before(root)) for root, entry in zip(roots, entries, strict=True)}


def _standing(trees: dict[str, str]) -> dict[str, str]:
    return {root: command for root, command in trees.items() if os.path.isdir(root)}


def _call(kept: Path) -> str:
    """Return the call of the hook that is set aside; where possible it finds itself under its own name."""
    try:
        found = _SHELL.match(read_start(kept, 200))
    except OSError:
        found = None
    return _CALL_SHELL % os.fsdecode(found[1]) if found else _CALL
