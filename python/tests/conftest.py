from __future__ import annotations

from pathlib import Path

import pytest

#: A lost update in `deposit`.
LOST = """T1|begin(deposit)|b.c:10
T1|r(x)|b.c:11
T2|begin(withdraw)|b.c:20
T2|w(x)|b.c:21
T1|w(x)|b.c:12
T1|end|b.c:13
T2|end|b.c:22
"""
CLEAN = """T1|begin(a)|1
T1|w(x)|2
T1|end|3
T2|begin(b)|4
T2|r(x)|5
T2|end|6
"""


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    path = tmp_path / "lost.std"
    path.write_text(LOST)
    return path


@pytest.fixture
def clean(tmp_path: Path) -> Path:
    path = tmp_path / "clean.std"
    path.write_text(CLEAN)
    return path
