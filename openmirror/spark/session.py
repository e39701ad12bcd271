"""The one long-lived Spark application, with the settings that Delta at this scale wants."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

import pyspark
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf
from pyspark.sql import SparkSession

from openmirror.errors import CannotStart
from openmirror.spark.deciding import of_application

_EXTENSIONS = "spark.sql.extensions"
_EXTENSION = "io.delta.sql.DeltaSparkSessionExtension"
_CATALOG = "spark.sql.catalog.spark_catalog"
_DELTA_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"

_APPLICATION = {
    _EXTENSIONS: _EXTENSION,
    _CATALOG: _DELTA_CATALOG,
    # The default of 50 tasks for each state of a small log is most of a small commit's time.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.shuffle.partitions": "2",
    # Tables of many different shapes push each other out of the default of 100.
    "spark.sql.codegen.cache.maxEntries": "5000",
    # Planning by statistics costs more than it saves on batches that fit two cores.
    "spark.sql.adaptive.enabled": "false",
    "spark.scheduler.mode": "FAIR",
    # Above this many files Spark starts a job to list them, although each path is given whole.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "spark.sql.files.openCostInBytes": "65536",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Or each query's plan is written out twice over, for a page that is not there.
    "spark.sql.ui.explainMode": "simple",
    # Or Spark notes where each expression was made: calls into the JVM, and a stack, for each.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.dataFrameQueryContext.enabled": "false",
}
"""How an application plans, where its owner does not say: none of it changes a table."""

_DELTA_REMEDY = (
    "Start the application with the jars of Delta Lake (`--packages`, or `--jars $(python -m "
    f"openmirror.spark.jars | tr : ,)`), with {_EXTENSIONS}={_EXTENSION} and with "
    f"{_CATALOG}={_DELTA_CATALOG}. None of it can be given to an application that runs already"
)
_OLDEST = 4
_LOOPBACK = "127.0.0.1"
_SECONDS_TO_END = 10.0
_JVM_OPTIONS = "-Duser.timezone=UTC -Dlog4j2.level=error"


def start_spark(
    *,
    master: str,
    driver_memory: str,
    class_path: str,
    application: str = "openmirror",
    overrides: Mapping[str, str] | None = None,
    java_options: str = "",
) -> SparkSession:
    """Start Spark in this process; the caller stops it. Called by wiring alone.

    `overrides` are Spark settings that win over ours, but for those that decide what a table
    contains.
    """
    if master.startswith("local"):
        # Or Spark asks for the address of the host's own name, which fresh machines often lack.
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
        # Or Python workers are whatever `python3` is, which may know nothing of this package.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName(application)
        .master(master)
        .config("spark.driver.memory", driver_memory)
        .config("spark.driver.extraClassPath", class_path)
        .config("spark.driver.extraJavaOptions", f"{_JVM_OPTIONS} {java_options}".strip())
        .config("spark.driver.bindAddress", _LOOPBACK)
        .config("spark.driver.host", _LOOPBACK)
    )
    for key, value in {
        **_APPLICATION,
        "spark.sql.warehouse.dir": _unused_folder(),
        **(overrides or {}),
        **of_application(),
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def submitted_spark(settings: Mapping[str, str], application: str = "openmirror") -> SparkSession:
    """The application that `spark-submit` prepared; the caller stops it.

    What was submitted (master, memory, `--conf`) wins over ours, so that a cluster is used as its
    owner says; but what decides what a table contains does not. Raises CannotStart without the
    jars of Delta Lake.
    """
    submitted = SparkConf()
    builder = SparkSession.builder
    for key, value in {"spark.app.name": application, **_APPLICATION, **settings}.items():
        if not submitted.contains(key):
            builder = builder.config(key, value)
    for key, value in of_application().items():
        builder = builder.config(key, value)
    extensions = submitted.get(_EXTENSIONS, "") or ""
    if _EXTENSION not in extensions:
        # Somebody else's rules are no reason to go without Delta's.
        builder = builder.config(_EXTENSIONS, ",".join(filter(None, (_EXTENSION, extensions))))
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        need_delta(spark)
    except CannotStart:
        stop_submitted(spark)
        raise
    return spark


def need_delta(spark: SparkSession) -> None:
    """Raise CannotStart, with the remedy, for an application that knows no Delta Lake.

    Spark itself would go on, and say something else for each thing that then fails.
    """
    loader = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader()  # type: ignore[union-attr]
    try:
        loader.loadClass(_EXTENSION)
    except Py4JJavaError as error:
        raise CannotStart(f"this Spark has no Delta Lake. {_DELTA_REMEDY}") from error
    extensions = spark.conf.get(_EXTENSIONS, "") or ""
    if _EXTENSION not in extensions or not spark.conf.get(_CATALOG, ""):
        raise CannotStart(f"this Spark application was not made for Delta Lake. {_DELTA_REMEDY}")


def stop_started(spark: SparkSession) -> None:
    """Stop what `start_spark` started, unless its JVM has ended already.

    A SIGTERM to all processes of a group, as `timeout` sends it, ends the JVM at once. A batch that
    was underway says so itself; an end that was asked for is no error.
    """
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    try:
        spark.stop()
    except (Py4JError, ConnectionError):
        # One that is about to end refuses connections already, or cuts an answer off.
        with suppress(subprocess.TimeoutExpired):
            gateway.proc.wait(_SECONDS_TO_END)
        if gateway.proc.poll() is None:
            raise


def stop_submitted(spark: SparkSession) -> None:
    """Stop the application, and let its JVM end.

    The driver of storage accounts has threads that would keep `spark-submit` for ever. Elsewhere
    the JVM ends with this process.
    """
    jvm = spark._jvm
    assert jvm is not None
    spark.stop()
    jvm.org.apache.hadoop.fs.FileSystem.closeAll()


def is_submitted() -> bool:
    """Whether this process was started by `spark-submit`, which has a JVM ready for it."""
    return "PYSPARK_GATEWAY_PORT" in os.environ


def active_spark() -> SparkSession | None:
    """The session that this process was given: on Databricks, or in somebody's own application.

    Raises CannotStart for a Spark that is too old, for a session without a JVM of its own (Spark
    Connect), since Delta's transactions are reached through that, and for an application that was
    made without Delta Lake. On Databricks Delta is always there, by other names.
    """
    _need_spark_4(pyspark.__version__)
    databricks = "DATABRICKS_RUNTIME_VERSION" in os.environ
    spark = SparkSession.getActiveSession()
    if spark is None and databricks:
        spark = SparkSession.builder.getOrCreate()
    if spark is None:
        return None
    if getattr(spark, "_jvm", None) is None:
        raise CannotStart(
            "this Spark session has no JVM of its own: on Databricks, use classic compute in "
            "dedicated access mode, not serverless and not standard access mode"
        )
    if not databricks:
        need_delta(spark)
    return spark


def _need_spark_4(version: str) -> None:
    """Before anything is asked of one that would fail somewhere in between."""
    if int(version.partition(".")[0]) < _OLDEST:
        raise CannotStart(
            f"this is Spark {version}, and Spark {_OLDEST}.0 or newer is needed: Databricks "
            "Runtime 17.3 or newer, or `pip install 'openmirror[spark]'` on a machine of your own. "
            "Spark pools of Synapse and clusters of HDInsight have none"
        )


def _unused_folder() -> str:
    """Nothing is stored in the warehouse, but Spark makes it, by default where one stands."""
    return str(Path(tempfile.gettempdir()) / "openmirror-warehouse")
