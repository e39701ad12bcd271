"""The Databricks bundle as the jobs API will get it, and every rule that it breaks."""

from __future__ import annotations

import contextlib
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from databricks.bundles.jobs import ClusterSpec, Job
from opentelemetry.sdk.environment_variables import OTEL_METRIC_EXPORT_INTERVAL
from packaging.requirements import Requirement

import openmirror
from openmirror.errors import CannotStart
from openmirror.settings import PREFIX, Settings
from openmirror.wiring.telemetry import CONNECTION
from spark_jobs.arguments import parse
from tests.infra.pins import read_project, required, required_by_all

ROOT = Path(__file__).parents[2]
FILE = "databricks.yml"

GIVEN: dict[str, Any] = {
    "root": "https://contosolake.dfs.core.windows.net",
    "queues": "https://contosorun.queue.core.windows.net",
    "functions_client_id": "11111111-1111-1111-1111-111111111111",
    "runner_client_id": "22222222-2222-2222-2222-222222222222",
}
"""What has no default, as somebody would give it."""

_TOP = {"bundle", "include", "artifacts", "sync", "variables", "targets"}
_VARIABLE = {"description", "default", "type"}
_TARGET = {"mode", "default", "presets", "workspace", "run_as", "permissions"}
_REFERENCE = re.compile(r"\$\{var\.(\w+)\}")
_DEDICATED = {"SINGLE_USER", "DATA_SECURITY_MODE_DEDICATED"}
_SINGLE_NODE = {"spark.databricks.cluster.profile": "singleNode"}
OF_TELEMETRY = {CONNECTION, OTEL_METRIC_EXPORT_INTERVAL}
"""What else a runner's environment is read for."""
NOT_THE_RUNNERS = {
    "azure-eventgrid": "events reach functions only",
    "azure-functions": "the Function App's own",
    "databricks-sdk": "every cluster has one, and its `dbutils` belong to that",
    "jinja2": "the status page, which the Function App serves",
    "pyarrow": "every runtime has one inside our range",
    "pydantic": "every runtime has one inside our range",
}
"""Packages of the wheel and its extra `azure` that a cluster is not given, each with the reason."""


@dataclass(frozen=True)
class Bundle:
    """The files as they are written."""

    top: Mapping[str, Any]
    files: Mapping[str, Mapping[str, Any]]

    @property
    def jobs(self) -> dict[str, Mapping[str, Any]]:
        """Every job, with references to variables in it."""
        return {
            k: job for body in self.files.values() for k, job in body["resources"]["jobs"].items()
        }

    def resolved(self, given: Mapping[str, Any] = GIVEN) -> dict[str, dict[str, Any]]:
        """Every job as it is deployed."""
        values = {k: v["default"] for k, v in self.top["variables"].items() if "default" in v}
        return {key: _put_in(job, {**values, **given}) for key, job in self.jobs.items()}


def read(root: Path = ROOT) -> Bundle:
    """The bundle of a folder."""
    top = _loaded(root / FILE)
    found = sorted(path for pattern in top["include"] for path in root.glob(pattern))
    return Bundle(top, {p.relative_to(root).as_posix(): _loaded(p) for p in found})


def _loaded(path: Path) -> Any:
    """A YAML file; by libyaml, for each planted mistake has the whole bundle read."""
    return yaml.load(path.read_text(), Loader=yaml.CSafeLoader)


def breaches(bundle: Bundle) -> list[str]:
    """Everything that is wrong with it, in words."""
    found = [*_unknown(bundle), *_variables(bundle), *_targets(bundle)]
    if found:
        return found
    for key, job in bundle.resolved().items():
        found += [f"{key}: {text}" for text in (*_refused(job), *_refused(bundle.jobs[key]))]
        if not found:
            rules = (_one_at_a_time, _started, _reported, _on_its_own_machine, _task, _libraries)
            found += [f"{key}: {text}" for rule in rules for text in rule(job, bundle)]
    return found


def _put_in(value: Any, values: Mapping[str, Any]) -> Any:
    if isinstance(value, Mapping):
        return {key: _put_in(item, values) for key, item in value.items()}
    if isinstance(value, list):
        return [_put_in(item, values) for item in value]
    if not isinstance(value, str):
        return value
    if whole := _REFERENCE.fullmatch(value):
        return _put_in(values[whole[1]], values)
    return _REFERENCE.sub(lambda found: str(values[found[1]]), value)


