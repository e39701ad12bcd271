"""What a table contains is decided by the product, whatever an application's owner has set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from openmirror.spark.deciding import DECIDING, UNDONE
from openmirror.spark.transacting import fresh_session
from tests.hostile_settings import HOSTILE

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 900
HADOOP = "spark.hadoop."


class Hostile:
    """An application whose sessions begin with hostile settings, as those of a submitted one do."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark

    def newSession(self) -> SparkSession:  # noqa: N802 - Spark's own name
        session = self._spark.newSession()
        for key, value in HOSTILE.items():
            session.conf.set(key.removeprefix(HADOOP), value)
        return session


def test_no_setting_that_decides_reaches_a_session_that_touches_data(spark: SparkSession) -> None:
    application: Any = Hostile(spark)
    ours = fresh_session(application).conf.getAll
    for key, theirs in HOSTILE.items():
        found = ours.get(key.removeprefix(HADOOP), "as by itself")
        wanted = DECIDING.get(key.removeprefix(HADOOP), found)
        assert found == wanted != theirs, key


def test_every_setting_that_decides_has_been_tried_the_other_way() -> None:
    tried = {key.removeprefix(HADOOP) for key in HOSTILE}
    assert tried >= DECIDING.keys()
    assert not [family for family in UNDONE if not any(key.startswith(family) for key in tried)]
