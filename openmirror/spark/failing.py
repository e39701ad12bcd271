"""Telling a file that cannot be read from a failure that is nobody's fault."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.errors import PySparkException

from openmirror.errors import NotThere
from openmirror.plan import Batch
from openmirror.ports import BadFile
from openmirror.protocol.rules import Broken, Code
from openmirror.spark.transacting import condition_of

_GONE = ("PATH_NOT_FOUND", "FAILED_READ_FILE.FILE_NOT_EXIST")
_UNREADABLE = "FAILED_READ_FILE"
_CHANGE_FILE = re.compile(r"/(\d{20})\.[^/\s]*")


class Failure:
    """The file that could not be read, if there was one."""

    def __init__(self) -> None:
        self.file: BadFile | None = None


@contextmanager
def reading_files(batch: Batch) -> Iterator[Failure]:
    """Turn what Spark says about a damaged file into BadFile, and about a missing one into NotThere.

    A footer that parses does not prove that the pages behind it do; only reading them tells.
    """
    failure = Failure()
    try:
        yield failure
    except PySparkException as error:
        condition, text = condition_of(error), str(error)
        if condition.startswith(_GONE):
            raise NotThere(f"a file of {batch.folder} went away while it was read") from error
        named = _CHANGE_FILE.search(text)
        file = next((f for f in batch.files if named and f.sequence == int(named[1])), None)
        if not condition.startswith(_UNREADABLE) or file is None:
            raise
        reason = text.strip().splitlines()[0][:500]
        detail = f"its footer is valid, but its data cannot be read: {reason}"
        failure.file = BadFile(file.name, Broken(Code.FILE_UNREADABLE, detail))
