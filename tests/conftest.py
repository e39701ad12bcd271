"""One Spark session for the whole run; a fresh zone for each test."""

from __future__ import annotations

import gc
import itertools
import os
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hypothesis
import pytest
import typer.testing
from pyspark.sql import SparkSession

from tests.azurite import accounts, azurite, work_queue  # noqa: F401 - fixtures
from tests.harness.halves import is_in_the_half_with_spark
from tests.harness.jvm import LASTING, quick
from tests.harness.small_data import FOR_SMALL_DATA, forget_sources
from tests.harness.states import computed_as
from tests.spark_accounts import served  # noqa: F401 - a fixture
from tests.zone import Mirror, Zone

_NUMBERS = itertools.count()


def pytest_configure() -> None:
    """Before any test module: what they start takes its environment from this process."""
    os.environ.update(quick(os.environ))
    # A shell has what it runs in the background ignore Ctrl-C, and whoever that starts inherits it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # No test cuts the power off, and a disk takes milliseconds to be sure of each file. Processes
    # that tests start, and kill, wait for it as the product does.
    os.fsync = lambda fd: None
    # All that is asked lies on this machine. Unless this says so, each request searches the whole
    # environment for proxies, twice: a tenth of what it costs.
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "localhost,127.0.0.1"
    # How long an example takes says what else the machine does.
    hypothesis.settings.register_profile("without-deadline", deadline=None)
    hypothesis.settings.load_profile("without-deadline")
    # A process builds its command line once, but its test runner does so for each line: that is
    # four fifths of what a line costs, a thousand times.
    typer.testing._get_command = cache(typer.testing._get_command)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    from openmirror.spark.class_archive import java_options
    from openmirror.spark.jars import class_path, default_cache
    from openmirror.spark.session import start_spark

    jars = class_path()
    session = start_spark(
        master="local[2]",
        driver_memory="3g",
        class_path=jars,
        overrides=FOR_SMALL_DATA,
        java_options=f"{java_options(default_cache(), jars)} {LASTING}",
    )
    forget_sources(session)
    yield session
    session.stop()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pytest's own goes through the folders of all tests before, for each of ten thousand."""
    name = re.sub(r"\W", "_", request.node.name)[:30]
    made = tmp_path_factory.getbasetemp() / f"{next(_NUMBERS)}-{name}"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture(autouse=True)
def _states(request: pytest.FixtureRequest) -> Iterator[None]:
    with computed_as(request.node.nodeid):
        yield


@pytest.fixture
def zone(tmp_path: Path) -> Zone:
    made = Zone(tmp_path / "root")
    made.landing.mkdir(parents=True)
    return made


@pytest.fixture
def mirror(zone: Zone, spark: SparkSession) -> Mirror:
    return Mirror(zone, spark)


def pytest_collection_finish() -> None:
    # Whatever was imported stays to the end: no collection of garbage goes through it again.
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Whatever asks for Spark is a Spark test; nobody has to remember the mark."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.spark)
        if item.get_closest_marker("spark") and not item.get_closest_marker("soak"):
            _into_a_half(item)
    # They drain several tables at a time: last, when the half without Spark leaves them a core.
    items.sort(key=lambda item: item.name.startswith("test_the_engine_gives_what_a_vector_says"))


def _into_a_half(item: pytest.Item) -> None:
    try:
        if is_in_the_half_with_spark(item.nodeid):
            item.add_marker(pytest.mark.half_with_spark)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None
