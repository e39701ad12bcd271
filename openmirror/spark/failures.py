"""Distinguishes a file that cannot be read from a failure that is nobody's fault."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from openmirror.errors import (
    AccessDenied,
    CannotStart,
    ConditionFailed,
    NotThere,
    OpenmirrorError,
    Unavailable,
)
from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import BadFile
from openmirror.protocol.rules import Broken, Code
from openmirror.spark.pieces import LocatedBy, Piece

_GONE = ("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")
_UNREADABLE = "FAILED_READ_FILE"
_OVERFLOW = "java.lang.ArithmeticException"


class Failure:
    """The file that could not be read, if there was one."""

    def __init__(self) -> None:
        self.file: BadFile | None = None


@contextmanager
def reading_files(batch: Batch, read: Iterable[Piece]) -> Iterator[Failure]:
    """Turn Spark's error about a damaged file into BadFile, and about a missing one into NotThere.

    A footer that parses does not prove that the pages behind it do; only reading them does.
    `read` are the pieces of the batch's files; a damaged part of ours is no publisher's doing.
    """
    failure = Failure()
    try:
        yield failure
    except (PySparkException, Py4JJavaError) as error:
        # First, because Spark takes whatever a service answers for a damaged file.
        if ours := _answer(f"the change files of {batch.folder}", error):
            raise ours from error
        for condition, path in _conditions(error):
            if condition in _GONE:
                raise NotThere(f"a file of {batch.folder} went while it was read") from error
            file = _landed(path, read)
            if condition.startswith(_UNREADABLE) and file is not None:
                failure.file = BadFile(file.name, _broken(error))
                return
        raise


def _broken(error: PySparkException | Py4JJavaError) -> Broken:
    """What is wrong with a file that Spark could not read: its pages, or a value in them."""
    if any(str(cause.getClass().getName()) == _OVERFLOW for cause in _causes(error)):
        detail = f"a time lies beyond what microseconds can count: {_reason(error)}"
        return Broken(Code.VALUE_INVALID, detail)
    detail = f"its footer is valid, but its data cannot be read: {_reason(error)}"
    return Broken(Code.FILE_UNREADABLE, detail)


def _landed(uri: str, read: Iterable[Piece]) -> LandedFile | None:
    """The change file whose path Spark names, quoted as a URI; None for a part of one."""
    path = unquote(uri)
    for piece in read:
        # Spark puts as many slashes behind a scheme as it likes, so only what follows is compared.
        _, _, rest = piece.path.rpartition("://")
        if piece.located_by is not LocatedBy.PART_NAME and path.endswith(rest):
            return piece.file
    return None


@contextmanager
def spark_is_alive() -> Iterator[None]:
    """A JVM that is gone is no table's failure: nothing can go on without it."""
    try:
        yield
    except (Py4JNetworkError, ConnectionError) as error:
        raise CannotStart("Spark's process has ended; start again") from error


@contextmanager
def storage_answers(what: str) -> Iterator[None]:
    """Turn what a storage account answered Spark into our errors; let everything else through.

    Raises NotThere (404), ConditionFailed (412), AccessDenied (401, 403), or Unavailable for an
    account that is too busy or cannot be reached.
    """
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        if ours := _answer(what, error):
            raise ours from error
        raise


def _answer(what: str, error: PySparkException | Py4JJavaError) -> OpenmirrorError | None:
    """What a storage account answered, in our words; None when none did."""
    for cause in _causes(error):
        name = str(cause.getClass().getName()).rpartition(".")[2]
        if not name.endswith("AbfsRestOperationException"):
            continue
        status = int(cause.getStatusCode())
        answer = str(cause.getMessage()).strip().partition("\n")[0][:300]
        if status == 404:
            return NotThere(f"{what}: something went while Spark was at it: {answer}")
        if status == 412:
            return ConditionFailed(
                f"{what}: something was replaced while Spark was at it: {answer}"
            )
        if status in (401, 403):
            return AccessDenied(
                f"{what}: Spark is denied access to the storage account. Its identity needs the "
                f"role 'Storage Blob Data Contributor' there: {answer}"
            )
        if status <= 0 or status in (408, 429) or status >= 500:
            return Unavailable(f"{what}: the storage account does not serve Spark now: {answer}")
    return None


def _causes(error: PySparkException | Py4JJavaError) -> Iterator[Any]:
    cause = _java(error)
    while cause is not None:
        yield cause
        cause = cause.getCause()


def _conditions(error: PySparkException | Py4JJavaError) -> Iterator[tuple[str, str]]:
    """Named conditions down the chain of causes, each with the path that it speaks of."""
    for cause in _causes(error):
        try:
            path = cause.getMessageParameters().get("path") or ""
            yield str(cause.getCondition() or ""), path
        except Py4JError:
            pass  # not one of Spark's own exceptions: it has no condition


def _reason(error: PySparkException | Py4JJavaError) -> str:
    root = None
    for root in _causes(error):  # noqa: B007 - the last one
        pass
    return str(root.toString() if root is not None else error)[:500]


def _java(error: PySparkException | Py4JJavaError) -> Any:
    return getattr(error, "java_exception", None) or getattr(error, "_origin", None)
