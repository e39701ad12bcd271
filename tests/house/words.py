"""Which words the project does not use, and where they stand all the same.

One word has one meaning (docs/GLOSSARY.md). The words below once stood for something that the field
has a name for, so each of them would be a second word for one thing. `python -m tests.house.words
[PATH ...]` prints every place, by file and line.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

INSTEAD = {
    "observe, observation, observed state": "look looks looked looking glance glances glancing",
    "reconcile": "visit visits visited visiting attend attends attended",
    "event filter": "door doors judge judges judged judging admit admits admitted",
    "wake-up, work item": "doorbell doorbells ring rings rung ringing rang",
    "dead letter": "bury buries buried burying letter letters",
    "worker, sequence group": "lane lanes",
    "backing off": "deaf",
    "incarnation, its record": "life lives",
    "table status": "standing",
    "retained": "aside",
    "bulk-drop guard": "brake brakes",
    "version column": "guard guards guarded guarding",
    "non-foldable": "entangled",
    "naming scheme": "filing",
    "frozen options": "pinned pinning",
    "manifest": "digest digests",
    "quiet period": "settle settles settled settling",
    "emitted, reported": "told tell tells telling untold said",
    "deferred": "owed",
}
AVOIDED = {word: better for better, words in INSTEAD.items() for word in words.split()}

ORDINARY = [
    # What is meant is the field's own.
    r"dead[-_ ]?letter(s|ed|ing)?",
    r"bulk[-_ ]?drop[-_ ]?guard",
    r"life[-_ ]?cycle",
    r"look(s|ed|ing)?[- ]?up",
    r"look(s|ed|ing)? (like|for)",
    r"(capital|upper-case|lower-case|small|drive) letters?",
    r"letters? (case|and digits|of)",
    r"pinned (version|versions|package|packages|to)",
    # Names that others gave.
    r"compare_digest|hexdigest|Repo ?Digests?|Content-Digest|shasum|digest\(\)",
    r"letter-spacing|digest_size",
    r"(?<![\w-])POST(?![\w-])",
]
_ORDINARY = re.compile("|".join(f"(?:{phrase})" for phrase in ORDINARY), re.IGNORECASE)
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")

CONTRACT = re.compile(r"\"settle\"|`settle`|PinnedOptionChanged|PINNED_OPTION_CHANGED")
"""What is used from outside as it is: a wait's kind in `status --json`, and a problem's code."""

_NOT_OURS = re.compile(
    r"^(LICENSE|docs/images/|tests/house/|standins/azurite/package|tests/infra/kusto/package"
    r"|tests/infra/commands/az_options|.*\.(parquet|csv|gz|zst|snappy|png|svg|lock|jars)$)"
)


def files() -> list[Path]:
    """Every text file of the project that somebody here wrote."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    return [ROOT / name for name in listed.split("\0") if name and not _NOT_OURS.match(name)]


def avoided(text: str) -> Iterator[tuple[int, str]]:
    """The line number and the word of every avoided word in a text."""
    # Most lines hold none of them, even as a part of another word, and need no closer reading.
    lowered = text.lower()
    there = [word for word in AVOIDED if word in lowered]
    for number, line in enumerate(text.splitlines(), start=1):
        lowered = line.lower()
        if not any(word in lowered for word in there):
            continue
        rest = _ORDINARY.sub(" ", CONTRACT.sub(" ", line))
        for word in _WORD.findall(rest):
            if word.lower() in AVOIDED:
                yield number, word


def _main(arguments: list[str]) -> int:
    below = [Path(argument).resolve() for argument in arguments] or [ROOT]
    count = 0
    for path in files():
        if not any(path == one or one in path.parents for one in below):
            continue
        try:
            text = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        lines = text.splitlines()
        for number, word in avoided(text):
            count += 1
            shown = lines[number - 1].strip()[:120]
            sys.stdout.write(f"{path.relative_to(ROOT)}:{number}: {word}: {shown}\n")
    sys.stdout.write(f"{count} places\n")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
