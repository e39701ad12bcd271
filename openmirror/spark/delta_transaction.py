"""One transaction of Delta's own, of which the caller says what it has read and what it changes.

By classes that only open-source Delta Lake has. What Spark's writers and MERGE do between reading a
table and its commit is the caller's, or left out; what makes a commit safe is Delta's: the
transaction, its check for conflicts with commits that landed meanwhile, checksums, checkpoints.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession

from openmirror.ports import Transaction
from openmirror.ports.new_files import NewFile
from openmirror.spark.deletion_vectors import FilesRead, TakenOut
from openmirror.spark.delta_checksum import Agreement, DeltaChecksum
from openmirror.spark.delta_log import delta_log, listed_snapshot, may_checkpoint, newest_snapshot
from openmirror.spark.scala import class_of, each, mapping, no_value, sequence, singleton, some
from openmirror.spark.transacting import ChangedMeanwhile

_ACTION = "org.apache.spark.sql.delta.actions.Action$"
_MAP = "scala.collection.immutable.Map$"
_METRICS = "org.apache.spark.sql.execution.metric.SQLMetrics"
_ENCRYPTION = "parquet.crypto.factory.class"
_DELTA = "io.delta.package"
_VERSION = "4.4."
_CHECKPOINT_HOOK = "org.apache.spark.sql.delta.hooks.CheckpointHook$"
_WRITE = "org.apache.spark.sql.delta.DeltaOperations$Write"
_BRIEFLY = 1.0
"""Seconds, in which a table is taken to be the same one: each commit would have to ask."""


class DeltaTransaction:
    """A transaction over the newest version of a table, which it has read as far as it says."""

    def __init__(self, session: SparkSession, log: Any, snapshot: Any) -> None:
        self.session = session
        self._none = no_value(session)
        self._log = log
        self._snapshot = snapshot
        self._began = _clocks()
        self._transaction = log.startTransaction(self._none, some(session, snapshot))
        self.checksum = DeltaChecksum.of(self._snapshot)
        self._read: list[Any] = []

    @classmethod
    def begin(
        cls, session: SparkSession, table: str, *, goes_on: bool = False
    ) -> DeltaTransaction | None:
        """One that begins now; None where the table is not there.

        With `goes_on` what Delta has of the log was good until now, and is listed for only where it
        is not the newest.
        """
        log = delta_log(session, table)
        if log is None:
            return None
        snapshot = newest_snapshot(session, log) if goes_on else listed_snapshot(session, log)
        return cls(session, log, snapshot) if int(snapshot.version()) >= 0 else None

    @property
    def version(self) -> int:
        """The version of the table that it goes on from."""
        return int(self._snapshot.version())

    @property
    def table_id(self) -> str:
        """Which table this is: another one at the same path has another."""
        return str(self._snapshot.metadata().id())

    @property
    def protocol(self) -> Mapping[str, Any]:
        """The table's protocol, as its log has it."""
        found: dict[str, Any] = json.loads(self._snapshot.protocol().json())["protocol"]
        return found

    @property
    def metadata(self) -> Mapping[str, Any]:
        """The table's metadata, as its log has it."""
        found: dict[str, Any] = json.loads(self._snapshot.metadata().json())["metaData"]
        return found

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties, as its log has them."""
        found: dict[str, str] = self.metadata.get("configuration") or {}
        return found

    @property
    def folder(self) -> Any:
        """The table's folder, as a path of Hadoop's."""
        return self._log.dataPath()

    @property
    def hadoop_settings(self) -> Any:
        """What a file system is reached with."""
        return self._log.newDeltaHadoopConf()

    @property
    def encrypts(self) -> bool:
        """Whether Spark would have Parquet's own writer encrypt."""
        return self.hadoop_settings.get(_ENCRYPTION) is not None

    @property
    def transaction_id(self) -> str:
        """This transaction's own name, which its checksum will have."""
        return str(self._transaction.txnId())

    def _outlasts_its_table(self) -> bool:
        """Whether another log is in the place of this one by now, if any: Delta would see no
        conflict with that. Asked right before a commit, whose process may have stalled."""
        passed = (now - then for now, then in zip(_clocks(), self._began, strict=True))
        if all(0 <= seconds < _BRIEFLY for seconds in passed):
            return False
        return str(newest_snapshot(self.session, self._log).metadata().id()) != self.table_id

    def has_applied(self, transaction: Transaction, *, by_checksum: bool) -> bool:
        """Whether a commit of this application has this version already, or a later one.

        From here on any commit of that application's is a conflict.
        """
        applied = self.checksum.applied if by_checksum and self.checksum else None
        if applied is None:
            return int(self._transaction.txnVersion(transaction.app_id)) >= transaction.version
        # Or Delta would not look for it among the commits that landed meanwhile.
        getattr(self._transaction.readTxn(), "$plus$eq")(transaction.app_id)
        return applied.get(transaction.app_id, -1) >= transaction.version

    def read_whole(self, *, by_checksum: bool) -> list[Mapping[str, Any]]:
        """All data files, as the log has them. Any commit that changes rows is a conflict now."""
        self._transaction.readWholeTable()
        files = self.checksum.data_files if by_checksum and self.checksum else None
        if files is None:
            files = self._transaction.filterFiles()
        else:
            self._transaction.trackFilesRead(files)
        self._read = each(files)
        return [json.loads(file.json())["add"] for file in self._read]

    def checksum_agrees(self) -> Agreement:
        """What of this version's checksum is what the log comes to, which is read for it."""
        return Agreement.of(self.checksum, self._snapshot)

    def files(self, condition: str, alias: str) -> FilesRead:
        """The data files that may have a row of this condition, which is SQL over the table by an
        alias. Any commit that adds data files, or changes one of these, is a conflict now."""
        of_none = FilesRead(self.session, self._log, self._transaction, self._sequence([]))
        filtered = of_none.rows().alias(alias).where(condition)
        resolved = filtered._jdf.queryExecution().analyzed().condition()
        found = self._transaction.filterFiles(self._sequence([resolved]), True)
        return FilesRead(self.session, self._log, self._transaction, found)

    def written(self, rows: DataFrame) -> list[Any]:
        """Delta's actions by which rows come, under the table's own names. Writes data files."""
        return each(self._transaction.writeFiles(rows._jdf))

    def replace(
        self,
        gone: TakenOut,
        come: Sequence[Any],
        same: str,
        transaction: Transaction,
        batch_record: str,
    ) -> int:
        """Put rows that were `written` in place of others, which `same` names to people, as SQL.

        Returns the version. Raises Delta's conflicts, and ChangedMeanwhile for another table.
        """
        self._register({"numDeletedRows": gone.rows, "numRemovedFiles": gone.files})
        operation = self._write(batch_record, replaced=True, on=same)
        return self._commit([*gone.actions, *come], transaction, operation)

    def commit(self, transaction: Transaction, batch_record: str, files: Sequence[NewFile]) -> int:
        """Put new files in place of all that was read, or beside what is there, if nothing was.

        Returns the version. Raises Delta's conflicts, and ChangedMeanwhile for another table.
        """
        now = int(time.time() * 1000)
        self._register(
            {
                "numFiles": len(files),
                "numOutputRows": sum(new.rows for new in files),
                "numOutputBytes": sum(new.bytes for new in files),
                "numRemovedFiles": len(self._read),
                "numRemovedBytes": sum(int(file.size()) for file in self._read),
            }
        )
        if not may_checkpoint(self._snapshot):
            hooks = self._transaction.postCommitHooks()
            getattr(hooks, "$minus$eq")(singleton(self.session, _CHECKPOINT_HOOK))
        actions = [file.remove() for file in self._read]
        actions += [self._action(add=_add(new, now)) for new in files]
        operation = self._write(batch_record, replaced=bool(self._read))
        return self._commit(actions, transaction, operation)

    def _commit(self, actions: Sequence[Any], transaction: Transaction, operation: Any) -> int:
        if self._outlasts_its_table():
            raise ChangedMeanwhile(f"{self.folder} has another table than this was begun for")
        applied = self._action(
            txn={
                "appId": transaction.app_id,
                "version": transaction.version,
                "lastUpdated": int(time.time() * 1000),
            }
        )
        return int(self._transaction.commit(self._sequence([*actions, applied]), operation))

    def _register(self, metrics: Mapping[str, int]) -> None:
        """What the table's history says of the commit, as of one by Spark."""
        registered = class_of(self.session, "java.util.HashMap")()
        create = class_of(self.session, _METRICS).createMetric
        context = self.session.sparkContext._jsc.sc()
        for name, value in metrics.items():
            metric = create(context, name)
            metric.set(value)
            registered.put(name, metric)
        as_map = getattr(singleton(self.session, _MAP), "from")
        self._transaction.registerSQLMetrics(
            self.session._jsparkSession, as_map(mapping(self.session, registered))
        )

    def _write(self, batch_record: str, *, replaced: bool, on: str | None = None) -> Any:
        """The operation, as the table's history has it: all rows were replaced, some, or none."""
        none, modes = self._none, class_of(self.session, "org.apache.spark.sql.SaveMode")
        return class_of(self.session, _WRITE)(
            modes.Overwrite if replaced else modes.Append,
            none,
            some(self.session, "true") if replaced and on is None else none,
            some(self.session, batch_record),
            none,
            none,
            none,
            none if on is None else some(self.session, on),
            none,
        )

    def _action(self, **action: Mapping[str, Any]) -> Any:
        return singleton(self.session, _ACTION).fromJson(json.dumps(action))

    def _sequence(self, items: Iterable[Any]) -> Any:
        return sequence(self.session, items)


def _clocks() -> tuple[float, float]:
    """One stands still while the machine sleeps, the other may be set."""
    return time.monotonic(), time.time()


def is_known(session: SparkSession) -> bool:
    """Whether this Delta's classes are those that this was written for: nobody promises them."""
    delta = class_of(session, _DELTA)
    try:
        return isinstance(delta, JavaClass) and str(delta.VERSION()).startswith(_VERSION)
    except Py4JError:
        return False


def relative_path(file: Mapping[str, Any]) -> str | None:
    """Where a data file lies below its table, as people would write it; None where it does not,
    or where rows of it are marked as deleted."""
    path = str(file["path"])
    is_elsewhere = path.startswith("/") or ":" in path.partition("/")[0]
    return None if is_elsewhere or file.get("deletionVector") else unquote(path)


def _add(new: NewFile, now: int) -> dict[str, Any]:
    return {
        "path": new.name,
        "partitionValues": {},
        "size": new.bytes,
        "modificationTime": now,
        "dataChange": True,
        "stats": new.statistics,
    }
