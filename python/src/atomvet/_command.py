"""Where the `atomvet` command is, and how it is run.

The command is a process of its own on purpose. It bounds its memory with its own allocator and handles signals
itself, neither of which can be done inside a Python process, and a process that dies takes nothing with it.
Starting it takes a few milliseconds: give it many traces at once.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import IO, Optional, Sequence, Union

StrPath = Union[str, "os.PathLike[str]"]


class AtomvetError(Exception):
    """The command could not do what it was asked. Its message says what to do."""


def command() -> str:
    """The path of the command: `ATOMVET` in the environment, else the one of this package, else the one on the path."""
    name = "atomvet.exe" if os.name == "nt" else "atomvet"
    given = os.environ.get("ATOMVET")
    if given:
        return given
    own = Path(sysconfig.get_path("scripts")) / name
    if own.is_file():
        return str(own)
    found = shutil.which(name)
    if found is None:
        raise AtomvetError("there is no atomvet command; install this package with pip, or set ATOMVET to its path")
    return found


def run(
    arguments: Sequence[str], given: Optional[bytes] = None, stdout: Union[int, IO[bytes]] = subprocess.PIPE
) -> "subprocess.CompletedProcess[bytes]":
    """Runs the command with `given` on its standard input, and keeps what it says."""
    # Without input of its own, it must not take that of this process.
    return subprocess.run([command(), *arguments], input=given if given is not None else b"", stdout=stdout, stderr=subprocess.PIPE)


def message(done: "subprocess.CompletedProcess[bytes]") -> str:
    """What a run that failed said."""
    said = done.stderr.decode("utf-8", "replace").strip()
    return said or f"atomvet ended with status {done.returncode}"
