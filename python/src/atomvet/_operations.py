"""The operations of the trace formats: their codes, words, and what their targets are."""

from __future__ import annotations

from typing import Dict, Optional

#: The kinds of names, in the order of the binary format.
KINDS = ("thread", "variable", "lock", "barrier", "label", "site")

#: The word of each code. (A begin has one code without a label and one with.)
NAMES: Dict[int, str] = dict(
    enumerate(
        "begin end r w rmw add or and xor min max acq rel racq rrel wait fork join barrier begin alloc free escape same ar aw".split()
    )
)

_TARGETS = {
    "variable": "r w ar aw rmw add or and xor min max alloc free escape same",
    "lock": "acq rel racq rrel wait",
    "thread": "fork join",
    "barrier": "barrier",
}

#: What the target of each code is; none for begin without a label and end.
CODES: Dict[int, Optional[str]] = {
    code: next((kind for kind, words in _TARGETS.items() if word in words.split()), None) for code, word in NAMES.items()
}
CODES[19] = "label"

#: The code of each word; that of begin is the one without a label.
WORDS: Dict[str, int] = {word: code for code, word in NAMES.items() if code != 19}
