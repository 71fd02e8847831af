"""Checking and rendering."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

import atomvet
from conftest import CLEAN, LOST


def test_a_path(lost: Path, clean: Path) -> None:
    report = atomvet.check(lost)
    assert (report.status, report["schema"]) == (atomvet.VIOLATIONS, "atomvet-report/1")
    [finding] = report.findings
    assert (finding["block"], finding["shape"], finding["count"]) == ("deposit", "lost update", 1)
    assert finding["traces"] == [str(lost)]
    assert atomvet.check(str(clean)).status == atomvet.CLEAN


def test_bytes() -> None:
    assert atomvet.check(LOST.encode()).findings[0]["block"] == "deposit"
    assert atomvet.check(CLEAN.encode()).status == atomvet.CLEAN
    nothing = atomvet.check(b"")
    assert nothing.status == atomvet.NOT_ALL_JUDGED and "nothing was observed" in nothing.messages


def test_many_are_folded_and_a_bad_one_is_a_row(tmp_path: Path, lost: Path, clean: Path) -> None:
    (tmp_path / "again.std").write_text(LOST)
    (tmp_path / "broken.std").write_text("T1|w(x)\n")
    names = ["again.std", "broken.std", "clean.std", "lost.std"]
    for given in (tmp_path, tmp_path / "*.std", [tmp_path / name for name in names]):
        report = atomvet.check(given, jobs=2)
        assert report.status == atomvet.BAD_INPUT
        assert [Path(entry["trace"]).name for entry in report.traces] == names
        assert report.traces[1]["error"]["line"] == 1
        [finding] = report.findings
        assert finding["count"] == 2
        assert [Path(name).name for name in finding["traces"]] == ["again.std", "lost.std"]


def test_options_are_those_of_the_command(lost: Path) -> None:
    report = atomvet.check(lost, "--algo", "velodrome,regiontrack", "--verify")
    assert [checker["name"] for checker in report.traces[0]["checkers"]] == ["velodrome", "regiontrack"]
    [finding] = report.findings
    assert finding["count"] == 1, "two algorithms found the same instance"
    with pytest.raises(atomvet.AtomvetError, match="nosuch"):
        atomvet.check(lost, "--algo", "nosuch")


def test_what_is_set_aside_is_no_finding(tmp_path: Path, lost: Path) -> None:
    config = tmp_path / "atomvet.toml"
    config.write_text('[[suppress]]\nblock = "deposit"\nreason = "known"\n')
    report = atomvet.check(lost, "--config", str(config))
    assert (report.status, report.findings) == (atomvet.CLEAN, [])
    assert [row["set_aside"] for row in atomvet.findings(report)] == [True]


def test_a_name_cannot_be_an_option(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("--help").write_text(LOST)
    assert atomvet.check("--help").findings[0]["block"] == "deposit"


def test_rendering(tmp_path: Path, lost: Path) -> None:
    report = atomvet.check(lost)
    assert "deposit is not atomic" in atomvet.report(report)
    assert json.loads(atomvet.report(report, "json")) == report
    page = atomvet.report(report, "html", output=tmp_path / "report.html")
    assert "deposit is not atomic" in Path(page).read_text()
    for format in ("sarif", "junit", "dot", "perfetto"):
        assert "deposit" in atomvet.report(report, format)
    with pytest.raises(atomvet.AtomvetError):
        atomvet.report({"schema": "something/1"})


def test_the_command_comes_along(lost: Path) -> None:
    done = subprocess.run([atomvet.command(), "check", str(lost)], capture_output=True)
    assert done.returncode == atomvet.VIOLATIONS


def test_without_a_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ATOMVET", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    with pytest.raises(atomvet.AtomvetError, match="pip"):
        atomvet.check(b"")
