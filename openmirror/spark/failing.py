"""Telling a file that cannot be read from a failure that is nobody's fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from openmirror.errors import CannotStart, NotThere
from openmirror.layout import name_of
from openmirror.plan import Batch
from openmirror.ports import BadFile
from openmirror.protocol.rules import Broken, Code

_GONE = ("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")
_UNREADABLE = "FAILED_READ_FILE"


class Failure:
    """The file that could not be read, if there was one."""

    def __init__(self) -> None:
        self.file: BadFile | None = None


@contextmanager
def reading_files(batch: Batch) -> Iterator[Failure]:
    """Turn Spark's word on a damaged file into BadFile, and on a missing one into NotThere.

    A footer that parses does not prove that the pages behind it do; only reading them tells.
    """
    failure = Failure()
    try:
        yield failure
    except (PySparkException, Py4JJavaError) as error:
        for condition, path in _conditions(error):
            if condition in _GONE:
                raise NotThere(f"a file of {batch.folder} went while it was read") from error
            name = name_of(path)  # type: ignore[arg-type]
            if condition.startswith(_UNREADABLE) and any(f.name == name for f in batch.files):
                detail = f"its footer is valid, but its data cannot be read: {_reason(error)}"
                failure.file = BadFile(name, Broken(Code.FILE_UNREADABLE, detail))
                return
        raise


@contextmanager
def spark_is_alive() -> Iterator[None]:
    """A JVM that is gone is no table's failure: nothing can go on without it."""
    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        raise CannotStart("Spark's process has ended; start again") from error


def _conditions(error: PySparkException | Py4JJavaError) -> Iterator[tuple[str, str]]:
    """Named conditions down the chain of causes, each with the path that it speaks of."""
    cause = _java(error)
    while cause is not None:
        try:
            path = cause.getMessageParameters().get("path") or ""
            yield str(cause.getCondition() or ""), unquote(path)
        except Py4JError:
            pass  # not one of Spark's own exceptions: it has no condition
        cause = cause.getCause()


def _reason(error: PySparkException | Py4JJavaError) -> str:
    cause = _java(error)
    while cause is not None and cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.toString())[:500] if cause is not None else str(error)[:500]


def _java(error: PySparkException | Py4JJavaError) -> Any:
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)
