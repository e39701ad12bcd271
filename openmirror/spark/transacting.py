"""One session per commit: the transaction that makes a commit happen once is session state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import delta.exceptions as delta_errors
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, DataFrameWriterV2, SparkSession

from openmirror.ports import CommitResult, Transaction
from openmirror.spark.deciding import decide_tables
from openmirror.spark.scala import class_of

_APP_ID = "spark.databricks.delta.write.txnAppId"
_VERSION = "spark.databricks.delta.write.txnVersion"
USER_METADATA = "spark.databricks.delta.commitInfo.userMetadata"

# They share no base class of their own, so every one is named.
_CONFLICTS = (
    delta_errors.DeltaConcurrentModificationException,
    delta_errors.ConcurrentWriteException,
    delta_errors.MetadataChangedException,
    delta_errors.ProtocolChangedException,
    delta_errors.ConcurrentAppendException,
    delta_errors.ConcurrentDeleteReadException,
    delta_errors.ConcurrentDeleteDeleteException,
    delta_errors.ConcurrentTransactionException,
)
MISSING = (
    "PATH_NOT_FOUND",
    "TABLE_OR_VIEW_NOT_FOUND",
    "DELTA_TABLE_NOT_FOUND",
    "DELTA_MISSING_DELTA_TABLE",
    "DELTA_CANNOT_REPLACE_MISSING_TABLE",
)
"""Conditions of whatever needs a table where there is none."""
TAKEN = ("TABLE_OR_VIEW_ALREADY_EXISTS", "DELTA_TABLE_ALREADY_EXISTS", "DELTA_PATH_EXISTS")
"""Conditions of a create whose place is not empty."""


def fresh_session(spark: SparkSession, settings: Mapping[str, str] | None = None) -> SparkSession:
    """A session of its own, active on this thread, with these settings besides its application's.

    Every session that touches data is made here: what decides tables holds in each.

    `newSession` alone is not enough: Delta's catalog takes its settings from whatever session is
    active, and would commit under another batch's transaction, or under none.
    """
    session = spark.newSession()
    decide_tables(session)
    for key, value in (settings or {}).items():
        session.conf.set(key, value)
    activate(session)
    return session


def activate(session: SparkSession) -> None:
    """Make a session the active one of this thread."""
    sessions = class_of(session, "org.apache.spark.sql.classic.SparkSession")
    sessions.setActiveSession(session._jsparkSession)


def bind(session: SparkSession, transaction: Transaction, batch_record: str = "") -> None:
    """Make every following commit of this session carry the transaction."""
    session.conf.set(_APP_ID, transaction.app_id)
    session.conf.set(_VERSION, str(transaction.version))
    if batch_record:
        session.conf.set(USER_METADATA, batch_record)


def writer(
    frame: DataFrame, table: str, transaction: Transaction, batch_record: str
) -> DataFrameWriterV2:
    """A writer to a Delta path that says its transaction itself, besides the session."""
    path = table.replace("`", "``")
    to = frame.writeTo(f"delta.`{path}`").using("delta")
    to = to.option("txnAppId", transaction.app_id).option("txnVersion", str(transaction.version))
    return to.option("userMetadata", batch_record)


class ChangedMeanwhile(Exception):
    """The table is not what a commit was made for, which Delta would not call a conflict."""


class Outcome:
    """Holds how a commit ended; DONE unless there was an exception that means something else."""

    def __init__(self) -> None:
        self.result = CommitResult.DONE


@contextmanager
def commit_outcome() -> Iterator[Outcome]:
    """Turn Delta's conflicts and missing tables into results; let everything else through."""
    outcome = Outcome()
    try:
        yield outcome
    except (*_CONFLICTS, ChangedMeanwhile):
        outcome.result = CommitResult.CONFLICT
    except AnalysisException as error:
        condition = condition_of(error)
        if condition in MISSING:
            outcome.result = CommitResult.MISSING
        elif condition in TAKEN:
            outcome.result = CommitResult.CONFLICT
        else:
            raise


def condition_of(error: PySparkException) -> str:
    """An error's stable name; Delta's own errors carry it only in their text."""
    text = str(error)
    if text.startswith("["):
        return text[1:].partition("]")[0]
    return error.getCondition() or ""
