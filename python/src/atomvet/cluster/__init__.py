"""Checks more traces than one machine can, on a Ray cluster: `python -m atomvet.cluster check TRACE… --out results.parquet`.

    given ──► shards, by size ──► workers: one `atomvet check` per shard ──► rows ──► three Parquet tables
    _inputs.py                    _worker.py                                 _results.py
                    ▲                   │
                    └── a worker died: its shard in two halves, or a trace again ── _runner.py

A shard's rows are its task's result: they arrive whole or not at all. So nothing is lost or counted twice.
"""

from ._results import Summary
from ._runner import Settings, check

__all__ = ["Settings", "Summary", "check"]
