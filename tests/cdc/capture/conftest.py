"""A capture of the test's own database; without jars, which asking it does not need."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmirror.cdc.capture.settings import CaptureSettings, DatabaseUrl


@pytest.fixture
def settings(database: DatabaseUrl, tmp_path: Path) -> CaptureSettings:
    return CaptureSettings(url=database, stream=database.database, spool=tmp_path, class_path="")
