"""The Java that Spark needs on this machine, and what it prints."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from openmirror.errors import CannotStart

_VERSIONS = ("17", "21")
_REMEDY = (
    "Spark needs Java 17 or 21: sudo apt-get install openjdk-17-jre-headless, or set JAVA_HOME to "
    "where one is"
)
_MOST_SHOWN = 4000


def need_java() -> None:
    """Raise CannotStart, with the remedy, unless there is a Java that Spark runs on.

    Only reads files: Spark itself would fail much later, in words that do not help.
    """
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else Path(shutil.which("java") or "no-java")
    if not java.is_file():
        where = f" in JAVA_HOME={home}" if home else ""
        raise CannotStart(f"there is no Java{where}. {_REMEDY}")
    release = java.resolve().parent.parent / "release"
    text = release.read_text(errors="replace") if release.is_file() else ""
    version = re.search(r'^JAVA_VERSION="(\d+)', text, re.MULTILINE)
    if version and version[1] not in _VERSIONS:
        raise CannotStart(f"{java} is Java {version[1]}. {_REMEDY}")


@contextmanager
def java_output_captured() -> Iterator[IO[bytes]]:
    """Let a Java that starts meanwhile write its messages into a file, which is yielded.

    It greets with warnings about loggers and host names that are of no use to an operator.
    """
    with tempfile.TemporaryFile() as captured:
        sys.stderr.flush()
        terminal = os.dup(2)
        os.dup2(captured.fileno(), 2)
        try:
            yield captured
        finally:
            sys.stderr.flush()
            os.dup2(terminal, 2)
            os.close(terminal)


def last_words(output: IO[bytes]) -> str:
    """The end of the captured output."""
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - _MOST_SHOWN))
    return output.read().decode(errors="replace").strip()
