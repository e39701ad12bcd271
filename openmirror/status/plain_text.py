"""An error's text without what only a developer of Spark wants to read."""

from __future__ import annotations

import re

_CLASS = r"(?:[a-z_][\w$]*\.){2,}(?P<name>[A-Z][\w$]*)"
_BEFORE_MESSAGE = re.compile(rf"(?P<start>^|\n|: ){_CLASS}: ")
_ELSEWHERE = re.compile(rf"\b{_CLASS}")
_TRACE = re.compile(r"\n\s*(?:at [\w.$]+[/(].*|\.\.\. \d+ more|JVM stacktrace:)$", re.MULTILINE)


def plain_text(text: str) -> str:
    """The text without stack traces and the packages of classes, Java's and Python's.

    A class before a message goes, one inside a sentence keeps its own name:
    `java.io.IOException: can not read class org.apache.parquet.format.PageHeader` becomes
    `can not read class PageHeader`.
    """
    short = _TRACE.sub("", text)
    while (shorter := _BEFORE_MESSAGE.sub(r"\g<start>", short)) != short:
        short = shorter
    return _ELSEWHERE.sub(r"\g<name>", short)
