"""The port `Publishing`: the deployment endpoint of an app on Flex Consumption."""

from __future__ import annotations

from azure.core.rest import HttpRequest, HttpResponse

from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.azure.failures import in_our_words
from openmirror.deployment.publish import Publication
from openmirror.errors import NotThere, WrongRequest

_RIGHT = "Website Contributor on the Function App, and a way through its network to this machine"
_READ_SECONDS = 600
"""The endpoint answers once it has all of a package, which may take minutes to send."""

# As its own tools know them: azure-functions-core-tools, DeployStatus.
_STATES = {
    -1: "cancelled",
    0: "pending",
    1: "building",
    2: "deploying",
    3: "failed",
    4: "done",
    5: "in conflict with another deployment",
    6: "done in part",
}
_DONE, _UNDERWAY = 4, (0, 1, 2)


class ArmPublishing:
    """One app's endpoint, which takes the same tokens as Azure Resource Manager."""

    def __init__(self, clients: ManagementClients, group: str, app: str, scheme: str = "https"):
        self._clients = clients
        self._group = group
        self._app = app
        self._scheme = scheme

    def send(self, package: bytes) -> None:
        """Begin a deployment without a build; raises WrongRequest while another one runs."""
        url = f"{self._endpoint()}/api/publish?RemoteBuild=false&Deployer=openmirror"
        headers = {"Content-Type": "application/zip", "Cache-Control": "no-cache"}
        answer = self._asked(HttpRequest("POST", url, headers=headers, content=package))
        if answer.status_code == 409:
            raise WrongRequest(f"{self._app} is being deployed by somebody: wait, and try again")
        with in_our_words(f"deployment endpoint of {self._app}", _RIGHT):
            answer.raise_for_status()

    def last(self) -> Publication | None:
        """How the newest deployment stands; None while the endpoint does not know of one."""
        answer = self._asked(HttpRequest("GET", f"{self._endpoint()}/api/deployments/latest"))
        if answer.status_code == 404:
            return None
        with in_our_words(f"last deployment of {self._app}", _RIGHT):
            answer.raise_for_status()
        found = answer.json()
        if found.get("status") is None:
            return None
        status = int(found["status"])
        words = str(found.get("status_text") or found.get("message") or "")
        state = _STATES.get(status, f"in the unknown state {status}")
        failed = status not in (_DONE, *_UNDERWAY)
        text = f"{state}: {words}" if words else state
        return Publication(status == _DONE, failed, text, accepted=answer.status_code == 202)

    def _asked(self, request: HttpRequest) -> HttpResponse:
        with in_our_words(f"deployment endpoint of {self._app}", _RIGHT):
            return self._clients.resources.send_request(request, read_timeout=_READ_SECONDS)

    def _endpoint(self) -> str:
        with in_our_words(f"Function App {self._app}"):
            app = self._clients.web.web_apps.get(self._group, self._app)
        states = (app.properties.host_name_ssl_states if app.properties else None) or ()
        for one in states:
            # Azure calls the host of an app's deployments its repository.
            if str(one.host_type or "").rpartition(".")[2].lower() == "repository" and one.name:
                return f"{self._scheme}://{one.name}"
        raise NotThere(f"{self._app} names no deployment endpoint")
