"""Traces that Python writes are read back by the command."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import List, Optional, Tuple, Type, Union

import pytest
import xxhash

import atomvet
from atomvet._xxh3 import _pure
from atomvet.trace import BinaryWriter, TextWriter

Row = Tuple[str, str, Optional[str], Union[str, int, None]]
NAMES = ["x", "a b", "(", "a|b", "back\\slash", "new\nline", "\r", "#hash", " #", "ä", "\\p", "long" * 500]
SITES = [None, 0, 7, "12", "b.c:3", "C:\\x|y:4", "lib.so+0x1f", "007"]
PLAIN = "r w ar aw rmw add or and xor min max alloc free escape same acq rel racq rrel wait fork join barrier".split()
WRITERS = [TextWriter, BinaryWriter]


def events(number: int) -> List[Row]:
    rng = random.Random(number)
    made: List[Row] = []
    for _ in range(number):
        op = rng.choice([*PLAIN, "begin", "end"])
        has_none = op == "end" or (op == "begin" and rng.random() < 0.5)
        target = None if has_none else rng.choice(NAMES) + str(rng.randrange(400))
        made.append((rng.choice(NAMES), op, target, rng.choice(SITES)))
    return made


def as_read(row: Row) -> "dict[str, str | None]":
    thread, op, target, site = row
    known = None if site in (None, 0) else str(int(site)) if str(site).isdigit() else str(site)  # type: ignore[arg-type]
    return {"thread": thread, "op": op, "target": target, "site": known}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("number, block", [(0, 100), (1, 100), (5, 3), (40_000, 1 << 14), (66_000, 1 << 16)])
def test_what_is_written_is_read_back(
    tmp_path: Path, writer: "Type[TextWriter] | Type[BinaryWriter]", number: int, block: int
) -> None:
    path = tmp_path / "trace"
    made = events(number)
    with writer(path) as trace:
        trace.block = block  # type: ignore[union-attr]
        for row in made:
            trace.event(*row)
    assert atomvet.read(path).to_pylist() == [as_read(row) for row in made]


@pytest.mark.parametrize("writer", WRITERS)
def test_into_a_stream_and_checked(writer: "Type[TextWriter] | Type[BinaryWriter]") -> None:
    stream = io.BytesIO()
    trace = writer(stream)
    trace.event("T1", "begin", "deposit", "b.c:1")
    trace.event("T1", "r", "x", 2)
    trace.event("T2", "w", "x", 3)
    trace.event("T1", "w", "x", 4)
    trace.event("T1", "end")
    trace.close()
    [finding] = atomvet.check(stream.getvalue()).findings
    assert (finding["block"], finding["shape"]) == ("deposit", "lost update")


def test_what_is_not_closed_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "cut.atv"
    with pytest.raises(RuntimeError):
        with BinaryWriter(path) as trace:
            trace.event("T1", "begin")
            raise RuntimeError
    assert atomvet.check(path).traces[0]["error"]["kind"] == "truncated"


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize(
    "row, problem",
    [
        (("T1", "read", "x"), "no operation"),
        (("T1", "r"), "needs the name of a variable"),
        (("", "r", "x"), "1 byte"),
        (("T1", "r", "x", "nowhere"), "no site"),
        (("T1", "r", "x", 1 << 64), "too large"),
        (("T1", "r", "x" * (1 << 20) + "x"), "1 MiB"),
    ],
)
def test_what_the_format_does_not_allow(
    writer: "Type[TextWriter] | Type[BinaryWriter]", row: "Tuple[str, str]", problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        writer(io.BytesIO()).event(*row)


def test_the_checksum() -> None:
    """Judged by the reference implementation."""
    rng = random.Random(3)
    for length in [0, *range(9, 700), 1023, 1024, 1025, 5000, 100_000]:
        data = rng.randbytes(length)
        assert _pure(data) == xxhash.xxh3_64_intdigest(data), length
