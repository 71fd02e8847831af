"""The three tables that a run writes, and what it says in the end.

| `--out results.parquet` | one row per |
|---|---|
| `results.parquet` | trace |
| `results.findings.parquet` | mistake and trace that has it |
| `results.mistakes.parquet` | mistake, merged by fingerprint over all traces |

They get these names when they are complete: what an interrupted run leaves does not look whole.
"""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, Dict, List, NamedTuple

from .._check import BAD_INPUT, CLEAN, NOT_ALL_JUDGED, VIOLATIONS
from ._worker import Outcome

#: Rows that are kept in memory before they are written.
_GROUP = 1 << 16
#: From the best to the worst, as the command orders them.
_ORDER = (CLEAN, NOT_ALL_JUDGED, VIOLATIONS, BAD_INPUT)
_MEANING = {CLEAN: "clean", VIOLATIONS: "with violations", BAD_INPUT: "not readable", NOT_ALL_JUDGED: "not judged, or not wholly"}

_TRACE = {"trace": "string", "bytes": "int64", "status": "int8", "why": "string", "seconds": "float64"}
_TRACE.update({name: "int64" for name in ("events", "threads", "variables", "locks", "blocks", "transactions")})
_MISTAKE = {name: "string" for name in ("fingerprint", "kind", "strength", "block", "site", "shape")}
_FINDING = {"trace": "string", "algorithm": "string", **_MISTAKE, "event": "int64", "count": "int64", "set_aside": "bool"}
_MERGED = {**_MISTAKE, "count": "int64", "traces": "int64", "first_trace": "string"}


class Summary(NamedTuple):
    """What came of a run."""

    #: The worst status of a trace, as the command's: 0, 1, 2 or 3.
    status: int
    traces: int
    #: How many traces have which status.
    by_status: Dict[int, int]
    events: int
    mistakes: List[Dict[str, Any]]
    #: How often a worker died, or a command in it.
    deaths: int
    #: Processor time of all workers, in seconds.
    processor: float

    def text(self) -> str:
        """For people."""
        parts = [f"{self.by_status[status]:,} {_MEANING[status]}" for status in _ORDER if self.by_status.get(status)]
        lines = [f"{self.traces:,} traces, {self.events:,} events: {', '.join(parts)}"]
        shown = sorted(self.mistakes, key=lambda mistake: -int(mistake["traces"]))[:20]
        for mistake in shown:
            what = mistake["block"] or "(no block to blame)"
            shape = f", {mistake['shape']}" if mistake["shape"] else ""
            lines.append(f"  {mistake['kind']} ({mistake['strength']}): {what}{shape}: in {mistake['traces']:,} traces, such as {mistake['first_trace']}")
        if len(self.mistakes) > len(shown):
            lines.append(f"  … and {len(self.mistakes) - len(shown):,} more mistakes")
        if self.deaths:
            lines.append(f"  {self.deaths:,} workers died; their traces were given to others")
        return "\n".join(lines)


class _Table:
    def __init__(self, path: str, columns: Dict[str, str]) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._path = path
        self._rows: List[Dict[str, Any]] = []
        self._schema = pa.schema([(name, pa.type_for_alias(kind)) for name, kind in columns.items()])
        self._writer = pq.ParquetWriter(path + ".partial", self._schema)

    def add(self, row: Dict[str, Any]) -> None:
        self._rows.append({name: _text(row.get(name)) for name in self._schema.names})
        if len(self._rows) >= _GROUP:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa

        self._writer.write_table(pa.Table.from_pylist(self._rows, schema=self._schema))
        self._rows.clear()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def publish(self) -> None:
        os.replace(self._path + ".partial", self._path)


def _text(value: Any) -> Any:
    """A name that is no UTF-8 is made so: Parquet has no others."""
    return os.fsencode(value).decode("utf-8", "replace") if isinstance(value, str) else value


class Results:
    """Takes the rows of shards, in any order, each once."""

    def __init__(self, out: str) -> None:
        stem = out[: -len(".parquet")] if out.endswith(".parquet") else out
        self._traces = _Table(out, _TRACE)
        self._findings = _Table(stem + ".findings.parquet", _FINDING)
        self._mistakes = _Table(stem + ".mistakes.parquet", _MERGED)
        self._merged: Dict[str, Dict[str, Any]] = {}
        self._by_status: "Counter[int]" = Counter()
        self._events, self._processor = 0, 0.0

    def add(self, outcome: Outcome) -> None:
        self._processor += outcome.processor
        for row in outcome.traces:
            self._traces.add(row)
            self._by_status[row["status"]] += 1
            self._events += row["events"] or 0
        for row in outcome.findings:
            self._findings.add(row)
            if not row["set_aside"]:
                mistake = self._merged.setdefault(row["fingerprint"], {**row, "count": 0, "traces": 0, "first_trace": row["trace"]})
                mistake["count"] += row["count"]
                mistake["traces"] += 1
                # Shards are done in any order; the answer must not depend on it.
                mistake["first_trace"] = min(mistake["first_trace"], row["trace"])

    def finish(self, deaths: int) -> Summary:
        mistakes = [self._merged[fingerprint] for fingerprint in sorted(self._merged)]
        for mistake in mistakes:
            self._mistakes.add(mistake)
        tables = (self._findings, self._mistakes, self._traces)
        for table in tables:
            table.close()
        for table in tables:
            table.publish()
        worst = max(self._by_status, key=_ORDER.index, default=NOT_ALL_JUDGED)
        number = sum(self._by_status.values())
        return Summary(worst, number, dict(self._by_status), self._events, mistakes, deaths, self._processor)
