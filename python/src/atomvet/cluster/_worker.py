"""What a worker does: one `atomvet check` for all traces of a shard, and its report as rows."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from .._check import by_trace
from .._check import check as check_here
from .._command import AtomvetError
from ._inputs import Given

_COUNTS = ("events", "threads", "variables", "locks", "blocks", "transactions")


class Outcome(NamedTuple):
    """The rows of a shard."""

    traces: List[Dict[str, Any]]
    findings: List[Dict[str, Any]]
    #: Traces that need more memory than a worker has beside others.
    hungry: List[Given]
    #: Processor time of the worker and of the command, in seconds.
    processor: float


def check(shard: Sequence[Given], options: Sequence[str], memory: Optional[int], folder: str) -> Outcome:
    """Checks a shard. With `memory`, in bytes, what needs more comes back as hungry. Names are relative to `folder`."""
    started = _processor()
    # Options name files, too, and atomvet.toml is looked for from here.
    os.chdir(folder)
    outcome = Outcome([], [], [], 0.0)
    with tempfile.TemporaryDirectory(prefix="atomvet-") as copies:
        paths = [_copied(trace.name, os.path.join(copies, str(i))) if trace.is_remote else trace.name for i, trace in enumerate(shard)]
        limit = ("--memory", str(memory)) if memory is not None else ()
        report = check_here(paths, "--brief", *limit, *options, jobs=1)
    if len(report["traces"]) != len(shard):
        raise AtomvetError(f"{len(shard)} traces went in and {len(report['traces'])} came out; were files replaced meanwhile?")
    of_name = {}
    for trace, entry in zip(shard, report["traces"]):
        if memory is not None and entry.get("partial_reason", "").startswith("the memory limit"):
            outcome.hungry.append(trace)
        else:
            of_name[entry["trace"]] = trace.name
            outcome.traces.append(_row(trace, entry))
    for row in by_trace(report):
        if row["trace"] in of_name:
            outcome.findings.append({**row, "trace": of_name[row["trace"]]})
    return outcome._replace(processor=_processor() - started)


def _row(trace: Given, entry: Dict[str, Any]) -> Dict[str, Any]:
    error = entry.get("error")
    row = {"trace": trace.name, "bytes": trace.size, "status": entry.get("status", 2), "seconds": entry.get("seconds")}
    row.update({name: entry.get(name) for name in _COUNTS})
    row["why"] = error["message"] if error else entry.get("partial_reason") or entry.get("reason")
    return row


def failed(trace: Given, why: str) -> Dict[str, Any]:
    """The row of a trace that could not be checked."""
    return _row(trace, {"status": 2, "error": {"message": why}})


def _copied(uri: str, to: str) -> str:
    from pyarrow import fs

    system, path = fs.FileSystem.from_uri(uri)
    # As it is: the command decompresses.
    with system.open_input_stream(path, compression=None) as source, open(to, "wb") as copy:
        shutil.copyfileobj(source, copy, 1 << 20)
    return to


def _processor() -> float:
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
