"""The Databricks bundle: a runner that is started once, reported, and given no secret."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from azure.core.credentials import AccessToken
from databricks.sdk import WorkspaceClient
from databricks.sdk.service.jobs import JobSettings

from openmirror.databricks.runner_job import DatabricksJob
from openmirror.ports.jobs import AlreadyActive, Started
from tests.databricks_stub import JOB, jobs_api
from tests.infra.bundle import FILE, GIVEN, NOT_THE_RUNNERS, ROOT, breaches, read
from tests.infra.pins import required, required_by_all

RUNNER, CONTINUOUS = "resources/runner.job.yml", "resources/continuous.job.yml"


def test_the_bundle_breaks_no_rule() -> None:
    assert breaches(read()) == []


def test_it_has_a_job_on_demand_and_one_that_is_always_on() -> None:
    jobs = read().resolved()
    assert {key: "continuous" in job for key, job in jobs.items()} == {
        "runner": False,
        "continuous": True,
    }


def test_every_package_that_a_cluster_is_not_given_is_one_that_the_app_has() -> None:
    assert set(NOT_THE_RUNNERS) < {pin.name for pin in (*required_by_all(), *required("azure"))}


@pytest.mark.parametrize(
    ("file", "written", "planted", "message"),
    [
        (FILE, "artifacts:", "artefacts:", "artefacts"),
        (FILE, "data_security_mode: SINGLE_USER", "data_security_mode: SINGLE", "DataSecurityMode"),
        (
            FILE,
            "data_security_mode: SINGLE_USER",
            "data_security_mode: USER_ISOLATION",
            "dedicated",
        ),
        (FILE, "num_workers: 0", "num_workers: none", "none"),
        (FILE, "num_workers: 0", "num_workers: 4", "num_workers and spark_conf disagree"),
        (FILE, "node_type_id:", "nodetype:", "nodetype"),
        (FILE, "OPENMIRROR_CATALOG:", "OPENMIRROR_CATALOGUE:", "CATALOGUE is no setting"),
        (FILE, "${var.telemetry}", "'{{secrets/a/b}}'", "telemetry is declared and not used"),
        (FILE, ": ${var.catalog}", ": '{{secrets/a/b}} ${var.catalog}'", "CATALOG is a secret"),
        (
            FILE,
            "OPENMIRROR_SERVICE_CREDENTIAL",
            "OPENMIRROR_DEAD_LETTERS__x",
            "no service credential",
        ),
        (FILE, "jobs_max_concurrent_runs: 1", "jobs_max_concurrent_runs: 4", "several runs"),
        (FILE, "name: ${var.runner_client_id}\n    #", "name: me\n    #", "runner's principal"),
        (FILE, "level: CAN_VIEW", "level: CAN_RUN", "may not read the wheel"),
        (FILE, "default: PAUSED", "default: UNPAUSED", "costs from the first deployment"),
        (FILE, "default: PAUSED", "default: STOPPED", "STOPPED"),
        (FILE, "dist/openmirror-*.whl", "dist/*-1.whl", "the bundle uploads"),
        (FILE, "- resources/*.job.yml", "- resources/*.jobs.yml", "no file is included"),
        (RUNNER, "max_concurrent_runs: 1", "max_concurrent_run: 1", "max_concurrent_run"),
        (RUNNER, "max_concurrent_runs: 1", "max_concurrent_runs: 2", "more than one run"),
        (RUNNER, "enabled: true", "enabled: false", "turned away"),
        (RUNNER, "timeout_seconds: 86400", "timeout_seconds: 60", "needs hours"),
        (RUNNER, "max_retries: 0", "max_retries: 3", "started again by Databricks and"),
        (RUNNER, "CAN_MANAGE_RUN", "CAN_VIEW", "may not start it"),
        (RUNNER, "on_failure: ${var.alert_emails}", "on_success: ${var.alert_emails}", "by email"),
        (RUNNER, "${var.alert_webhooks}", "[]", "by webhook"),
        (RUNNER, "${var.cluster}", "${var.clusters}", "clusters is used and not declared"),
        (RUNNER, "package_name: openmirror", "package_name: open-mirror", "no package open-mirror"),
        (RUNNER, "entry_point: openmirror-runner", "entry_point: runner", "no entry point runner"),
        (RUNNER, "--until-idle", "--until-empty", "unrecognized arguments: --until-empty"),
        (RUNNER, "--until-idle", "--set, workers=none", "OPENMIRROR_WORKERS"),
        (RUNNER, "--until-idle", "--continuous", "belong together"),
        (RUNNER, '--root, "${var.root}"', "--mirror, sales", "root"),
        (
            RUNNER,
            "../dist/openmirror-*.whl",
            "../dist/openmirror-0.0.*.whl",
            "does not install dist",
        ),
        (RUNNER, "azure-storage-queue==12.18.1", "azure-storage-queue==12.0.0", "nobody requires"),
        (RUNNER, "            - pypi: { package: azure-identity==1.27.0 }\n", "", "azure-identity"),
        (RUNNER, "package: cramjam==2.14.0", "package: pyarrow==26.0.1", "nobody requires"),
        (
            RUNNER,
            "job_cluster_key: runner\n          #",
            "environment_key: a\n          #",
            "serverless",
        ),
        (CONTINUOUS, "task_key: runner", "max_retries: 1\n          task_key: a", "no retries"),
        (CONTINUOUS, "max_concurrent_runs: 1", "queue: { enabled: true }", "more than one run"),
        (CONTINUOUS, "--continuous, ", "", "belong together"),
    ],
)
def test_a_planted_mistake_is_found(
    tmp_path: Path, file: str, written: str, planted: str, message: str
) -> None:
    shutil.copy(ROOT / FILE, tmp_path)
    shutil.copytree(ROOT / "resources", tmp_path / "resources")
    text = (tmp_path / file).read_text()
    assert written in text
    (tmp_path / file).write_text(text.replace(written, planted, 1))
    assert re.search(re.escape(message), "\n".join(breaches(read(tmp_path))))


class _Identity:
    """The Function App's managed identity."""

    def get_token(self, *scopes: str) -> AccessToken:
        return AccessToken("a-token", 2**33)


