"""The port `Workspace` over one Databricks workspace."""

from __future__ import annotations

import re
from http.client import HTTPException
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, build_opener

from azure.core.exceptions import AzureError, ClientAuthenticationError
from databricks.sdk.errors import PermissionDenied, Unauthenticated
from databricks.sdk.errors.base import DatabricksError

from openmirror.databricks.error_text import first_line
from openmirror.databricks.runner_job import Credential, DatabricksJob, client_of
from openmirror.errors import AccessDenied, Unavailable
from openmirror.ports import Clock
from openmirror.ports.workspace import ExternalLocation, ObservedJob

_SECONDS = 10
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class DatabricksWorkspace:
    """One workspace, by its URL."""

    def __init__(self, url: str, credential: Credential, clock: Clock) -> None:
        self._url = url.rstrip("/")
        self._credential = credential
        self._clock = clock

    def tenant(self) -> str | None:
        """The tenant whose login page the workspace sends a browser to; None if it does not."""
        try:
            with build_opener(_Stay()).open(f"{self._url}/aad/auth", timeout=_SECONDS):
                return None
        except HTTPError as answer:
            answer.close()
            first = urlsplit(answer.headers.get("Location", "")).path.strip("/").partition("/")[0]
            return first if _GUID.fullmatch(first) else None
        except (URLError, HTTPException, OSError, ValueError):
            return None

    def job(self, number: int) -> ObservedJob:
        """The job's runs; raises AccessDenied, NotThere or Unavailable."""
        return DatabricksJob(self._url, number, self._credential, self._clock).observe()

    def locations(self) -> list[ExternalLocation]:
        """Those of its metastore that the caller may see; raises AccessDenied or Unavailable."""
        what = f"the external locations of {self._url}"
        try:
            found = list(client_of(self._url, self._credential).external_locations.list())
        except (PermissionDenied, Unauthenticated, ClientAuthenticationError) as error:
            raise AccessDenied(f"{what}: {first_line(error)}") from error
        except (AzureError, DatabricksError, OSError) as error:
            raise Unavailable(f"{what}: {first_line(error)}") from error
        return [
            ExternalLocation(one.name or "", one.url or "", one.effective_enable_file_events)
            for one in found
        ]


class _Stay(HTTPRedirectHandler):
    """Where it leads is the answer."""

    def redirect_request(self, *_: object) -> None:
        return None