def _unknown(bundle: Bundle) -> Iterator[str]:
    """Words that the CLI does not know: databricks-bundles has models of resources only."""
    yield from (f"{FILE}: {key}?" for key in set(bundle.top) - _TOP)
    for name, variable in bundle.top["variables"].items():
        yield from (f"variable {name}: {key}?" for key in set(variable) - _VARIABLE)
        if not variable.get("description"):
            yield f"variable {name}: nobody knows what it is"
        if ("type" in variable) is not isinstance(variable.get("default"), dict | list):
            yield f"variable {name}: lists and mappings are of the type `complex`, others are not"
    for name, target in bundle.top["targets"].items():
        yield from (f"target {name}: {key}?" for key in set(target) - _TARGET)
    if not bundle.files:
        yield "no file is included"
    for name, body in bundle.files.items():
        if set(body) != {"resources"} or set(body["resources"]) != {"jobs"}:
            yield f"{name}: holds more than jobs"


def _variables(bundle: Bundle) -> Iterator[str]:
    text = yaml.safe_dump([bundle.top["variables"], bundle.top["targets"], dict(bundle.files)])
    used, declared = set(_REFERENCE.findall(text)), set(bundle.top["variables"])
    yield from (f"variable {name} is used and not declared" for name in sorted(used - declared))
    yield from (f"variable {name} is declared and not used" for name in sorted(declared - used))
    required = {k for k, v in bundle.top["variables"].items() if "default" not in v}
    for name in sorted(required ^ set(GIVEN)):
        yield f"variable {name}: what differs between subscriptions has no default, all else has"


def _targets(bundle: Bundle) -> Iterator[str]:
    modes = {target.get("mode"): target for target in bundle.top["targets"].values()}
    if set(modes) != {"development", "production"}:
        yield "there is one target to try in and one for good"
        return
    # Left to itself, a target in development lets four runs of a job work side by side.
    if modes["development"].get("presets", {}).get("jobs_max_concurrent_runs") != 1:
        yield "the target dev allows several runs at a time"
    runner = {"service_principal_name": "${var.runner_client_id}"}
    if modes["production"].get("run_as") != runner:
        yield "the target prod does not run as the runner's principal"
    if {**runner, "level": "CAN_VIEW"} not in modes["production"].get("permissions", []):
        yield "the runner's principal may not read the wheel"


def _refused(job: Mapping[str, Any]) -> Iterator[str]:
    """What Databricks' own models say."""
    try:
        Job.from_dict(job)  # type: ignore[arg-type]
        for cluster in job["job_clusters"]:
            if isinstance(cluster["new_cluster"], dict):
                ClusterSpec.from_dict(cluster["new_cluster"])  # type: ignore[arg-type]
    except (ValueError, TypeError) as error:
        yield str(error)


def _one_at_a_time(job: Mapping[str, Any], bundle: Bundle) -> Iterator[str]:
    if job.get("max_concurrent_runs") != 1:
        yield "more than one run at a time"
    if "continuous" in job:
        if any("max_retries" in task for task in job["tasks"]):
            yield "a continuous job may have no retries"
    elif job.get("queue") != {"enabled": True}:
        yield "who asks for a second run is turned away"


def _started(job: Mapping[str, Any], bundle: Bundle) -> Iterator[str]:
    if "continuous" in job:
        if job["continuous"] != {"pause_status": "PAUSED"}:
            yield "costs from the first deployment on"
        return
    if not 3600 <= job.get("timeout_seconds", 0) <= 172_800:
        yield "a run that hangs keeps others from starting, and one that works needs hours"
    if [task.get("max_retries") for task in job["tasks"]] != [0]:
        yield "is started again by Databricks and by the Function App"
    if {
        "service_principal_name": GIVEN["functions_client_id"],
        "level": "CAN_MANAGE_RUN",
    } not in job.get("permissions", []):
        yield "the Function App may not start it"


def _reported(job: Mapping[str, Any], bundle: Bundle) -> Iterator[str]:
    receivers = {"alert_emails": ["you@example.org"], "alert_webhooks": [{"id": "a"}]}
    reported = next(
        found
        for found in bundle.resolved({**GIVEN, **receivers}).values()
        if found["name"] == job["name"]
    )
    for kind, who in (
        ("email", receivers["alert_emails"]),
        ("webhook", receivers["alert_webhooks"]),
    ):
        if reported.get(f"{kind}_notifications", {}).get("on_failure") != who:
            yield f"nobody hears by {kind} of a failed run"


