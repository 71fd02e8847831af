"""`python -m atomvet.cluster check TRACE… --out results.parquet`."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Callable

from .._check import BAD_INPUT
from .._command import AtomvetError
from ._runner import Settings, check


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m atomvet.cluster", description="Checks traces on a Ray cluster.")
    parser.add_argument("what", choices=["check"], help="what to do with the traces")
    parser.add_argument("traces", nargs="*", metavar="TRACE", help="files, folders, patterns such as 'runs/**/*.atv'; s3://, gs:// and hdfs:// work too")
    parser.add_argument("--files-from", metavar="LIST", help="also take the names that this file lists, one per line")
    parser.add_argument("--out", required=True, metavar="FILE", help="one row per trace; FILE.findings and FILE.mistakes beside it (.parquet stays last)")
    parser.add_argument("--address", help="the cluster: auto, or ray://HOST:PORT [default: RAY_ADDRESS, else Ray is started on this machine]")
    parser.add_argument("--workers", type=int, metavar="N", help="processes, if Ray is started on this machine [default: one per core]")
    parser.add_argument("--attempts", type=int, default=3, metavar="N", help="how often a trace is tried whose worker dies [default: 3]")
    parser.epilog = "Options of atomvet check go behind --, such as: -- --predict --spec atomvet.toml"
    return parser


def main() -> int:
    """The exit status is that of `atomvet check` on all traces together."""
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    parser = _arguments()
    args = parser.parse_args(words[:split])
    if args.workers is not None and (args.workers < 1 or args.address):
        parser.error("--workers needs a number from 1, and no --address: a cluster knows its workers")
    if args.attempts < 1:
        parser.error("--attempts needs a number from 1")
    traces = args.traces + (Path(args.files_from).read_text().splitlines() if args.files_from else [])
    if not any(traces):
        parser.error("names no trace")
    try:
        import pyarrow  # noqa: F401
        import ray  # noqa: F401
    except ImportError as missing:
        print(f"atomvet.cluster: {missing}; install it with: pip install 'atomvet[cluster]'", file=sys.stderr)
        return BAD_INPUT
    settings = Settings(args.address, args.workers, args.attempts)
    try:
        summary = check([name for name in traces if name], *words[split + 1 :], out=args.out, settings=settings, progress=_progress())
    except (AtomvetError, OSError) as error:
        print(f"atomvet.cluster: {error}", file=sys.stderr)
        return BAD_INPUT
    print(summary.text())
    return summary.status


def _progress() -> Callable[[int, int], None]:
    """How far it is, on a terminal."""
    started, last = time.monotonic(), [0.0]

    def show(done: int, of: int) -> None:
        now = time.monotonic()
        if os.isatty(2) and (now - last[0] > 0.5 or done == of):
            last[0] = now
            left = (now - started) / max(done, 1) * (of - done)
            print(f"\r{done:,} of {of:,} traces, {left:,.0f} s left ", end="\n" if done == of else "", file=sys.stderr, flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())
