"""Traces as Arrow tables, judged by a naive reader of the text format."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

import atomvet
from conftest import LOST


def naive(text: str) -> "list[dict[str, str | None]]":
    rows: "list[dict[str, str | None]]" = []
    for line in text.splitlines():
        thread, op, site = line.split("|")
        word, _, target = op.partition("(")
        place = None if site == "0" else site
        rows.append({"thread": thread, "op": word, "target": target[:-1] or None, "site": place})
    return rows


def test_a_small_trace() -> None:
    assert atomvet.read(LOST.encode()).to_pylist() == naive(LOST)


@pytest.mark.parametrize("mode, events", [("random", 300), ("two-phase", 200_000), ("thread-local", 70_000)])
def test_generated_traces(tmp_path: Path, mode: str, events: int) -> None:
    for name in ("trace.std", "trace.atv"):
        path = tmp_path / name
        made = [atomvet.command(), "gen", "--mode", mode, "--events", str(events), "-o", str(path)]
        subprocess.run(made, check=True)
        table = atomvet.read(path)
        assert table.num_rows == events and table.column_names == ["thread", "op", "target", "site"]
        assert table.to_pylist() == naive((tmp_path / "trace.std").read_text())


def test_the_same_name_of_two_kinds() -> None:
    table = atomvet.read(b"a|acq(a)|a:1\na|w(a)|0\na|rel(a)|7\n")
    assert table["target"].to_pylist() == ["a", "a", "a"]
    assert table["site"].to_pylist() == ["a:1", None, "7"]


def test_conventions_and_emptiness() -> None:
    assert atomvet.read(b"#atomvet waits=split updates=commute\nT1|w(x)|1\n").num_rows == 1
    assert atomvet.read(b"").num_rows == 0


def test_a_bad_trace_is_an_error_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.std"
    path.write_text("T1|w(x)|1\nT1|w(x\n")
    with pytest.raises(atomvet.AtomvetError, match=r"bad.std:2:"):
        atomvet.read(path)
