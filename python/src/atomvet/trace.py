"""Writes traces, for tools that record or make them: `TextWriter` and `BinaryWriter`. Pure Python, no dependencies.

    with atomvet.trace.BinaryWriter("run.atv") as trace:
        trace.event("T1", "begin", "deposit", "bank.c:12")
        trace.event("T1", "w", "balance", "bank.c:13")
        trace.event("T1", "end")

Both write what docs/trace-formats.md describes, and refuse what it does not allow. Whether the events make sense together
(locks, forks, blocks) is the reader's judgement: `atomvet check` says what is wrong, with its place. The binary
file is not compressed; `atomvet convert` makes it smaller.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from types import TracebackType
from typing import IO, Dict, List, Optional, Tuple, Type, TypeVar, Union

from ._command import StrPath
from ._operations import CODES, KINDS, WORDS
from ._xxh3 import xxh3

__all__ = ["BinaryWriter", "TextWriter"]

_LONGEST = 1 << 20
_SITE = re.compile(r"[0-9]+|.+:[0-9]+|.+\+0x[0-9a-f]{1,16}", re.DOTALL)
_BEGIN_LABELLED = 19
Self = TypeVar("Self", bound="_Writer")


class _Writer:
    """What both formats have in common: where bytes go, and which events there are."""

    def __init__(self, to: Union[StrPath, IO[bytes]]) -> None:
        self._own = not hasattr(to, "write")
        self._file: IO[bytes] = Path(to).open("wb") if self._own else to  # type: ignore[arg-type, assignment]
        self._closed = False

    def event(self, thread: str, op: str, target: Optional[str] = None, site: Union[str, int, None] = None) -> None:
        """Appends an event. `op` is a word of the text format, such as `r`, `acq` or `begin`; `target` is the name of
        its variable, lock, thread, barrier or label; `site` is a number, `file:line` or `module+0xoffset`.
        """
        if op not in WORDS:
            raise ValueError(f"{op!r} is no operation; use one of {' '.join(WORDS)}")
        code, kind = WORDS[op], CODES[WORDS[op]]
        if op == "begin" and target:
            code, kind = _BEGIN_LABELLED, "label"
        if kind is None:
            if target and op != "end":
                raise ValueError(f"{op} has no target")
            target = None
        elif not target:
            raise ValueError(f"{op} needs the name of a {kind}")
        place = "0" if site is None or site == "" else str(site)
        if not _SITE.fullmatch(place):
            raise ValueError(f"{place!r} is no site; use a number, file:line or module+0xoffset")
        if place.isdigit():
            place = str(int(place))
            if int(place) >> 64:
                raise ValueError(f"{place} is too large for a site")
        for name in (thread, target, place):
            if name is not None and not 0 < len(name.encode()) <= _LONGEST:
                raise ValueError("a name has from 1 byte to 1 MiB")
        self._write(code, op, kind, thread, target, place)

    def _write(self, code: int, op: str, kind: Optional[str], thread: str, target: Optional[str], site: str) -> None:
        raise NotImplementedError

    def _finish(self) -> None:
        """Writes what is left."""

    def close(self) -> None:
        """Completes the trace. Without it, a binary trace counts as cut off."""
        if not self._closed:
            self._closed = True
            self._finish()
            self._file.flush()
            if self._own:
                self._file.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]) -> None:
        if kind is None:
            self.close()
        elif self._own:
            # What is half written must not look whole.
            self._file.close()


def _escaped(name: str) -> str:
    return name.replace("\\", "\\\\").replace("|", "\\p").replace("\n", "\\n").replace("\r", "\\r")


class TextWriter(_Writer):
    """Writes the text format: RAPID's STD and a superset of it."""

    def _write(self, code: int, op: str, kind: Optional[str], thread: str, target: Optional[str], site: str) -> None:
        who = _escaped(thread)
        if who.lstrip(" \t").startswith("#"):
            who = who.replace("#", "\\#", 1)
        what = op if target is None else f"{op}({_escaped(target)})"
        line = f"{who}|{what}|{_escaped(site)}\n".encode()
        if len(line) > _LONGEST:
            raise ValueError("a line has at most 1 MiB")
        self._file.write(line)


class BinaryWriter(_Writer):
    """Writes the binary format, uncompressed."""

    #: Events of a block, at most 65,536.
    block = 1 << 14

    def __init__(self, to: Union[StrPath, IO[bytes]]) -> None:
        super().__init__(to)
        self._names: Dict[str, Dict[str, int]] = {kind: {} for kind in KINDS}
        self._new: Dict[str, List[bytes]] = {kind: [] for kind in KINDS}
        self._size = 0
        self._events: List[Tuple[int, int, int, int]] = []
        self._blocks = self._written = 0
        start = bytes.fromhex("934154560d0a1a0a") + struct.pack("<I", 1)
        self._file.write(start + struct.pack("<I", xxh3(start) & 0xFFFFFFFF))

    def _write(self, code: int, op: str, kind: Optional[str], thread: str, target: Optional[str], site: str) -> None:
        of_target = self._number(kind, target) if kind is not None and target is not None else 0
        of_site = 0 if site == "0" else self._number("site", site) + 1
        self._events.append((code, self._number("thread", thread), of_target, of_site))
        if len(self._events) == self.block or self._size > 1 << 22:
            self._flush()

    def _number(self, kind: str, name: str) -> int:
        numbers = self._names[kind]
        if name not in numbers:
            numbers[name] = len(numbers)
            self._new[kind].append(name.encode())
            self._size += len(self._new[kind][-1])
        return numbers[name]

    def _flush(self) -> None:
        payload = bytearray()
        for kind in KINDS:
            payload += _varint(len(self._new[kind]))
            for name in self._new[kind]:
                payload += _varint(len(name)) + name
        payload += bytes(event[0] for event in self._events)
        for column in (1, 2, 3):
            values = [event[column] for event in self._events]
            planes = (max(values).bit_length() + 7) // 8
            payload.append(planes)
            packed = struct.pack(f"<{len(values)}I", *values)
            for plane in range(planes):
                payload += packed[plane::4]
        names = sum(map(len, self._new.values()))
        stored = _zstd(bytes(payload))
        self._header(b"EVTS", self._blocks, len(self._events), names, len(stored), len(payload), self._written, xxh3(stored))
        self._file.write(stored)
        self._blocks += 1
        self._written += len(self._events)
        self._events.clear()
        self._size = 0
        for new in self._new.values():
            new.clear()

    def _header(self, tag: bytes, *fields: int) -> None:
        start = tag + struct.pack("<IIIIIQQ", *fields)
        self._file.write(start + struct.pack("<Q", xxh3(start)))

    def _finish(self) -> None:
        if self._events:
            self._flush()
        self._header(b"END.", self._blocks, 0, 0, 0, 0, self._written, xxh3(b""))


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value >= 0x80:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def _zstd(data: bytes) -> bytes:
    """A zstd frame of raw blocks: nothing is compressed. Its header has the length in 4 bytes."""
    frame = bytearray(bytes.fromhex("28b52ffda0") + struct.pack("<I", len(data)))
    largest = 1 << 17
    for at in range(0, len(data), largest):
        piece = data[at : at + largest]
        last = at + largest >= len(data)
        frame += (len(piece) << 3 | last).to_bytes(3, "little") + piece
    return bytes(frame)
