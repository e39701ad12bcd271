"""What `openmirror azure` works with: one subscription, and the accounts of a deployment."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from openmirror.deployment.preflight import Preflight
from openmirror.deployment.rules.findings import Finding
from openmirror.deployment.rules.function_app import WORKSPACE
from openmirror.deployment.rules.outputs import Outputs, is_ours, variables
from openmirror.deployment.sample import Sample
from openmirror.deployment.verify import DataPlane, Verification, last_deployment
from openmirror.errors import CannotStart
from openmirror.ingress.dead_letters import QUEUE_OF
from openmirror.ports.connection import Connection
from openmirror.ports.storage_account import AccountUrl
from openmirror.ports.workspace import ObservedJob, Workspace
from openmirror.settings import Settings
from openmirror.wiring.azure import account_ports, account_store
from openmirror.wiring.local import Say, utc_now
from openmirror.wiring.packages import optional_packages

if TYPE_CHECKING:
    from openmirror.deployment.azure.clients import ManagementClients

_KEYS = ("OPENMIRROR_ACCOUNT_KEY", "OPENMIRROR_QUEUES", "OPENMIRROR_DEAD_LETTERS")
"""Settings for an emulator; without `__…` behind them, the latter two are no URLs."""
_NEEDED = "openmirror[cli,azure,deploy]"


@dataclass(frozen=True)
class Management:
    """One subscription, asked with the identity of the environment."""

    clients: ManagementClients
    env: Mapping[str, str]
    opened: ExitStack = field(default_factory=ExitStack)
    """The accounts that were opened: whoever made this lets go of them."""

    @property
    def subscription(self) -> str:
        """Its id."""
        return self.clients.subscription

    def preflight(self) -> Preflight:
        """What is asked before a deployment."""
        from openmirror.deployment.azure.subscription import ArmSubscription

        return Preflight(ArmSubscription(self.clients), workspace, wrong_settings)

    def verification(
        self,
        group: str,
        name: str | None = None,
        *,
        with_sample: bool,
        timeout: timedelta,
        emit: Say,
    ) -> Verification:
        """What is asked after a deployment."""
        from openmirror.deployment.azure.deployed import ArmDeployed

        return Verification(
            group=group,
            deployed=ArmDeployed(self.clients),
            open=lambda outputs: self.data_plane(outputs, timeout, emit),
            workspace=workspace,
            with_sample=with_sample,
            name=name,
        )

    def variables(self, group: str, name: str | None) -> dict[str, str]:
        """A deployment's outputs as variables of a shell; raises CannotStart without one."""
        from openmirror.deployment.azure.deployed import ArmDeployed

        found = last_deployment(ArmDeployed(self.clients), group, name)
        if found is None or not is_ours(found):
            raise CannotStart(
                f"the group {group} remembers no deployment of openmirror that ended: deploy it "
                "(docs/DEPLOY.md), or give another --resource-group or --name"
            )
        return variables(found.outputs)

    def publish(self, group: str, name: str | None, package: bytes) -> Iterator[str]:
        """Put a package with its requirements into the app; says what happens.

        Raises CannotStart without a deployment, WrongRequest when it is refused.
        """
        from openmirror.deployment.azure.publishing import ArmPublishing
        from openmirror.deployment.publish import publish

        app = self.variables(group, name)["FUNCTION_APP"]
        yield from publish(ArmPublishing(self.clients, group, app), package, _sleep)

    def data_plane(self, outputs: Outputs, timeout: timedelta, emit: Say) -> DataPlane:
        """The accounts that a deployment made, and no others, whatever else the shell knows.

        Only emulators' keys and connection strings are taken from the environment. Raises
        CannotStart when the accounts cannot be used.
        """
        from openmirror.deployment.sample_row import ParquetSampleRow
        from openmirror.stores.azure.dead_letters import BlobDeadLetters
        from openmirror.stores.azure.queue_lengths import StorageQueueLengths

        keys = {name: self.env[name] for name in _KEYS if name in self.env}
        settings = Settings.load(keys, {"root": _account(outputs.openmirror_root)})
        store = account_store(settings)
        queues = StorageQueueLengths.connect(
            settings.queues or Connection(service=outputs.openmirror_queues)
        )
        dead_letters = BlobDeadLetters.connect(
            settings.dead_letters or Connection(service=outputs.openmirror_dead_letters), QUEUE_OF
        )
        for one in (store, queues, dead_letters):
            self.opened.callback(one.close)
        ports = account_ports(settings, store)

        def sample(job: Callable[[], ObservedJob | None]) -> Finding:
            row = ParquetSampleRow(store)
            return Sample(
                ports=ports,
                row=row,
                queues=queues,
                job=job,
                sleep=_sleep,
                emit=emit,
                timeout=timeout,
            ).finding()

        def names() -> list[str] | None:
            return dead_letters.names() if dead_letters.is_there() else None

        return DataPlane(ports, queues, names, sample)


@contextmanager
def management(env: Mapping[str, str], subscription: str | None) -> Iterator[Management]:
    """A subscription by id or name, or the one that `az` works with.

    Raises CannotStart when none is known, or a package is missing.
    """
    with optional_packages("`openmirror azure` needs", azure=_NEEDED):
        from openmirror.deployment.azure.clients import ManagementClients
        from openmirror.deployment.azure.profile import chosen
        from openmirror.stores.azure.credentials import identity

        found = chosen(env, subscription)
        if found is None:
            raise CannotStart(
                "no subscription is known: `az login` and `az account set --subscription NAME`, or "
                "give --subscription ID"
            )
        credential = identity("Azure Resource Manager", secure=True)
        clients = ManagementClients.of(credential, found.subscription, found.cloud)
    with closing(clients), ExitStack() as opened:
        yield Management(clients, env, opened)


def workspace(url: str) -> Workspace:
    """The Databricks workspace of a URL, asked with the identity of the environment.

    Raises CannotStart for what is no https:// URL.
    """
    from openmirror.databricks.workspace import DatabricksWorkspace
    from openmirror.stores.azure.credentials import identity

    try:
        is_good = urlsplit(url).scheme == "https" and bool(urlsplit(url).hostname)
    except ValueError:
        is_good = False
    if not is_good:
        raise CannotStart(f"{WORKSPACE} is {url!r}, but must be the https:// URL of a workspace")
    return DatabricksWorkspace(url, identity(url, secure=True), utc_now)


def wrong_settings(settings: Mapping[str, str]) -> str | None:
    """What is wrong with app settings of openmirror; None when nothing is."""
    try:
        Settings.load(settings)
    except CannotStart as error:
        return str(error)
    return None


def _account(root: str) -> AccountUrl:
    try:
        return AccountUrl.parse(root)
    except ValueError as error:
        raise CannotStart(f"the deployment's OPENMIRROR_ROOT must be {error}") from None


def _sleep(span: timedelta) -> None:
    time.sleep(span.total_seconds())
