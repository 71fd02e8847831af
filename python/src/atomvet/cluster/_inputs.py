"""Which traces are meant, and how large they are.

Paths, folders and patterns mean what they mean to `atomvet check`. Every machine of the cluster must see the same files at
the same paths. What has a scheme (`s3://bucket/runs/**/*.atv`, `gs://`, `hdfs://`) is listed and read through pyarrow.
"""

from __future__ import annotations

import glob
import os
import re
from typing import Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

#: What to start and to report a trace costs, in bytes of a trace that take as long to check.
_START = 1 << 13
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PATTERN = re.compile(r"[*?\[]")


class Given(NamedTuple):
    """A trace."""

    #: As it was given, or found in a folder.
    name: str
    size: int
    #: Why there is none.
    error: Optional[str] = None

    @property
    def cost(self) -> int:
        return self.size + _START

    @property
    def is_remote(self) -> bool:
        return is_remote(self.name)


def is_remote(name: str) -> bool:
    return _SCHEME.match(name) is not None


def expand(names: Iterable[str]) -> List[Given]:
    """All traces, each once. What means no trace at all is an entry with an error, so that a mistyped name is not clean."""
    found: Dict[str, Given] = {}
    for name in names:
        for given in _remote(name) if is_remote(name) else _local(name):
            found.setdefault(given.name, given)
    return list(found.values())


def _local(name: str) -> Iterator[Given]:
    if os.path.isdir(name):
        return _or_error(name, _below(name), "has no files in it")
    if os.path.exists(name) or not _PATTERN.search(name):
        # If it is not there, the command says so.
        return iter([Given(name, os.path.getsize(name) if os.path.exists(name) else 0)])
    return _or_error(name, _matching(name), "matches no file")


def _matching(pattern: str) -> Iterator[Tuple[str, int]]:
    for path in sorted(glob.glob(pattern, recursive=True)):
        if not os.path.isdir(path):
            yield path, os.path.getsize(path)
        elif "**" not in pattern:
            yield from _below(path)


def _below(folder: str) -> Iterator[Tuple[str, int]]:
    """The files below a folder, sorted, without hidden ones and links to folders."""
    with os.scandir(folder) as entries:
        listed = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.name)
    for entry in listed:
        if entry.is_dir(follow_symlinks=False):
            yield from _below(entry.path)
        elif not entry.is_dir():
            yield entry.path, entry.stat().st_size if os.path.exists(entry.path) else 0


def _remote(uri: str) -> Iterator[Given]:
    from pyarrow import fs

    scheme = uri[: uri.index("://") + 3]
    first = _PATTERN.search(uri)
    # The longest part before the pattern that is a folder.
    base = uri[: uri.rindex("/", 0, first.start())] if first else uri
    system, path = fs.FileSystem.from_uri(base)
    start = system.get_file_info(path)
    if first is None and start.type == fs.FileType.File:
        return iter([Given(uri, start.size or 0)])
    wanted = re.compile(_regex(uri[len(base) :]) if first else r"(/[^/.][^/]*)+")
    below = system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
    files = sorted((info.path, info.size or 0) for info in below if info.type == fs.FileType.File)
    matching = ((scheme + name, size) for name, size in files if wanted.fullmatch(name[len(path.rstrip("/")) :]))
    return _or_error(uri, matching, "matches no file" if first else "has no files in it")


def _regex(pattern: str) -> str:
    """`**/` is any number of folders, `*` and `?` stay within a name, and none of them begins a hidden one."""
    out, at = "", 0
    while at < len(pattern):
        if pattern.startswith("**/", at):
            out, at = out + r"(?:[^/.][^/]*/)*", at + 3
        elif pattern.startswith("**", at):
            out, at = out + r"[^/.][^/]*(?:/[^/.][^/]*)*", at + 2
        elif pattern[at] in "*?":
            visible = r"(?!\.)" if pattern[at - 1] == "/" else ""
            out, at = out + visible + ("[^/]*" if pattern[at] == "*" else "[^/]"), at + 1
        elif pattern[at] == "[" and "]" in pattern[at + 2 :]:
            end = pattern.index("]", at + 2)
            inside = pattern[at + 1 : end].replace("\\", r"\\").replace("^", r"\^")
            out, at = out + "[" + ("^" + inside[1:] if inside[0] == "!" else inside) + "]", end + 1
        else:
            out, at = out + re.escape(pattern[at]), at + 1
    return out


def _or_error(name: str, found: Iterable[Tuple[str, int]], problem: str) -> Iterator[Given]:
    nothing = True
    for path, size in found:
        nothing = False
        yield Given(path, size)
    if nothing:
        yield Given(name, 0, f"{name}: {problem}; check the name and the folder it starts from")


def shards(traces: Iterable[Given], target: int) -> List[List[Given]]:
    """The traces in groups that cost at most `target` each, or of one trace; the most expensive first."""
    packed: List[List[Given]] = []
    room = 0
    for trace in sorted(traces, key=lambda trace: -trace.cost):
        if trace.cost > room:
            packed.append([])
            room = target
        packed[-1].append(trace)
        room -= trace.cost
    return packed
