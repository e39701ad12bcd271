"""The RunnerJob port over Databricks jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Protocol

from azure.core.exceptions import AzureError, ClientAuthenticationError
from databricks.sdk import WorkspaceClient
from databricks.sdk.config import Config
from databricks.sdk.credentials_provider import CredentialsStrategy
from databricks.sdk.errors import (
    DeadlineExceeded,
    InternalError,
    NotFound,
    PermissionDenied,
    TemporarilyUnavailable,
    TooManyRequests,
    Unauthenticated,
)
from databricks.sdk.errors.base import DatabricksError
from databricks.sdk.service.jobs import BaseRun, Run, RunLifeCycleState, RunLifecycleStateV2State

from openmirror.databricks.error_text import first_line
from openmirror.errors import AccessDenied, NotThere, Unavailable
from openmirror.ports import Clock
from openmirror.ports.jobs import (
    AlreadyActive,
    Failed,
    Refused,
    Skipped,
    Started,
    StartOutcome,
    Unreachable,
)
from openmirror.ports.workspace import ObservedJob
from openmirror.stores.azure.credentials import identity

SCOPE = "2ff814a6-3304-4ab8-85cb-cd0e6f879c1d/.default"
"""Azure Databricks itself, the same in every workspace."""
REQUEST_SECONDS = 10
RETRY_SECONDS = 15
"""How long the SDK may repeat what was refused for a moment."""

_AUTH_TYPE = "azure-identity"
_NOT_RUN = frozenset(
    {
        "MAX_CONCURRENT_RUNS_EXCEEDED",
        "MAXIMUM_CONCURRENT_RUNS_REACHED",
        "MAX_JOB_QUEUE_SIZE_EXCEEDED",
        "SKIPPED",
        "WORKSPACE_RUN_LIMIT_EXCEEDED",
    }
)
_WELL = _NOT_RUN | {"SUCCESS", "SUCCESS_WITH_FAILURES", "CANCELED", "USER_CANCELED"}


class Credential(Protocol):
    """The part of azure-identity's credentials that is used here."""

    def get_token(self, *scopes: str) -> Token:
        """A token that is valid now."""
        ...


class Token(Protocol):
    """An access token."""

    @property
    def token(self) -> str:
        """As the header wants it."""
        ...


class _ByIdentity(CredentialsStrategy):
    """The SDK has no way of its own to ask as a managed identity."""

    def __init__(self, credential: Credential) -> None:
        self._credential = credential

    def auth_type(self) -> str:
        return _AUTH_TYPE

    def __call__(self, cfg: Config) -> Callable[[], dict[str, str]]:
        del cfg
        return lambda: {"Authorization": f"Bearer {self._credential.get_token(SCOPE).token}"}


def client_of(host: str, credential: Credential) -> WorkspaceClient:
    """The SDK's client of a workspace; making one already asks the workspace something."""
    return WorkspaceClient(
        config=Config(
            host=host,
            credentials_strategy=_ByIdentity(credential),
            # Or it would refuse an environment that has credentials of other kinds.
            auth_type=_AUTH_TYPE,
            http_timeout_seconds=REQUEST_SECONDS,
            retry_timeout_seconds=RETRY_SECONDS,
        )
    )


