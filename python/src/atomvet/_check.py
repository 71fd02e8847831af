"""Checking traces, and rendering what was found."""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import Any, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from ._command import AtomvetError, StrPath, message, run

#: What every instance of a mistake has in common.
_OF_A_MISTAKE = ("fingerprint", "kind", "strength", "block", "site", "shape")

#: What the exit statuses of the command mean.
CLEAN, VIOLATIONS, BAD_INPUT, NOT_ALL_JUDGED = 0, 1, 2, 3


class Report(Dict[str, Any]):
    """What `atomvet check` found: the JSON report (docs/json.md), as a dictionary.

    `status` is the command's exit status: 0 clean, 1 violations, 2 a trace could not be read, 3 nothing was
    observed or not everything was judged. `messages` is what it said on standard error.
    """

    def __init__(self, report: Mapping[str, Any], status: int, messages: str = "") -> None:
        super().__init__(report)
        self.status = status
        self.messages = messages

    @property
    def traces(self) -> List[Dict[str, Any]]:
        """One entry per trace. One that could not be read has an `error`."""
        return list(self["traces"])

    @property
    def findings(self) -> List[Dict[str, Any]]:
        """One entry per mistake, folded by fingerprint over traces and algorithms, those that do not count left out.

        Each has `fingerprint`, `kind` (violation, deadlock or race), `strength`, `block`, `site`, `shape`, `count`
        and `traces`, the names of those that have it.
        """
        return merged(by_trace(self))


def merged(rows: Iterable[Mapping[str, Any]]) -> List[Dict[str, Any]]:
    """Rows of `by_trace` folded by fingerprint, those that do not count left out."""
    folded: Dict[str, Dict[str, Any]] = {}
    for row in rows:
        if not row["set_aside"]:
            start = {**{key: row[key] for key in _OF_A_MISTAKE}, "count": 0, "traces": []}
            mistake = folded.setdefault(row["fingerprint"], start)
            mistake["count"] += row["count"]
            mistake["traces"].append(row["trace"])
    return list(folded.values())


def by_trace(report: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    """Each mistake of each trace as a flat row. Algorithms may have found the same instances: the most that one counted."""
    folded: Dict[Tuple[str, str, bool], Dict[str, Any]] = {}
    counts: Dict[Tuple[str, str, bool], "Counter[str]"] = {}
    for finding in findings(report):
        key = (finding["trace"], finding["fingerprint"], finding["set_aside"])
        folded.setdefault(key, finding)
        counts.setdefault(key, Counter())[finding["algorithm"]] += finding["count"]
    for key, finding in folded.items():
        yield {**finding, "count": max(counts[key].values()), "algorithm": ",".join(counts[key])}


def findings(report: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
    """Each finding of each trace and algorithm as a flat row."""
    for entry in report["traces"]:
        for checker in entry.get("checkers", ()):
            for kind, key in (("violation", "violations"), ("deadlock", "deadlocks"), ("race", "races")):
                for found in checker.get(key, ()):
                    block = found.get("block") or {}
                    yield {
                        "trace": entry["trace"],
                        "algorithm": checker["name"],
                        "kind": kind,
                        "fingerprint": found["fingerprint"],
                        "strength": found.get("strength", "suspected"),
                        "block": block.get("label"),
                        "site": block.get("site") or found.get("site"),
                        "shape": found.get("shape"),
                        "event": found.get("event"),
                        "count": found.get("count", 1),
                        "set_aside": bool(found.get("suppression") or found.get("idiom")),
                    }


def check(
    traces: Union[StrPath, bytes, Sequence[StrPath]], *options: str, jobs: Optional[int] = None
) -> Report:
    """Checks traces: paths, folders, patterns, or the bytes of one trace.

    `options` are those of `atomvet check`, such as `"--predict"`. A trace that cannot be read is an entry with an
    `error`, and the report's status is 2; only a command that could not run at all raises `AtomvetError`.
    """
    given: Optional[bytes] = None
    if isinstance(traces, (bytes, bytearray, memoryview)):
        given, names = bytes(traces), ["-"]
    elif isinstance(traces, (str, os.PathLike)):
        names = [os.fspath(traces)]
    else:
        names = [os.fspath(trace) for trace in traces]
    arguments = ["check", "--format", "json", *options]
    if jobs is not None:
        arguments += ["--jobs", str(jobs)]
    if given is not None:
        done = run([*arguments, "--", "-"], given)
    else:
        # Names go through standard input: there may be more of them than fit on a command line.
        listed = b"".join(os.fsencode(name) + b"\0" for name in names)
        done = run([*arguments, "--files-from", "-"], listed)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise AtomvetError(message(done)) from None
    return Report(report, done.returncode, done.stderr.decode("utf-8", "replace"))


def report(found: Mapping[str, Any], format: str = "text", *options: str, output: Optional[StrPath] = None) -> str:
    """Renders what `check` found as text, html, sarif, junit, dot, perfetto or json.

    Returns it, or writes it to `output` and returns that path.
    """
    arguments = ["report", "-", "--format", format, *options]
    if output is not None:
        arguments += ["-o", os.fspath(output)]
    done = run(arguments, json.dumps(found).encode())
    if done.returncode != 0:
        raise AtomvetError(message(done))
    return os.fspath(output) if output is not None else done.stdout.decode()
