"""What the functions share: one root, its queues, its dead letters and the runner's job."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import openmirror
from openmirror.errors import CannotStart
from openmirror.ingress.dead_letters import QUEUE_OF, ReadEvents
from openmirror.ingress.queue_wake_up import QueueWaker
from openmirror.ingress.start_runner import Starter
from openmirror.ports import WorkQueue
from openmirror.ports.dead_letters import DeadLetters, Requeuer, UndeliveredEvents
from openmirror.ports.jobs import RunnerJob
from openmirror.progress.context import detail_of, log_context, subject_of
from openmirror.progress.union import ProgressEvent
from openmirror.reconcile.liveness import SWEPT_EVERY, EventsTaken
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.resting import RestingTables
from openmirror.runtime.sweeper import Sweeper
from openmirror.settings import Settings, variable
from openmirror.wiring.azure import leases, work_queue
from openmirror.wiring.local import utc_now
from openmirror.wiring.root import root_ports
from openmirror.wiring.telemetry import emitting_through_the_host

WORKSPACE = "DATABRICKS_HOST"
"""Databricks' own name for the URL of a workspace."""

_log = logging.getLogger("openmirror")


@dataclass(frozen=True, kw_only=True)
class FunctionAppContext:
    """Everything that the functions work with; safe to share between threads."""

    ports: RootPorts
    work: WorkQueue
    sweeper: Sweeper
    events_taken: EventsTaken
    read_events: ReadEvents
    starter: Starter
    dead_letters: DeadLetters
    undelivered_events: UndeliveredEvents
    requeuer: Requeuer


def function_app_context(env: Mapping[str, str]) -> FunctionAppContext:
    """All of it, from app settings; nothing is asked of any service yet.

    Raises CannotStart naming every setting that is wrong or missing.
    """
    settings = function_settings(env)
    assert settings.queues is not None
    assert settings.dead_letters is not None
    from openmirror.stores.azure.dead_letters import BlobDeadLetters, QueueRequeuer
    from openmirror.stores.azure.event_grid import read_events

    # An app is not installed, so nothing else in its log says which version it is.
    _log.info("openmirror %s runs over %s", openmirror.__version__, settings.root)
    work = work_queue(settings)
    dead_letters = BlobDeadLetters.connect(settings.dead_letters, QUEUE_OF)
    ports = emitting_through_the_host(root_ports(settings, emit=_log_event), settings.status_repeat)
    starter = Starter(work, runner_job(settings, env), utc_now, ports.telemetry)
    return FunctionAppContext(
        ports=ports,
        work=work,
        sweeper=Sweeper(
            ports,
            QueueWaker(work, "sweep"),
            starter,
            leases(settings),
            RestingTables(SWEPT_EVERY, settings.sweep_slowest),
            SWEPT_EVERY,
        ),
        events_taken=EventsTaken(ports.store, utc_now),
        read_events=read_events,
        starter=starter,
        dead_letters=dead_letters,
        undelivered_events=dead_letters.undelivered_events(),
        requeuer=QueueRequeuer.connect(settings.queues),
    )


def function_settings(env: Mapping[str, str]) -> Settings:
    """The settings of a Function App; raises CannotStart naming all that are wrong or missing."""
    settings = Settings.load(env)
    wrong = []
    if settings.root is None:
        wrong.append(f"{variable('root')} is missing: the https:// URL of the storage account")
    if settings.queues is None:
        wrong.append(f"{variable('queues')}__queueServiceUri is missing: the URL of the queues")
    if settings.dead_letters is None:
        wrong.append(
            f"{variable('dead_letters')}__blobServiceUri is missing: where dead letters are kept"
        )
    host = env.get(WORKSPACE)
    if host and settings.job is None:
        wrong.append(f"{variable('job')} is missing: {WORKSPACE} is set, and names no job")
    if settings.job is not None and not host:
        wrong.append(f"{WORKSPACE} is missing: {variable('job')} is set, and its workspace is not")
    if host and not host.startswith("https://"):
        wrong.append(f"{WORKSPACE} is {host!r}, but must be the https:// URL of a workspace")
    if wrong:
        raise CannotStart("\n".join(wrong))
    return settings


def runner_job(settings: Settings, env: Mapping[str, str]) -> RunnerJob | None:
    """The job that is the runner; None where a runner is always on."""
    if settings.job is None:
        return None
    from openmirror.databricks.runner_job import DatabricksJob

    return DatabricksJob.connect(env[WORKSPACE], settings.job, utc_now, settings.restart_delay)


def _log_event(event: ProgressEvent) -> None:
    # What is `extra` becomes properties of the record where the host sends by OpenTelemetry.
    fields = {"event": event.name, **log_context(event)}
    subject, detail = subject_of(event), detail_of(event)
    _log.log(event.severity, "%s: %s %s", subject, event.name, detail, extra=fields)
