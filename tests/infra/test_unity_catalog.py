"""What Unity Catalog is given: two credentials, two locations, and what a runner needs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.infra.unity_catalog import FOLDER, ROOT, breaches


def test_the_sql_breaks_no_rule() -> None:
    assert breaches() == []


@pytest.mark.parametrize(
    ("file", "written", "planted", "message"),
    [
        ("credentials.sql", '"purpose": "SERVICE"', '"purpos": "SERVICE"', "does not understand"),
        ("credentials.sql", '"purpose": "SERVICE"', '"purpose": "STORAGE"', "which nobody makes"),
        ("credentials.sql", "${RUNNER_IDENTITY_ID}", "${RUNNER_PRINCIPAL_ID}", "not the runner's"),
        ("credentials.sql", "${ACCESS_CONNECTOR_ID}", "${CONNECTOR}", "CONNECTOR is no output"),
        ("credentials.sql", "ON SERVICE CREDENTIAL", "ON CREDENTIAL", "is not understood here"),
        ("credentials.sql", "`openmirror_service` TO", "`openmirror` TO", "no SERVICE CREDENTIAL"),
        ("credentials.sql", "TO `${RUNNER_CLIENT_ID}`", "TO `users`", "users is not the runner"),
        ("locations.sql", "abfss://landing@", "abfss://Landing@", "'landing'): READ FILES is miss"),
        ("locations.sql", "abfss://landing@", "abfss://lake@", "for the container landing alone"),
        ("locations.sql", '"openmirror_storage"', '"storage"', "with storage, which nobody"),
        ("locations.sql", '"skip_validation": true, ', "", "skip_validation is for the container"),
        ("locations.sql", '"read_only": true, ', "", "read_only is for the container landing"),
        ("locations.sql", ', "enable_file_events": false', "", "landing: file events would be on"),
        (
            "locations.sql",
            '--     "enable_file_events": false,\n',
            "",
            "lake: file events would be",
        ),
        ("locations.sql", '"enable_file_events": false', '"file_events": false', "knows no file_e"),
        ("locations.sql", "abfss://lake@", "abfss://landing@", "'lake'): WRITE FILES is missing"),
        ("locations.sql", "GRANT READ FILES ON", "GRANT READ FILES, WRITE FILES ON", "more than"),
        ("locations.sql", "READ FILES, WRITE FILES ON", "READ FILES ON", "WRITE FILES is missing"),
        ("locations.sql", "GRANT READ FILES ON", "GRANT READ FILE ON", "no privilege READ FILE"),
        ("catalog.sql", "USE CATALOG, CREATE SCHEMA", "ALL PRIVILEGES", "ALL PRIVILEGES is more"),
        ("catalog.sql", "Mirrored tables.';", "Mirrored tables.'", "is not understood here"),
    ],
)
def test_a_planted_mistake_is_found(
    tmp_path: Path, file: str, written: str, planted: str, message: str
) -> None:
    for name in ("databricks.yml", "resources", FOLDER):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        copy(ROOT / name, tmp_path / name)
    text = (tmp_path / FOLDER / file).read_text()
    assert written in text
    (tmp_path / FOLDER / file).write_text(text.replace(written, planted, 1))
    assert message in "\n".join(breaches(tmp_path))
