"""A trace as an Arrow table.

The command converts any trace to the binary format (docs/trace-formats.md), which is columnar: a column is planes of
one byte per event. Here they are laid side by side and given to Arrow; no event is looked at by Python code.
"""

from __future__ import annotations

import os
import struct
import tempfile
from typing import IO, TYPE_CHECKING, Any, Dict, List, Optional, Union

from ._command import AtomvetError, StrPath, message, run
from ._operations import CODES, KINDS, NAMES

if TYPE_CHECKING:
    import pyarrow

_BLOCK = struct.Struct("<4sIIIIIQQQ")


def read(trace: Union[StrPath, bytes]) -> "pyarrow.Table":
    """The events of a trace, in order: `thread`, `op`, `target` and `site`, each a dictionary of strings.

    `op` is a word of the text format (`r`, `w`, `acq`, `begin`, …). `target` is the name of the variable, lock, thread,
    barrier or label; null where an operation has none. `site` is null where it is not known. Needs pyarrow.
    Raises `AtomvetError`, with the place, if the trace cannot be read.
    """
    import pyarrow as pa

    given, name = None, "-"
    if isinstance(trace, (bytes, bytearray, memoryview)):
        given = bytes(trace)
    else:
        name = os.fspath(trace)
    with tempfile.TemporaryFile() as converted:
        done = run(["convert", "--to", "binary", "-o", "-", "--", name], given, stdout=converted)
        if done.returncode != 0:
            raise AtomvetError(message(done))
        converted.seek(0)
        return _table(converted, pa)


def _table(stream: IO[bytes], pa: Any) -> "pyarrow.Table":
    names: List[List[str]] = [[] for _ in KINDS]
    columns: List[List[Any]] = [[], [], [], []]
    header = stream.read(16)
    if struct.unpack_from("<I", header, 8)[0] == 2:
        length = struct.unpack("<4sI", stream.read(8))[1]
        stream.read(length + 8)
    zstd = pa.Codec("zstd")
    while True:
        tag, _, events, _, stored, unpacked, _, _, _ = _BLOCK.unpack(stream.read(_BLOCK.size))
        if tag == b"END.":
            break
        payload = memoryview(zstd.decompress(stream.read(stored), decompressed_size=unpacked)).cast("B")
        at = 0
        for of_kind in names:
            number, at = _varint(payload, at)
            for _ in range(number):
                length, at = _varint(payload, at)
                of_kind.append(str(payload[at : at + length], "utf-8"))
                at += length
        columns[0].append(_planes(payload[at : at + events], 1, events, pa))
        at += events
        for column in columns[1:]:
            planes = payload[at]
            at += 1
            column.append(_planes(payload[at : at + planes * events], planes, events, pa))
            at += planes * events
    ops, threads, targets, sites = (pa.chunked_array(column, type=pa.uint32()).combine_chunks() for column in columns)
    return _named(ops, threads, targets, sites, names, pa)


def _varint(payload: memoryview, at: int) -> "tuple[int, int]":
    value, shift = 0, 0
    while True:
        byte = payload[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _planes(planes: memoryview, number: int, events: int, pa: Any) -> Any:
    """The bytes of each plane side by side, as numbers."""
    values = bytearray(4 * events)
    for plane in range(number):
        values[plane::4] = planes[plane * events : (plane + 1) * events]
    return pa.Array.from_buffers(pa.uint32(), events, [None, pa.py_buffer(bytes(values))])


def _named(ops: Any, threads: Any, targets: Any, sites: Any, names: List[List[str]], pa: Any) -> "pyarrow.Table":
    import pyarrow.compute as pc

    # Names of all kinds, one kind behind the other; the same name of two kinds is one entry of the dictionary.
    first: Dict[Optional[str], int] = {}
    everything: List[str] = []
    for kind, of_kind in zip(KINDS, names):
        first[kind] = len(everything)
        everything.extend(of_kind)
    unique = {name: None for name in everything}
    number = {name: index for index, name in enumerate(unique)}
    shared = pa.array([number[name] for name in everything], pa.uint32())
    start = pa.array([first.get(CODES[code]) for code in sorted(CODES)], pa.uint32())
    at = pc.add(start.take(ops), targets)

    def dictionary(indices: Any, values: List[str]) -> Any:
        return pa.DictionaryArray.from_arrays(indices.cast(pa.int32()), pa.array(values, pa.string()))

    words = list(dict.fromkeys(NAMES[code] for code in sorted(NAMES)))
    word = pa.array([words.index(NAMES[code]) for code in sorted(NAMES)], pa.uint32())
    known = pc.if_else(pc.equal(sites, 0), None, pc.subtract(pc.max_element_wise(sites, 1), 1))
    return pa.table(
        {
            "thread": dictionary(threads, names[0]),
            "op": dictionary(word.take(ops), words),
            "target": dictionary(shared.take(at), list(unique)),
            "site": dictionary(known, names[5]),
        }
    )
