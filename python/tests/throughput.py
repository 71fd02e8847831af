"""What the distributed runner costs: traces checked by one process on all cores, and by the workers of a Ray cluster on this machine.

`cargo xtask cluster` runs it. Other work on the machine disturbs the clock, so what decides is processor time: of the one
command, and of all workers with their commands, for the same traces, in alternation.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import List, Tuple

import atomvet
from atomvet.cluster import Settings, check


def _generate(folder: Path, small: int, large: int, events: int) -> None:
    """Small traces of many sizes, one in ten with a violation, and large ones."""
    command = [atomvet.command(), "gen", "--mode", "two-phase"]
    kinds: List[bytes] = []
    for seed in range(200):
        made = [*command, "--events", str(100 + seed % 20 * 100), "--seed", str(seed), "--inject", str(int(seed % 10 == 0)), "--format", "binary"]
        kinds.append(subprocess.run([*made, "-o", "-"], check=True, stdout=subprocess.PIPE).stdout)
    for i in range(small):
        if i % 1000 == 0:
            (folder / str(i // 1000)).mkdir()
        (folder / str(i // 1000) / f"{i}.atv").write_bytes(random.Random(i).choice(kinds))
    for i in range(large):
        subprocess.run([*command, "--events", str(events), "--seed", str(i), "-o", str(folder / f"large{i}.atv")], check=True)


def _alone(folder: Path) -> Tuple[float, float, int]:
    before, started = os.times(), time.monotonic()
    command = [atomvet.command(), "check", "--jobs", str(os.cpu_count() or 1), "--format", "json", "-o", str(folder.parent / "alone.json"), str(folder)]
    done = subprocess.run(command, stderr=subprocess.DEVNULL)
    after = os.times()
    processor = after.children_user + after.children_system - before.children_user - before.children_system
    return processor, time.monotonic() - started, done.returncode


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--small", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=20)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    workers = os.cpu_count() or 1
    with tempfile.TemporaryDirectory(prefix="atomvet-cluster-") as made:
        folder = Path(made) / "traces"
        folder.mkdir()
        _generate(folder, args.small, args.large, args.events)
        ratios = []
        for _ in range(args.rounds):
            alone, clock, status = _alone(folder)
            started = time.monotonic()
            summary = check([str(folder)], out=str(Path(made) / "out.parquet"), settings=Settings(workers=workers))
            together = time.monotonic() - started
            if (summary.traces, summary.status, summary.deaths) != (args.small + args.large, status, 0):
                print(f"the cluster says {summary}, the command {status}", file=sys.stderr)
                return 1
            ratios.append(alone / summary.processor)
            print(
                f"{summary.traces:,} traces, {summary.events:,} events; processor time: one process {alone:.1f} s, {workers} workers "
                f"{summary.processor:.1f} s, throughput per core {100 * ratios[-1]:.0f}%; by the clock {clock:.1f} s and {together:.1f} s"
            )
    middle = statistics.median(ratios)
    print(f"throughput per core: {100 * middle:.0f}% of one process's (median); wanted: 90%")
    return 0 if middle >= 0.9 else 1


if __name__ == "__main__":
    sys.exit(main())
