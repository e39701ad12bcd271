"""After a deployment: whether every part is there, may do its work, and does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from openmirror.deployment.asking import asked
from openmirror.deployment.rules.findings import Check, Finding, Verdict, fault, unknown
from openmirror.deployment.rules.function_app import JOB, WORKSPACE, check_app, check_settings
from openmirror.deployment.rules.mirrors import check_heartbeats, check_sweep, check_tables
from openmirror.deployment.rules.naming import DEPLOYMENT
from openmirror.deployment.rules.outputs import Outputs, check_deployment, is_ours, made_by
from openmirror.deployment.rules.roles import QUEUES, Who, check_roles
from openmirror.deployment.rules.traffic import (
    AlwaysOn,
    check_dead_letters,
    check_events,
    check_queues,
    check_runner,
)
from openmirror.deployment.rules.unity_catalog import check_locations
from openmirror.errors import AccessDenied, CannotStart, NotThere, Unavailable, WrongRequest
from openmirror.operate.overview import mirror_head
from openmirror.operate.report import heartbeat, statuses
from openmirror.ports.management import Assignment, Deployed, Deployment
from openmirror.ports.sampling import QueueLengths
from openmirror.ports.work_items import WORK_QUEUE
from openmirror.ports.workspace import ObservedJob, Workspace
from openmirror.reconcile.discovery import mirrors
from openmirror.reconcile.liveness import SWEPT_EVERY, read_sweep
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status import TableStatus, Trouble, Word


@dataclass(frozen=True)
class DataPlane:
    """The accounts of a deployment, from inside."""

    ports: RootPorts
    queues: QueueLengths
    dead_letters: Callable[[], Sequence[str] | None]
    """The names of what was given up; None where there is no container for it."""
    sample: Callable[[Callable[[], ObservedJob | None]], Finding]
    """The sample's way, for whoever can say how the runner's job stands."""


@dataclass(frozen=True, kw_only=True)
class Verification:
    """What is asked; nothing is changed but the sample's table."""

    group: str
    deployed: Deployed
    open: Callable[[Outputs], DataPlane]
    """The accounts that a deployment made; raises CannotStart."""
    workspace: Callable[[str], Workspace]
    """The Databricks workspace of a URL."""
    with_sample: bool = True
    name: str | None = None
    """Which deployment, where the group holds several."""

    def findings(self) -> Iterator[Finding]:
        """All of them, each as soon as it is known."""
        seen: list[Outputs] = []
        # One that cannot even be read was not verified, which must not look like one that was.
        for one in asked(Check.DEPLOYMENT, lambda: self._deployment(seen)):
            yield replace(one, verdict=Verdict.FAULT) if one.verdict is Verdict.UNKNOWN else one
        if not seen:
            return
        outputs = seen[0]
        settings: dict[str, str] = {}
        off: set[str] = set()
        yield from asked(Check.APP, lambda: self._app(outputs.function_app, off))
        yield from asked(Check.SETTINGS, lambda: self._settings(outputs, settings, off))
        yield from asked(Check.ROLES, lambda: self._roles(outputs))
        yield from asked(Check.EVENTS, lambda: self._events(outputs))
        yield from asked(Check.LOCATIONS, lambda: self._locations(outputs, settings))
        opened: list[DataPlane] = []
        yield from self._opened(outputs, opened)
        if not opened:
            yield from self._runner(settings, {})
            return
        inside = opened[0]
        lengths: dict[str, int | None] = {}
        yield from asked(Check.QUEUES, lambda: self._queues(inside, lengths))
        yield from asked(Check.DEAD_LETTERS, lambda: check_dead_letters(inside.dead_letters()))
        yield from self._runner(settings, lengths)
        yield from asked(Check.SWEEP, lambda: self._sweep(outputs, inside.ports))
        yield from asked(Check.HEARTBEAT, lambda: self._heartbeats(inside.ports))
        yield from asked(Check.TABLES, lambda: self._tables(inside.ports))
        if self.with_sample:
            yield from self._sample(inside, settings)

    def _opened(self, outputs: Outputs, opened: list[DataPlane]) -> Iterator[Finding]:
        try:
            opened.append(self.open(outputs))
        except CannotStart as error:
            remedy = "Nothing inside the accounts was checked. Deploy again, or correct that."
            yield fault(Check.QUEUES, str(error), remedy)

    def _sample(self, inside: DataPlane, settings: dict[str, str]) -> Iterator[Finding]:
        """One that cannot even be landed is not passed over: nothing was shown by it."""
        for one in asked(Check.SAMPLE, lambda: [inside.sample(lambda: self._observed(settings))]):
            if one.verdict is Verdict.UNKNOWN:
                yield fault(one.check, one.what, f"{one.remedy} Or verify with --no-sample.")
            else:
                yield one

    def _deployment(self, seen: list[Outputs]) -> list[Finding]:
        found = last_deployment(self.deployed, self.group, self.name)
        finding, outputs = check_deployment(self.group, self.name or DEPLOYMENT, found)
        if outputs is not None:
            seen.append(outputs)
        return [finding]

    def _app(self, name: str, off: set[str]) -> list[Finding]:
        app = self.deployed.app(self.group, name)
        off.update(app.disabled if app else ())
        return check_app(self.group, name, app)

    def _settings(self, outputs: Outputs, settings: dict[str, str], off: set[str]) -> list[Finding]:
        settings.update(self.deployed.app_settings(self.group, outputs.function_app))
        return check_settings(outputs, settings, off)

    def _roles(self, outputs: Outputs) -> list[Finding]:
        principals = {
            Who.FUNCTIONS: outputs.functions_principal_id,
            Who.RUNNER: outputs.runner_principal_id,
            Who.TOPIC: self.deployed.topic_principal(self.group, outputs.system_topic),
        }
        given: dict[Who, list[Assignment] | None] = {
            who: self.deployed.assignments(self.group, principal) if principal else None
            for who, principal in principals.items()
        }
        return check_roles(outputs, given)

    def _events(self, outputs: Outputs) -> list[Finding]:
        topic, name = outputs.system_topic, outputs.event_subscription
        return check_events(outputs, self.deployed.event_subscription(self.group, topic, name))

    def _queues(self, inside: DataPlane, lengths: dict[str, int | None]) -> list[Finding]:
        lengths.update({name: inside.queues.length(name) for name in QUEUES})
        return check_queues(lengths)

    def _locations(self, outputs: Outputs, settings: dict[str, str]) -> list[Finding]:
        """Nothing where no workspace is known; a wrong URL of one is the finding of the runner."""
        url = settings.get(WORKSPACE)
        if not url:
            return []
        try:
            workspace = self.workspace(url)
        except CannotStart:
            return []
        return check_locations(outputs.lake_account, workspace.locations())

    def _runner(
        self, settings: dict[str, str], lengths: dict[str, int | None]
    ) -> Iterator[Finding]:
        if not settings:
            remedy = "Ask for a role that may read the app's settings: they name the job."
            yield unknown(Check.RUNNER, "the app's settings are not known", remedy)
            return
        yield from asked(Check.RUNNER, lambda: self._job(settings, lengths.get(WORK_QUEUE)))

    def _job(self, settings: dict[str, str], waiting: int | None) -> list[Finding]:
        try:
            observed = self._observe(settings)
        except CannotStart as error:
            return [fault(Check.RUNNER, str(error), "Correct the app's setting, or deploy again.")]
        except NotThere as error:
            remedy = "Give databricksJobId the number of the job in that workspace: deploy again."
            return [fault(Check.RUNNER, str(error), remedy)]
        return check_runner(observed or AlwaysOn(), waiting)

    def _observed(self, settings: dict[str, str]) -> ObservedJob | None:
        try:
            return self._observe(settings)
        except (AccessDenied, CannotStart, NotThere, Unavailable):
            return None

    def _observe(self, settings: dict[str, str]) -> ObservedJob | None:
        """How the runner's job stands; None where a runner is always on."""
        number, url = settings.get(JOB), settings.get(WORKSPACE)
        return self.workspace(url).job(_number(number)) if number and url else None

    def _sweep(self, outputs: Outputs, ports: RootPorts) -> list[Finding]:
        record = read_sweep(ports.store)
        return check_sweep(record, ports.clock(), SWEPT_EVERY, self.group, outputs.function_app)

    def _heartbeats(self, ports: RootPorts) -> list[Finding]:
        beats = {name: heartbeat(ports.store, name) for name in mirrors(ports.store)}
        return check_heartbeats(beats, ports.clock())

    def _tables(self, ports: RootPorts) -> list[Finding]:
        names = mirrors(ports.store)
        tables: list[TableStatus] = statuses(ports, names)
        return check_tables(tables, _wrong_mirrors(ports, names))


def last_deployment(deployed: Deployed, group: str, name: str | None) -> Deployment | None:
    """The newest deployment of this `name`; None where the group remembers none.

    Raises WrongRequest when the group remembers several and none is named.
    """
    every = deployed.deployments(group)
    if name is None and len(names := sorted({made for one in every if (made := made_by(one))})) > 1:
        raise WrongRequest(
            f"the group {group} remembers the deployments {', '.join(names)}: say which, --name"
        )
    # One that azd made, or a second one, is called otherwise than it should; and one that failed or
    # still runs says nothing of what it made, so that only what it is called is known.
    called = name or DEPLOYMENT
    return next(
        (one for one in every if is_ours(one, name) or (one.name == called and not made_by(one))),
        None,
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise CannotStart(f"{JOB} is {text!r}, but must be the number of a job")
    return int(text)


def _wrong_mirrors(ports: RootPorts, names: list[str]) -> dict[str, Trouble]:
    """Mirrors whose own settings are refused; silence is the heartbeat's finding."""
    heads = {name: mirror_head(ports, name).trouble for name in names}
    return {
        name: trouble
        for name, trouble in heads.items()
        if trouble is not None and trouble.code != Word.NO_HEARTBEAT
    }