def _on_its_own_machine(job: Mapping[str, Any], bundle: Bundle) -> Iterator[str]:
    """Classic compute in dedicated access mode: see docs/decisions/0022-no-serverless-runner.md."""
    if "environments" in job or any("environment_key" in task for task in job["tasks"]):
        yield "runs serverless, which the runner refuses"
    clusters = {c["job_cluster_key"]: c["new_cluster"] for c in job["job_clusters"]}
    for task in job["tasks"]:
        cluster = clusters.get(task.get("job_cluster_key", ""))
        if cluster is None:
            yield f"the task {task['task_key']} has no cluster of its own"
            continue
        if cluster.get("data_security_mode") not in _DEDICATED:
            yield "is not in dedicated access mode, which the runner refuses"
        single = _SINGLE_NODE.items() <= cluster.get("spark_conf", {}).items()
        if single is not (cluster.get("num_workers") == 0):
            yield "one machine, or several? num_workers and spark_conf disagree"
        yield from _environment(cluster.get("spark_env_vars", {}))


def _environment(env: Mapping[str, str]) -> Iterator[str]:
    settings = {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}
    for name, value in env.items():
        if name.partition("__")[0] not in settings | OF_TELEMETRY:
            yield f"{name} is no setting"
        if "{{secrets/" in value or name == f"{PREFIX}ACCOUNT_KEY":
            yield f"{name} is a secret"
    if env.get(f"{PREFIX}SERVICE_CREDENTIAL") is None:
        yield "asks Azure with no service credential"


def _task(job: Mapping[str, Any], bundle: Bundle) -> Iterator[str]:
    project = _project()
    [task], [cluster] = job["tasks"], job["job_clusters"]
    wheel = task["python_wheel_task"]
    if wheel["package_name"] != project["name"]:
        yield f"there is no package {wheel['package_name']}"
    if wheel["entry_point"] not in project["scripts"]:
        yield f"{wheel['package_name']} has no entry point {wheel['entry_point']}"
    output = io.StringIO()
    try:
        with contextlib.redirect_stderr(output):
            arguments = parse(wheel["parameters"], cluster["new_cluster"]["spark_env_vars"])
        settings = Settings.load(arguments.env, {"root": arguments.root})
    except SystemExit:
        yield output.getvalue().strip().splitlines()[-1]
    except CannotStart as error:
        yield str(error)
    else:
        if arguments.continuous is not ("continuous" in job):
            yield "a continuous job and --continuous belong together"
        if str(settings.root) != GIVEN["root"]:
            yield "does not know its root"
        if settings.queues is None or settings.queues.service != GIVEN["queues"]:
            yield "does not know its queues"


def _libraries(job: Mapping[str, Any], bundle: Bundle) -> Iterator[str]:
    [task] = job["tasks"]
    # As hatchling names it, and as `python -m release` leaves it in dist.
    built = f"dist/{_project()['name']}-{openmirror.__version__}-py3-none-any.whl"
    wheels = [item["whl"] for item in task["libraries"] if "whl" in item]
    if len(wheels) != 1 or not fnmatch(built, wheels[0].removeprefix("../")):
        yield f"does not install {built}"
    sources = [file["source"] for a in bundle.top["artifacts"].values() for file in a["files"]]
    if wheels != [f"../{source}" for source in sources]:
        yield f"installs {wheels}, and the bundle uploads {sources}"
    given = {Requirement(item["pypi"]["package"]) for item in task["libraries"] if "pypi" in item}
    pins = [*required_by_all(), *required("azure")]
    if "continuous" in job:
        pins += required("kafka")  # a job with an end lands no streams
    wanted = {pin for pin in pins if pin.name not in NOT_THE_RUNNERS}
    yield from (f"does not install {pin}" for pin in sorted(wanted - given, key=str))
    yield from (f"installs {pin}, which nobody requires" for pin in sorted(given - wanted, key=str))


@cache
def _project() -> dict[str, Any]:
    found: dict[str, Any] = read_project()["project"]
    return found
