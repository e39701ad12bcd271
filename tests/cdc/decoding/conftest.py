"""One decoder for all tests: it is a session of its own, with settings of its own."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from openmirror.cdc.decoding.decoder import Decoder


@pytest.fixture(scope="session")
def decoder(spark: SparkSession) -> Decoder:
    return Decoder(spark)