@dataclass(frozen=True)
class _Ended:
    """How a run ended."""

    code: str
    message: str
    at: datetime | None

    @property
    def in_words(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


class DatabricksJob:
    """The runner as one job of a workspace; safe to share between threads."""

    def __init__(
        self,
        host: str,
        job: int,
        credential: Credential,
        clock: Clock,
        restart_delay: timedelta = timedelta(),
    ) -> None:
        self._host = host
        self._job = job
        self._credential = credential
        self._clock = clock
        self._restart_delay = restart_delay
        self._client: WorkspaceClient | None = None

    @classmethod
    def connect(cls, host: str, job: int, clock: Clock, restart_delay: timedelta) -> DatabricksJob:
        """The job of a workspace, asked with the environment's identity.

        Raises CannotStart when no token may be sent there.
        """
        credential = identity(host, secure=host.startswith("https://"))
        return cls(host, job, credential, clock, restart_delay)

    @property
    def identity(self) -> str:
        """The job's number."""
        return str(self._job)

    def start(self) -> StartOutcome:
        """See that a run is active; every failure of the platform is a value."""
        who = f"the job {self._job} of {self._host}"
        try:
            return self._start(self._connected())
        except (PermissionDenied, Unauthenticated) as error:
            return Refused(
                f"{who}: {first_line(error)}. Add the identity to the workspace as a service "
                "principal and grant it CAN_MANAGE_RUN on the job"
            )
        except ClientAuthenticationError as error:
            return Refused(f"{who}: no identity to ask with: {first_line(error)}")
        except (
            TooManyRequests,
            TemporarilyUnavailable,
            InternalError,
            DeadlineExceeded,
        ) as error:
            return Unreachable(f"{who}: {first_line(error)}")
        except DatabricksError as error:
            if _is_missing(error):
                return Failed(f"{who} does not exist: correct OPENMIRROR_JOB or DATABRICKS_HOST")
            return Failed(f"{who}: {first_line(error)}")
        except AzureError as error:  # who gives out tokens cannot be reached
            return Unreachable(f"{who}: {first_line(error)}")
        except OSError as error:  # time-outs and lost connections that the SDK gave up on
            return Unreachable(f"{who}: {first_line(error.__cause__ or error)}")

    def observe(self) -> ObservedJob:
        """How its runs stand; raises AccessDenied, NotThere or Unavailable."""
        who = f"the job {self._job} of {self._host}"
        try:
            jobs = self._connected().jobs
            jobs.get(self._job)  # or of a job that is not there it would only know no run
            run = next(iter(jobs.list_runs(job_id=self._job, active_only=True, limit=1)), None)
            if run is not None:
                return ObservedJob(active=True, page=run.run_page_url or "")
            run = next(iter(jobs.list_runs(job_id=self._job, completed_only=True, limit=1)), None)
        except (PermissionDenied, Unauthenticated, ClientAuthenticationError) as error:
            raise AccessDenied(
                f"{who}: {first_line(error)}: it takes CAN_VIEW on the job"
            ) from error
        except DatabricksError as error:
            if _is_missing(error):
                raise NotThere(f"{who} does not exist") from error
            raise Unavailable(f"{who}: {first_line(error)}") from error
        except (AzureError, OSError) as error:
            raise Unavailable(f"{who}: {first_line(error)}") from error
        ended = _ended(run) if run is not None else None
        if run is None or ended is None:
            return ObservedJob(active=False)
        return ObservedJob(False, ended.in_words, ended.code not in _WELL, run.run_page_url or "")

    def _connected(self) -> WorkspaceClient:
        # Not at once: making the client already asks the workspace something.
        if self._client is None:
            self._client = client_of(self._host, self._credential)
        return self._client

    def _start(self, client: WorkspaceClient) -> StartOutcome:
        active = next(
            iter(client.jobs.list_runs(job_id=self._job, active_only=True, limit=1)), None
        )
        if active is not None:
            return AlreadyActive(str(active.run_id))
        last = next(
            iter(client.jobs.list_runs(job_id=self._job, completed_only=True, limit=1)), None
        )
        if last is not None and (failed := self._rests(last)):
            return failed
        return self._run(client, last.run_id if last else None, attempts=2)

    def _rests(self, last: BaseRun) -> Failed | None:
        """A run that just failed would fail again: leave some time between two."""
        ended = _ended(last)
        if ended is None or ended.code in _WELL or ended.at is None:
            return None
        left = ended.at + self._restart_delay - self._clock()
        if left <= timedelta():
            return None
        seconds = round(left.total_seconds())
        reason = f"run {last.run_id} ended with {ended.in_words}; the next in {seconds} s"
        return Failed(reason, str(last.run_id), self._page(last))

    def _run(self, client: WorkspaceClient, last: int | None, attempts: int) -> StartOutcome:
        # The token makes two that ask at once get one run, and names the last run that ended, so
        # that the run which is handed out is never that one.
        asked = client.jobs.run_now(self._job, idempotency_token=_token(self._job, last))
        run = client.jobs.get_run(asked.run_id)
        ended = _ended(run)
        number, page = str(run.run_id), self._page(run)
        if ended is None:
            return Started(number, page)
        if ended.code in _NOT_RUN:
            return Skipped(f"run {number}: {ended.in_words}", number, page)
        if attempts > 1:  # it had ended before the list of ended runs knew
            return self._run(client, run.run_id, attempts - 1)
        return Failed(f"run {number} ended with {ended.in_words}", number, page)

    def _page(self, run: BaseRun | Run) -> str:
        """The page of a run, for people; the platform names it, but need not."""
        return run.run_page_url or f"{self._host}/jobs/{self._job}/runs/{run.run_id}"


def _is_missing(error: DatabricksError) -> bool:
    """Whether there is no such job: some workspaces answer 404, others 400 and this."""
    return isinstance(error, NotFound) or "does not exist" in str(error)


def _token(job: int, last: int | None) -> str:
    """At most 64 characters."""
    return sha256(f"openmirror {job} after {last}".encode()).hexdigest()


def _ended(run: BaseRun | Run) -> _Ended | None:
    """How a run ended; None while it has not."""
    at = datetime.fromtimestamp(run.end_time / 1000, UTC) if run.end_time else None
    if run.status is not None and run.status.state is not None:
        if run.status.state is not RunLifecycleStateV2State.TERMINATED:
            return None
        details = run.status.termination_details
        code = details.code.value if details and details.code else "an unknown code"
        return _Ended(code, (details.message if details else None) or "", at)
    state = run.state
    over = (
        RunLifeCycleState.TERMINATED,
        RunLifeCycleState.SKIPPED,
        RunLifeCycleState.INTERNAL_ERROR,
    )
    if state is None or state.life_cycle_state not in over:
        return None
    # A skipped run has no result.
    result = state.result_state or state.life_cycle_state
    return _Ended(result.value, state.state_message or "", at)
