"""Tells whether the code you believe to be atomic really is.

    report = atomvet.check("run.atv")          # a file, a folder, a pattern, several of them, or bytes
    report.status, report.findings             # 0 is clean; docs/json.md describes the whole
    atomvet.report(report, "html", output="report.html")
    atomvet.read("run.atv")                    # its events as an Arrow table

`atomvet.trace` writes traces; `python -m atomvet.cluster` checks many on a Ray cluster. The package comes with the
`atomvet` command, which does the work in a process of its own.
"""

from . import trace
from ._check import BAD_INPUT, CLEAN, NOT_ALL_JUDGED, VIOLATIONS, Report, check, findings, report
from ._command import AtomvetError, command
from ._read import read

__all__ = [
    "BAD_INPUT", "CLEAN", "NOT_ALL_JUDGED", "VIOLATIONS",
    "AtomvetError", "Report", "check", "command", "findings", "read", "report", "trace",
]  # fmt: skip
