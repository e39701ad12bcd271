"""Spark as this process can have it: its own, the one that it was submitted to, or a given one.

Importing pyspark takes longer than most verbs do, so it is imported only here and only when used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmirror.errors import CannotStart
from openmirror.formats.conversion import FileConverter
from openmirror.ports import TableEngine
from openmirror.ports.storage_account import AccountUrl
from openmirror.progress.union import EventSink, discard
from openmirror.protocol.names import TableFolder
from openmirror.settings import Settings
from openmirror.stores.local.store import LocalStore
from openmirror.wiring.azure import account_store
from openmirror.wiring.java import java_output_captured, last_words, need_java
from openmirror.wiring.local import Say, local_root, say_nothing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from openmirror.spark.places import SparkPaths
    from openmirror.spark.registering import Record


def not_recorded(folder: TableFolder, failure: str | None) -> None:
    """The default of `record`."""


@contextmanager
def local_engine(settings: Settings, say: Say = say_nothing) -> Iterator[TableEngine]:
    """Spark in this process over a local root, stopped at the end.

    Raises CannotStart when it cannot be had.
    """
    with local_spark(settings, say) as spark:
        yield engine_over(settings, spark)


@contextmanager
def local_spark(settings: Settings, say: Say = say_nothing) -> Iterator[SparkSession]:
    """Spark in this process, stopped at the end; raises CannotStart when it cannot be had."""
    local_root(settings)  # which is to be there before anything slow is begun
    with rootless_spark(settings, say) as spark:
        yield spark


@contextmanager
def rootless_spark(settings: Settings, say: Say = say_nothing) -> Iterator[SparkSession]:
    """Spark in this process that reads and writes no tables, stopped at the end; CannotStart."""
    with _of_our_own(settings, say, {}) as spark:
        yield spark


def engine_over(settings: Settings, spark: SparkSession) -> TableEngine:
    """The engine of a local root, in a session that is there already."""
    from openmirror.spark.places import local_spark_paths

    return _engine(settings, spark, local_spark_paths(str(local_root(settings))))


@dataclass(frozen=True)
class RootSpark:
    """Spark that reads and writes what lies below a root."""

    session: SparkSession
    paths: SparkPaths
    own: Mapping[str, str]
    """What each of our sessions is given besides: how to get at the files."""


@contextmanager
def root_spark(
    settings: Settings, env: Mapping[str, str], say: Say = say_nothing
) -> Iterator[RootSpark]:
    """Spark over a folder or a storage account, wherever this process runs.

    A session that is there already is used, and neither started nor stopped: that is so on
    Databricks, where access to the account is arranged by an external location. Under
    `spark-submit` its application is used, elsewhere one is started. Raises CannotStart.
    """
    paths, access = _reach(settings, env)
    given = _given_session()
    if given is not None:
        # A key is only there for an emulator, which nobody else arranges access to.
        yield RootSpark(given, paths, access if settings.account_key else {})
        return
    with _started(settings, access, say) as spark:
        yield RootSpark(spark, paths, {})


@contextmanager
def root_engine(
    settings: Settings,
    env: Mapping[str, str],
    say: Say = say_nothing,
    emit: EventSink = discard,
    record: Record = not_recorded,
) -> Iterator[TableEngine]:
    """The engine over `root_spark`, which raises CannotStart."""
    with root_spark(settings, env, say) as spark:
        yield engine_of_root(settings, spark, emit, record)


def engine_of_root(
    settings: Settings,
    spark: RootSpark,
    emit: EventSink = discard,
    record: Record = not_recorded,
) -> TableEngine:
    """The engine, with a catalog behind it if there is one."""
    engine = _engine(settings, spark.session, spark.paths, spark.own)
    if settings.catalog is None:
        return engine
    from openmirror.spark.registering import Catalog, Registering

    catalog = Catalog(spark.session, spark.paths, settings.catalog, spark.own)
    return Registering(engine, catalog, emit, record)


def _reach(settings: Settings, env: Mapping[str, str]) -> tuple[SparkPaths, dict[str, str]]:
    """Where Spark finds what lies below the root, and its Hadoop settings for that."""
    from openmirror.spark.access import abfs_settings
    from openmirror.spark.places import account_spark_paths, local_spark_paths

    root = settings.root_given()
    if not isinstance(root, AccountUrl):
        return local_spark_paths(str(local_root(settings))), {}
    key = settings.account_key.get_secret_value() if settings.account_key else None
    if key is None and _given_session() is not None:
        return account_spark_paths(root), {}
    return account_spark_paths(root), abfs_settings(root, key, env)


def _given_session() -> SparkSession | None:
    with warnings.catch_warnings():
        # About pandas, which is not used with Spark here.
        warnings.simplefilter("ignore", FutureWarning)
        from openmirror.spark.session import active_spark

        return active_spark()


@contextmanager
def _started(settings: Settings, access: Mapping[str, str], say: Say) -> Iterator[SparkSession]:
    from openmirror.spark.session import is_submitted, stop_submitted, submitted_spark

    hadoop = {f"spark.hadoop.{name}": value for name, value in access.items()}
    if is_submitted():
        spark = submitted_spark(hadoop)
        try:
            yield spark
        finally:
            stop_submitted(spark)
        return
    with _of_our_own(settings, say, hadoop) as spark:
        yield spark


@contextmanager
def _of_our_own(
    settings: Settings, say: Say, overrides: Mapping[str, str]
) -> Iterator[SparkSession]:
    from openmirror.spark.session import stop_started

    spark = _start_here(settings, say, overrides)
    try:
        yield spark
    finally:
        stop_started(spark)


def _start_here(settings: Settings, say: Say, overrides: Mapping[str, str]) -> SparkSession:
    from openmirror.spark.class_archive import java_options
    from openmirror.spark.jars import class_path

    need_java()
    cache = jar_cache(settings)
    jars = class_path(cache, say)
    retained = nullcontext(None) if settings.debug else java_output_captured()
    with retained as output, warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        from openmirror.spark.session import start_spark

        try:
            return start_spark(
                master=settings.spark_master,
                driver_memory=settings.driver_memory,
                class_path=jars,
                overrides=overrides,
                java_options=java_options(cache, jars),
            )
        except RuntimeError as error:
            reason = f"\n{last_words(output)}" if output else ""
            raise CannotStart(f"Spark does not start: {error}{reason}") from error


def jar_cache(settings: Settings) -> Path:
    """Where jars from Maven are kept."""
    from openmirror.spark.jars import default_cache

    return settings.cache / "jars" if settings.cache else default_cache()


def _engine(
    settings: Settings,
    spark: SparkSession,
    spark_path: SparkPaths,
    own: Mapping[str, str] | None = None,
) -> TableEngine:
    from openmirror.columnar.large_inserts import LargeInserts
    from openmirror.columnar.small_batches import SmallBatches
    from openmirror.columnar.small_tables import UNPACKED, SmallTables
    from openmirror.spark.copies import Copies
    from openmirror.spark.engine import SparkEngine

    is_account = isinstance(settings.root_given(), AccountUrl)
    store = account_store(settings) if is_account else LocalStore(local_root(settings))
    threads, small = settings.conversion_threads, settings.small_batch
    direct = settings.direct_batch
    # Single nodes of Databricks are this machine, too.
    is_here = str(spark.sparkContext.master).startswith("local")
    return SparkEngine(
        spark,
        spark_path,
        FileConverter(store),
        own,
        conversion_threads=threads,
        copies=Copies(store, threads) if settings.copy_files and is_here else None,
        large_inserts=LargeInserts(store, direct, threads) if direct else None,
        small_batches=SmallBatches(store, small, threads, direct) if small else None,
        small_table=settings.small_table,
        small_tables=SmallTables(UNPACKED * settings.small_table) if direct else None,
    )
