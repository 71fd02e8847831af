"""The distributed runner: what traces are meant without a cluster, the rest on a Ray cluster of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, Set

import pytest

import atomvet
from atomvet.cluster import Settings, check
from atomvet.cluster._inputs import Given, expand, shards
from conftest import CLEAN, LOST


def test_names_mean_what_they_mean_to_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("runs/a.std", "runs/b/c.std", "runs/b/.hidden.std", "runs/.d/e.std", "runs/b/f[1].std", "runs/x.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(CLEAN)
    os.symlink(tmp_path / "runs" / "b", tmp_path / "runs" / "link")
    for given in ("runs", "runs/", "runs/**/*.std", "runs/*.std", "runs/b", "runs/b/f[1].std", "runs/?.*", "runs/[!x].std", "runs/*"):
        if "/" != given[-1]:
            assert [trace.name for trace in expand([given])] == [entry["trace"] for entry in atomvet.check(given).traces], given
    # The same through pyarrow's file systems, as on S3.
    uri = tmp_path.as_uri()
    for given in ("runs/**/*.std", "runs/*.std", "runs/b", "runs/?.*", "runs/[!x].std"):
        local = [str(tmp_path / trace.name) for trace in expand([given]) if "link" not in trace.name]
        assert [trace.name[len("file://") :] for trace in expand([f"{uri}/{given}"]) if "link" not in trace.name] == local, given
    nothing = expand(["runs/*.nosuch", "runs/a.std", "runs/a.std"])
    assert [(trace.name, bool(trace.error)) for trace in nothing] == [("runs/*.nosuch", True), ("runs/a.std", False)]


def test_shards_hold_every_trace_once() -> None:
    traces = [Given(str(size), size) for size in range(0, 1 << 20, 997)] + [Given("large", 1 << 30)]
    packed = shards(traces, 1 << 20)
    assert sorted(trace for shard in packed for trace in shard) == sorted(traces)
    assert [trace.name for trace in packed[0]] == ["large"]
    assert all(len(shard) == 1 or sum(trace.cost for trace in shard) <= 1 << 20 for shard in packed)


def _rows(path: Path) -> List[Dict[str, Any]]:
    import pyarrow.parquet as pq

    rows: List[Dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


@pytest.mark.cluster
def test_rows_and_status(tmp_path: Path, lost: Path, clean: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "again.std").write_text(LOST)
    (tmp_path / "broken.std").write_text("T1|w(x)\n")
    (tmp_path / "empty.std").write_text("")
    monkeypatch.chdir(tmp_path)
    command = [sys.executable, "-m", "atomvet.cluster", "check", "*.std", clean.as_uri(), "--out", "out.parquet", "--workers", "2"]
    done = subprocess.run([*command, "--", "--algo", "regiontrack,velodrome"], capture_output=True, text=True)
    assert done.returncode == atomvet.BAD_INPUT, done.stderr
    assert "6 traces" in done.stdout and "in 2 traces, such as again.std" in done.stdout
    status = {row["trace"]: row["status"] for row in _rows(tmp_path / "out.parquet")}
    assert status == {"again.std": 1, "broken.std": 2, "clean.std": 0, "empty.std": 3, "lost.std": 1, clean.as_uri(): 0}
    found = [(row["trace"], row["block"], row["count"], row["algorithm"]) for row in _rows(tmp_path / "out.findings.parquet")]
    assert sorted(found) == [(name, "deposit", 1, "regiontrack,velodrome") for name in ("again.std", "lost.std")]
    [mistake] = _rows(tmp_path / "out.mistakes.parquet")
    [same] = atomvet.check(["again.std", "lost.std"]).findings
    assert (mistake["fingerprint"], mistake["count"], mistake["traces"]) == (same["fingerprint"], same["count"], 2)
    assert not list(tmp_path.glob("*.partial"))
    done = subprocess.run([*command, "--", "--nosuch"], capture_output=True, text=True)
    assert done.returncode == atomvet.BAD_INPUT and "--nosuch" in done.stderr


def _children(process: int) -> Set[int]:
    found = set()
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        for child in map(int, task.read_text().split()):
            found |= {child} | _children(child)
    return found


def _workers_with_a_shard() -> List[int]:
    """The Ray workers below this process that have a command running."""
    found = []
    for process in _children(os.getpid()):
        try:
            name = Path(f"/proc/{process}/cmdline").read_bytes()
        except OSError:
            continue
        if name.startswith(b"ray::") and _children(process):
            found.append(process)
    return found


@pytest.mark.cluster
def test_workers_that_die_lose_nothing(tmp_path: Path) -> None:
    command = [atomvet.command(), "gen", "--mode", "two-phase", "--events", "200000"]
    for i in range(24):
        (tmp_path / f"small{i}.std").write_text(LOST if i % 3 == 0 else CLEAN)
        subprocess.run([*command, "--seed", str(i), "--inject", str(i % 2), "-o", str(tmp_path / f"large{i}.atv")], check=True)
    killed: List[int] = []
    over = threading.Event()

    def kill() -> None:
        while not over.is_set() and len(killed) < 3:
            for worker in _workers_with_a_shard()[:1]:
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)
                time.sleep(1)
            time.sleep(0.001)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        options = ("--algo", "aerodrome-basic,regiontrack")
        summary = check([str(tmp_path)], *options, out=str(tmp_path / "out.parquet"), settings=Settings(workers=3))
    finally:
        over.set()
        killer.join()
    assert killed and summary.deaths == len(killed)
    alone = atomvet.check(str(tmp_path / "*[0-9].*"), *options)
    rows = _rows(tmp_path / "out.parquet")
    assert {row["trace"]: (row["status"], row["events"]) for row in rows} == {
        entry["trace"]: (entry["status"], entry["events"]) for entry in alone.traces
    }
    assert len(rows) == 48
    merged = {row["fingerprint"]: (row["count"], row["traces"]) for row in _rows(tmp_path / "out.mistakes.parquet")}
    assert merged == {finding["fingerprint"]: (finding["count"], len(finding["traces"])) for finding in alone.findings}


@pytest.mark.cluster
def test_a_trace_that_kills_every_worker_is_one_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that ends by a signal, without a report, when it is given the poisoned trace."""
    command = tmp_path / "atomvet"
    command.write_text(f'#!/bin/sh\nl=$(mktemp)\ncat > "$l"\ngrep -q poison "$l" && kill -9 $$\nexec "{atomvet.command()}" "$@" < "$l"\n')
    command.chmod(0o755)
    monkeypatch.setenv("ATOMVET", str(command))
    (tmp_path / "traces").mkdir()
    for i in range(9):
        (tmp_path / "traces" / f"{i}.std").write_text(CLEAN)
    (tmp_path / "traces" / "poison.std").write_text(CLEAN)
    summary = check([str(tmp_path / "traces")], out=str(tmp_path / "out.parquet"), settings=Settings(workers=2))
    assert summary.by_status == {0: 9, 2: 1}
    [bad] = [row for row in _rows(tmp_path / "out.parquet") if row["status"] == 2]
    assert bad["trace"].endswith("poison.std") and "3 attempts" in bad["why"]


@pytest.mark.cluster
def test_a_command_that_never_works_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = tmp_path / "atomvet"
    command.write_text(f'#!/bin/sh\ncase "$*" in *--files-from*) echo old version >&2; exit 2;; esac\nexec "{atomvet.command()}" "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("ATOMVET", str(command))
    for i in range(30):
        (tmp_path / f"{i}.std").write_text(CLEAN)
    with pytest.raises(atomvet.AtomvetError, match="old version"):
        check([str(tmp_path / "*.std")], out=str(tmp_path / "out.parquet"), settings=Settings(workers=2))
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.cluster
def test_a_trace_too_large_for_a_worker_gets_a_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = tmp_path / "wide.std"
    trace.write_text("".join(f"T{i % 2}|begin(b)|1\nT{i % 2}|w(x{i})|2\nT{i % 2}|end|3\n" for i in range(400_000)))
    monkeypatch.setattr("atomvet.cluster._runner._share", lambda machines: 16 << 20)
    summary = check([str(trace)], out=str(tmp_path / "out.parquet"), settings=Settings(workers=2))
    assert summary.by_status == {0: 1} and summary.deaths == 0
