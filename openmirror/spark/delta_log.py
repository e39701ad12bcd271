"""Delta's own log of a table, and its newest snapshot, which need not be listed for.

To find the newest version Delta lists the whole log, and where the table lies on this machine asks
for each file in it: half a second after 5,000 commits, seconds after a day of one a second. Whether
the version that it knows is still the newest is two questions, however long the log is.

By classes that only open-source Delta Lake has.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from openmirror.spark.scala import class_of, no_value

_DELTA_LOG = "org.apache.spark.sql.delta.DeltaLog"
_NOT_THERE = "java.io.FileNotFoundException"
_RARELY = 50
"""So many commits after a checkpoint there may be another: writing one takes longer than a commit,
and the commits behind it are as many small files to whoever reads the log anew. A snapshot that
lies so far behind its checkpoint is listed for: there may be a newer one."""


def delta_log(session: SparkSession, table: str) -> Any | None:
    """Delta's own log of a table; None where this Delta has no such class."""
    log = class_of(session, _DELTA_LOG)
    return log.forTable(session._jsparkSession, table) if isinstance(log, JavaClass) else None


def listed_snapshot(session: SparkSession, log: Any) -> Any:
    """The newest snapshot, by a listing of the log. Raises what Delta raises, wrapped by py4j."""
    none = no_value(session)
    return log.update(False, none, none)


def newest_snapshot(session: SparkSession, log: Any) -> Any:
    """The newest snapshot, without a listing where the one that Delta has is that.

    Raises what Delta raises, wrapped by py4j.
    """
    known = log.unsafeVolatileSnapshot()
    is_newest = known is not None and _is_newest(session, log, known)
    return known if is_newest else listed_snapshot(session, log)


def is_far_behind(snapshot: Any) -> bool:
    """Whether the commit after this snapshot lies far behind the newest checkpoint it knows."""
    return int(snapshot.version()) + 1 - int(snapshot.checkpointProvider().version()) >= _RARELY


def _is_newest(session: SparkSession, log: Any, known: Any) -> bool:
    """Whether the commit of this version is there, the very one, and none behind it.

    Logs are cleaned from their beginning on: where the last of them is there, no newer one is gone.
    """
    version, commits = int(known.version()), known.logSegment().deltas()
    if version < 0 or commits.isEmpty() or is_far_behind(known):
        return False
    last = commits.last()
    path = last.getPath()
    if path.getName() != _commit(version):
        return False  # commits that were compacted, or that a catalog holds
    files = path.getFileSystem(log.newDeltaHadoopConf())
    try:
        found = files.getFileStatus(path)
    except Py4JJavaError as error:
        if str(error.java_exception.getClass().getName()) != _NOT_THERE:
            raise
        return False
    path_of = class_of(session, "org.apache.hadoop.fs.Path")
    behind = path_of(path.getParent(), _commit(version + 1))
    return _identity(found) == _identity(last) and not files.exists(behind)


def _commit(version: int) -> str:
    return f"{version:020d}.json"


def _identity(file: Any) -> tuple[int, int]:
    """What Delta itself knows a file of its log by."""
    return int(file.getLen()), int(file.getModificationTime())
