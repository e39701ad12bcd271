"""Which Spark a runner takes from its surroundings, and what it says about one that will not do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NoReturn
from unittest.mock import MagicMock

import pyspark
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkAttributeError
from pyspark.sql import SparkSession

from openmirror.errors import CannotStart
from openmirror.spark.session import active_spark


class Connected:
    """A session of Spark Connect: it has the methods, and refuses what belongs to a JVM."""

    @property
    def _jvm(self) -> NoReturn:
        raise PySparkAttributeError(
            errorClass="JVM_ATTRIBUTE_NOT_SUPPORTED", messageParameters={"attr_name": "_jvm"}
        )


class NoSuchClass(Py4JJavaError):
    """What a JVM answers that has not the jars of Delta Lake."""

    def __init__(self) -> None:
        Exception.__init__(self, "ClassNotFoundException")

    def __str__(self) -> str:
        return "ClassNotFoundException"


MADE_FOR_DELTA = {
    "spark.sql.extensions": "com.contoso.Own,io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


class Classic:
    """A session with a JVM of its own, and what its application was started with."""

    def __init__(
        self, settings: Mapping[str, str] = MADE_FOR_DELTA, *, has_jars: bool = True
    ) -> None:
        self.conf = dict(settings)
        self._jvm = MagicMock()
        if not has_jars:
            thread = self._jvm.java.lang.Thread.currentThread()
            thread.getContextClassLoader().loadClass.side_effect = NoSuchClass()


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Callable[[object], None]:
    """Makes a session the active one of this process."""

    def give(session: object) -> None:
        monkeypatch.setattr(SparkSession, "getActiveSession", lambda: session)

    return give


def test_serverless_compute_is_refused_by_the_name_of_what_to_use_instead(
    given: Callable[[object], None],
) -> None:
    given(Connected())
    with pytest.raises(CannotStart) as raised:
        active_spark()
    message = str(raised.value)
    assert "use classic compute in dedicated access mode" in message
    assert "not serverless and not standard access mode" in message


def test_a_session_with_a_jvm_is_taken_as_it_is(given: Callable[[object], None]) -> None:
    session = Classic()
    given(session)
    assert active_spark() is session


@pytest.mark.parametrize("missing", MADE_FOR_DELTA)
def test_an_application_that_was_not_made_for_delta_is_refused_with_the_remedy(
    given: Callable[[object], None], missing: str
) -> None:
    given(Classic({key: value for key, value in MADE_FOR_DELTA.items() if key != missing}))
    with pytest.raises(CannotStart, match="not made for Delta Lake") as raised:
        active_spark()
    assert f"{missing}={MADE_FOR_DELTA[missing].rpartition(',')[2]}" in str(raised.value)


def test_an_application_without_the_jars_of_delta_is_refused_with_the_remedy(
    given: Callable[[object], None],
) -> None:
    given(Classic(has_jars=False))
    with pytest.raises(CannotStart, match="has no Delta Lake") as raised:
        active_spark()
    assert "--packages" in str(raised.value)


def test_databricks_has_a_delta_of_its_own(
    given: Callable[[object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABRICKS_RUNTIME_VERSION", "17.3")
    session = Classic({}, has_jars=False)
    given(session)
    assert active_spark() is session


def test_without_one_a_runner_starts_its_own(
    given: Callable[[object], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABRICKS_RUNTIME_VERSION", raising=False)
    given(None)
    assert active_spark() is None


@pytest.mark.parametrize("version", ["3.5.5", "3.3.1.5.2-116510623"])
def test_a_spark_that_is_too_old_is_refused_before_a_session_is_asked_for(
    given: Callable[[object], None], monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    given(Classic())
    with pytest.raises(CannotStart, match=r"Spark 4\.0 or newer is needed") as raised:
        active_spark()
    assert f"this is Spark {version}" in str(raised.value)
    assert "Synapse" in str(raised.value)


@pytest.mark.parametrize("version", ["4.0.0", "4.1.2", "4.2.0.dev0", "5.0.0"])
def test_every_newer_one_is_taken(
    given: Callable[[object], None], monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(pyspark, "__version__", version)
    given(None)
    assert active_spark() is None
