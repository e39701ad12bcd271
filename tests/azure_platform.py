"""What a Function App finds around itself in Azure: identity, Application Insights, Databricks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openmirror.emulator.certificate import certificate as make_certificate
from tests.databricks_stub import JOB, Jobs, jobs_api
from tests.identity_stub import Identities, identities
from tests.ingestion_stub import QUIET, Ingestion, ingestion

CLIENT = "11111111-2222-3333-4444-555555555555"
APP = "func-openmirror-abc123"
WORKSPACE = "https://adb-1234567890123456.7.azuredatabricks.net"
_AUTHENTICATION = {
    "APPLICATIONINSIGHTS_AUTHENTICATION_STRING": f"ClientId={CLIENT};Authorization=AAD"
}


@dataclass
class Platform:
    """The stand-ins, and the settings by which an app and a runner find them."""

    certificate: Path
    """What their https is to be trusted by."""
    sent: Ingestion
    jobs: Jobs
    identities: Identities
    folder: Path

    @property
    def app(self) -> dict[str, str]:
        """Settings of the app, as infra/bicep gives them, and what the platform adds."""
        return {
            **QUIET,
            **self.identities.env,
            "REQUESTS_CA_BUNDLE": str(self.certificate),
            "TMPDIR": str(self.folder),
            "FUNCTIONS_WORKER_RUNTIME": "python",
            "WEBSITE_SITE_NAME": APP,
            "AZURE_CLIENT_ID": CLIENT,
            **_AUTHENTICATION,
            "OPENMIRROR_JOB": str(JOB),
            "DATABRICKS_HOST": self.jobs.url,
            "PYTHON_APPLICATIONINSIGHTS_ENABLE_TELEMETRY": "true",
            "APPLICATIONINSIGHTS_CONNECTION_STRING": self.sent.connection_string,
        }

    @property
    def runner(self) -> dict[str, str]:
        """What a runner in this process needs in its environment to send as well."""
        return {
            **QUIET,
            **self.identities.env,
            **_AUTHENTICATION,
            "REQUESTS_CA_BUNDLE": str(self.certificate),
        }


@contextmanager
def platform(folder: Path) -> Iterator[Platform]:
    """All of it, until left; files of theirs go below the folder."""
    certificate = make_certificate(folder / "certificate", [])
    with (
        identities() as given,
        jobs_api(certificate) as jobs,
        ingestion(certificate) as sent,
    ):
        jobs.pages = WORKSPACE
        yield Platform(certificate[0], sent, jobs, given, folder)