def _as_the_api_has_it(job: dict[str, Any]) -> dict[str, Any]:
    """The CLI gives permissions to another API."""
    return {key: value for key, value in job.items() if key != "permissions"}


@pytest.mark.parametrize("key", ["runner", "continuous"])
def test_the_sdk_understands_every_word_of_a_job(key: str) -> None:
    wanted = _as_the_api_has_it(read().resolved()[key])
    assert _without_nothing(JobSettings.from_dict(wanted).as_dict()) == _without_nothing(wanted)


def _without_nothing(value: Any) -> Any:
    """The SDK leaves out empty lists and mappings, which say nothing to the API."""
    if isinstance(value, dict):
        kept = {key: _without_nothing(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ([], {})}
    return [_without_nothing(item) for item in value] if isinstance(value, list) else value


def test_a_job_that_was_made_of_the_bundle_is_started_once_by_the_function_app() -> None:
    settings = JobSettings.from_dict(_as_the_api_has_it(read().resolved()["runner"]))
    with jobs_api() as jobs:
        client = WorkspaceClient(host=jobs.url, token="somebody's")
        made = client.jobs.create(**vars(settings))
        assert made.job_id == JOB
        [listed] = client.jobs.list(name="openmirror-runner")
        assert listed.job_id == JOB
        assert listed.settings is not None
        assert listed.settings.max_concurrent_runs == 1
        [task] = jobs.created[0]["tasks"]
        assert task["python_wheel_task"]["parameters"] == ["--until-idle", "--root", GIVEN["root"]]

        app = DatabricksJob(
            jobs.url, JOB, _Identity(), lambda: datetime.now(UTC), timedelta(minutes=1)
        )
        assert isinstance(app.start(), Started)
        assert isinstance(app.start(), AlreadyActive)
        assert len(jobs.runs) == 1
