"""Delta's own log of a table, and its newest snapshot, which need not be listed for.

To find the newest version Delta lists the whole log, and where the table lies on this machine asks
for each file in it: half a second after 5,000 commits, seconds after a day of one a second. Whether
the version that it knows is still the newest is two questions, however long the log is. They find
no hole in a log, as a listing does; our own replay has listed it for the plan of every batch.

By classes that only open-source Delta Lake has.
"""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from openmirror.spark.scala import class_of, given, no_value

_DELTA_LOG = "org.apache.spark.sql.delta.DeltaLog"
_NOT_THERE = "java.io.FileNotFoundException"
_RARELY = 50
"""So many commits after a checkpoint there may be another: writing one takes longer than a commit,
and the commits behind it are as many small files to whoever reads the log anew."""
_INTERVAL = "delta.checkpointInterval"


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

    That one may be made of older files of the log that have been cleaned away since. So whoever
    cannot read or commit by it has to list for the next. Raises what Delta raises, wrapped by py4j.
    """
    known = log.unsafeVolatileSnapshot()
    is_newest = known is not None and _is_newest(session, log, known)
    return known if is_newest else listed_snapshot(session, log)


def may_checkpoint(snapshot: Any) -> bool:
    """Whether Delta decides by itself if the commit after this snapshot gets a checkpoint: where
    the table says how often, or the last one that the snapshot knows lies far behind."""
    return _behind(snapshot) >= _RARELY or _interval(snapshot) is not None


def _may_have_newer_checkpoint(log: Any, snapshot: Any) -> bool:
    """Whether a commit since then may have got one: Delta knows of it by a listing only."""
    has_interval = _interval(snapshot) is not None
    interval = int(log.checkpointInterval(snapshot.metadata())) if has_interval else _RARELY
    return _behind(snapshot) >= min(interval, _RARELY)


def _behind(snapshot: Any) -> int:
    """Commits behind the last checkpoint that a snapshot knows, with the next one."""
    return int(snapshot.version()) + 1 - int(snapshot.checkpointProvider().version())


def _interval(snapshot: Any) -> str | None:
    return given(snapshot.metadata().configuration().get(_INTERVAL))


def _is_newest(session: SparkSession, log: Any, known: Any) -> bool:
    """Whether the commit of this version is there, the very one, and none behind it.

    Logs are cleaned from their beginning on: where this one is there, no newer one is gone.
    """
    version, commits = int(known.version()), known.logSegment().deltas()
    if version < 0 or commits.isEmpty() or _may_have_newer_checkpoint(log, known):
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
