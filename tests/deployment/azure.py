"""A local stand-in for Azure Resource Manager, over what the Bicep files make.

It answers in the REST shapes that the real SDKs ask for; whatever a test plants is a change of
`Azure`'s fields.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from http.server import BaseHTTPRequestHandler
from typing import Any
from unittest import mock
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import NAMESPACE_URL, uuid5

from azure.core.credentials import AccessToken
from azure.core.pipeline.policies import SansIOHTTPPolicy

from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.rules.function_app import FUNCTIONS
from openmirror.deployment.rules.naming import unique_string
from openmirror.deployment.rules.roles import ROLE_NAMES
from standins.loopback import serving
from tests.infra.bicep import evaluation
from tests.infra.bicep.evaluation import Later
from tests.infra.bicep.expansion import GROUP, MODULE, Deployed, Deployment, expand
from tests.infra.sample_deployment import PARAMETERS, ROLE_ASSIGNMENT, folder

SUBSCRIPTION = "00000000-0000-0000-0000-000000000001"
TENANT = "11111111-0000-0000-0000-000000000001"
NAME = "rg-mirrors"
SUBJECT = GROUP.lower()
_PAGE = 20
"""Resources on one page, so that there are several."""
_EXTENSIONS = ("Microsoft.Authorization/", "Microsoft.Insights/diagnosticSettings")
_TOP = re.compile(r"[^/]+/[^/]+\Z")


@cache
def bicep(**parameters: Any) -> Deployment:
    """What the Bicep files make, under the names that Azure would give."""
    with mock.patch.dict(evaluation.PURE, {"uniqueString": unique_string}):
        return expand(folder(), {**PARAMETERS, **parameters})


def guid(text: str) -> str:
    """What stands for something that Azure makes up."""
    return str(uuid5(NAMESPACE_URL, text))


def plain(value: Any) -> Any:
    """A value without what only Azure could say."""
    if isinstance(value, Later):
        return guid(value) if str(value).lower().endswith(("principalid", "clientid")) else "later"
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return [plain(one) for one in value] if isinstance(value, list) else value


@dataclass
class Azure:
    """One subscription with one resource group; what tests change and read."""

    url: str = ""
    groups: dict[str, str] = field(default_factory=lambda: {NAME: "westeurope"})
    resources: list[dict[str, Any]] = field(default_factory=list)
    assignments: list[dict[str, Any]] = field(default_factory=list)
    locks: list[dict[str, Any]] = field(default_factory=list)
    deployments: list[dict[str, Any]] = field(default_factory=list)
    stacks: list[dict[str, Any]] = field(default_factory=list)
    roles: dict[str, str] = field(default_factory=dict)
    """Roles that somebody made: name by GUID."""
    unregistered: set[str] = field(default_factory=set)
    permissions: list[dict[str, Any]] = field(default_factory=lambda: [{"actions": ["*"]}])
    flex: list[str] = field(default_factory=lambda: ["West Europe", "North Europe"])
    pythons: list[str] = field(default_factory=lambda: ["3.11", "3.12", "3.13"])
    taken: set[str] = field(default_factory=set)
    app_state: str = "Running"
    functions: set[str] = field(default_factory=lambda: set(FUNCTIONS))
    disabled: set[str] = field(default_factory=set)
    settings: dict[str, str] = field(default_factory=dict)
    publishing: str = "func.scm.azurewebsites.net"
    """The host of the app's deployments."""
    subscriptions: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Event subscriptions by their id in lower case."""
    denied: str = ""
    """A pattern of paths that are refused."""
    away: bool = False
    stranger: bool = False
    """Whether Azure does not know who asks."""
    on_path: tuple[str, Callable[[str], None]] | None = None
    """What happens once a path of this pattern was asked for."""
    asked: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def one(self, kind: str) -> dict[str, Any]:
        """The one resource of a type."""
        (found,) = (r for r in self.resources if r["type"] == kind)
        return found

    def deploy(self, made: Deployment, **outputs: str) -> None:
        """Have what a deployment makes; `outputs` stand for those of real accounts."""
        for resource in made.resources:
            self._stand(resource, made)
        (config,) = made.of("Microsoft.Web/sites/config")
        self.settings = plain(dict(config.properties))
        self.deployments.append(self.remembered("openmirror", made, **outputs))

    def remembered(
        self, name: str, made: Deployment, state: str = "Succeeded", **outputs: str
    ) -> dict[str, Any]:
        values = {key: str(plain(value)) for key, value in made.outputs.items()} | outputs
        return {
            "id": f"{GROUP}/providers/Microsoft.Resources/deployments/{name}",
            "name": name,
            "properties": {
                "provisioningState": state,
                "timestamp": f"2026-11-21T10:00:{len(self.deployments):02d}.1234567Z",
                # As Azure spells them.
                "outputs": {
                    key[0].lower() + key[1:]: {"type": "String", "value": value}
                    for key, value in values.items()
                },
            },
        }

    def stack(self, name: str, made: Deployment, state: str = "succeeded") -> dict[str, Any]:
        """The same as a stack, whose words and times are written otherwise."""
        found = self.remembered(name, made, state)
        at = found["properties"].pop("timestamp")
        return {
            **found,
            "id": f"{GROUP}/providers/Microsoft.Resources/deploymentStacks/{name}",
            "systemData": {"lastModifiedAt": at},
        }

    def _stand(self, resource: Deployed, made: Deployment) -> None:
        if resource.type == ROLE_ASSIGNMENT:
            self._assign(resource)
        elif resource.type == "Microsoft.EventGrid/systemTopics/eventSubscriptions":
            self.subscriptions[resource.id.lower()] = {
                "id": resource.id,
                "name": resource.name.rpartition("/")[2],
                "properties": {"provisioningState": "Succeeded", **plain(resource.properties)},
            }
        elif _is_listed(resource):
            self.resources.append(_listed(resource, made))

    def _assign(self, one: Deployed) -> None:
        self.assignments.append(
            {
                "id": one.id,
                "name": one.name,
                "properties": {"scope": one.scope, **plain(dict(one.properties))},
            }
        )

    # -- What is asked

    def answer(self, verb: str, path: str, query: Mapping[str, str], body: Any) -> tuple[int, Any]:
        self.asked.append(f"{verb} {path}")
        if self.stranger:
            return 401, _error("AuthenticationFailed", "Authentication failed.")
        if self.away:
            return 503, _error("ServiceUnavailable", "busy")
        if self.denied and re.search(self.denied, path):
            return 403, _error("AuthorizationFailed", "the client may not do this")
        for pattern, found in self._routes(query, body):
            if match := re.fullmatch(pattern, path):
                answer = found(*match.groups())
                return (200, answer) if answer is not None else (404, _error("NotFound", path))
        return 404, _error("ResourceNotFound", path)

    def _routes(
        self, query: Mapping[str, str], body: Any
    ) -> Iterator[tuple[str, Callable[..., Any]]]:
        s, g = f"/subscriptions/{SUBSCRIPTION}", f"/subscriptions/{SUBSCRIPTION}/resourcegroups/"
        rights = lambda *_: {"value": self.permissions}  # noqa: E731
        yield s, lambda: {"id": s, "subscriptionId": SUBSCRIPTION, "tenantId": TENANT}
        yield f"{g}([^/]+)", self._group
        yield f"{s}/providers", lambda: {"value": self._providers()}
        yield f"{s}/providers/microsoft.web/georegions", lambda: self._regions(query)
        yield "/providers/microsoft.web/locations/([^/]+)/functionappstacks", self._stacks
        yield f"{s}/providers/microsoft.authorization/permissions", rights
        yield f"{g}([^/]+)/providers/microsoft.authorization/permissions", rights
        yield f"{g}[^/]+/providers/microsoft.authorization/locks", lambda: {"value": self.locks}
        for service in ("microsoft.storage", "microsoft.web"):
            yield f"{s}/providers/{service}/checknameavailability", lambda: self._name(body)
        yield f"{g}([^/]+)/resources", lambda name: self._resources(name, query)
        yield f"{g}([^/]+)/providers/microsoft.resources/deployments", self._deployments
        yield f"{g}([^/]+)/providers/microsoft.resources/deploymentstacks", self._of_stacks
        deployments = f"{g}[^/]+/providers/microsoft.resources/deployments"
        yield f"{deployments}/", lambda: {"value": self.deployments}
        site = f"{g}[^/]+/providers/microsoft.web/sites/([^/]+)"
        yield f"{site}/functions", self._functions
        yield f"{site}/config/appsettings/list", self._settings
        topic = f"({g}[^/]+/providers/microsoft.eventgrid/systemtopics/[^/]+)"
        yield f"({topic}/eventsubscriptions/[^/]+)", lambda i, _: self.subscriptions.get(i)
        yield (
            f"{g}[^/]+/providers/microsoft.authorization/roleassignments",
            lambda: self._roles(query),
        )
        definitions = "providers/microsoft.authorization/roledefinitions"
        yield f"{s}(?:/resourcegroups/[^/]+)?/{definitions}", self._role_definitions
        yield "(/subscriptions/.+)", self._resource

    def _group(self, name: str) -> Any:
        known = {one.lower(): one for one in self.groups}
        if name not in known:
            return None
        real = known[name]
        at = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{real}"
        return {"id": at, "name": real, "location": self.groups[real]}

    def _providers(self) -> list[dict[str, Any]]:
        names = {one["type"].partition("/")[0] for one in self.resources} | {
            *("Microsoft.App", "Microsoft.EventGrid", "Microsoft.Insights", "Microsoft.Storage"),
            *("Microsoft.ManagedIdentity", "Microsoft.OperationalInsights", "Microsoft.Web"),
            *("Microsoft.Network", "Microsoft.Databricks"),
        }
        return [
            {
                "namespace": name,
                "registrationState": "NotRegistered" if name in self.unregistered else "Registered",
            }
            for name in sorted(names)
        ]

    def _regions(self, query: Mapping[str, str]) -> Any:
        assert query["sku"] == "FlexConsumption"
        return {"value": [{"name": name, "properties": {}} for name in self.flex]}

    def _stacks(self, location: str) -> Any:
        assert location in [re.sub(r"\W", "", name.lower()) for name in self.flex]
        plan = lambda version: {  # noqa: E731
            "skuCode": "FC1",
            "functionAppConfigProperties": {"runtime": {"name": "python", "version": version}},
        }
        minors = [
            {"stackSettings": {"linuxRuntimeSettings": {"Sku": [plan(version)]}}}
            for version in self.pythons
        ]
        minors.append({"stackSettings": {"linuxRuntimeSettings": {"runtimeVersion": "Python|3.9"}}})
        return {"value": [{"properties": {"majorVersions": [{"minorVersions": minors}]}}]}

    def _name(self, body: Any) -> Any:
        if body["name"] in self.taken:
            return {
                "nameAvailable": False,
                "reason": "AlreadyExists",
                "message": f"The name {body['name']} is already taken.",
            }
        return {"nameAvailable": True}

    def _resources(self, name: str, query: Mapping[str, str]) -> Any:
        if self._group(name) is None:
            return None
        first = int(query.get("$skiptoken", 0))
        found: dict[str, Any] = {"value": self.resources[first : first + _PAGE]}
        if first + _PAGE < len(self.resources):
            path = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/{name}/resources"
            found["nextLink"] = f"{self.url}{path}?api-version=1&$skiptoken={first + _PAGE}"
        return found

    def _deployments(self, name: str) -> Any:
        return {"value": self.deployments} if self._group(name) else None

    def _of_stacks(self, name: str) -> Any:
        return {"value": self.stacks} if self._group(name) else None

    def _site(self, name: str) -> Any:
        at = f"{GROUP}/providers/Microsoft.Web/sites/{name}".lower()
        return next((one for one in self.resources if one["id"].lower() == at), None)

    def _functions(self, site: str) -> Any:
        if self._site(site) is None:
            return None
        listed = sorted(self.functions)
        return {
            "value": [
                {"name": f"{site}/{one}", "properties": {"isDisabled": one in self.disabled}}
                for one in listed
            ]
        }

    def _settings(self, site: str) -> Any:
        return {"properties": self.settings} if self._site(site) else None

    def _roles(self, query: Mapping[str, str]) -> Any:
        match = re.fullmatch(r"principalId eq '([^']+)'", query["$filter"])
        assert match
        ours = [a for a in self.assignments if a["properties"]["principalId"] == match[1]]
        return {"value": ours}

    def _role_definitions(self) -> Any:
        known = {**ROLE_NAMES, **self.roles}
        return {
            "value": [
                {"name": guid, "properties": {"roleName": name}} for guid, name in known.items()
            ]
        }

    def _resource(self, path: str) -> Any:
        found = next((one for one in self.resources if one["id"].lower() == path), None)
        if found is not None and found["type"] == "Microsoft.Web/sites":
            hosts = [
                {"name": "func.azurewebsites.net", "hostType": "Standard"},
                {"name": self.publishing, "hostType": "Repository"},
            ]
            now = {"state": self.app_state, "hostNameSslStates": hosts}
            return {**found, "properties": {**found["properties"], **now}}
        return found


def _is_listed(resource: Deployed) -> bool:
    """Whether a group's own list has it: what stands within another has no line of its own."""
    if resource.type == MODULE or resource.type.startswith(_EXTENSIONS):
        return False
    return bool(_TOP.match(resource.type)) or "virtualNetworkLinks" in resource.type


def _listed(resource: Deployed, made: Deployment) -> dict[str, Any]:
    body = plain(dict(resource.body))
    recorded = {
        "id": resource.id,
        "name": resource.name,
        "type": resource.type,
        "location": body.get("location", "westeurope"),
        "tags": body.get("tags") or {},
        "properties": body.get("properties") or {},
    }
    principal = _principal(resource, made)
    if resource.type == "Microsoft.ManagedIdentity/userAssignedIdentities":
        recorded["properties"] = {"principalId": principal}
    elif principal:
        recorded["identity"] = {"type": "SystemAssigned", "principalId": principal}
    return recorded


def _principal(resource: Deployed, made: Deployment) -> str | None:
    for one in made.of(ROLE_ASSIGNMENT):
        principal = str(one.properties["principalId"])
        if principal.startswith(f"{resource.id}:"):
            return guid(principal)
    return None


def _error(code: str, message: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": message}}


class Identity:
    """Whoever asks."""

    def get_token(self, *scopes: str, **options: Any) -> AccessToken:
        return AccessToken("a-token", 2**33)


@contextmanager
def azure() -> Iterator[Azure]:
    """The stand-in on a free port of this machine, with nothing deployed."""
    made = Azure()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"  # connections stay open, as with Azure
        wbufsize = 1 << 16  # head and body at once, or each answer waits for an acknowledgement

        def _answer(self) -> None:
            asked = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(asked.query).items()}
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length) or b"{}")
            path = unquote(asked.path).lower()
            with made.lock:
                status, answer = made.answer(self.command, path, query, body)
                if made.on_path is not None and re.search(made.on_path[0], path):
                    made.on_path[1](path)
            data = b"" if answer is None else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = _answer  # noqa: N815

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with serving(Handler) as made.url:
        yield made


@contextmanager
def clients(made: Azure, policy: Any = None) -> Iterator[ManagementClients]:
    """The real SDKs over it. They send no token over http, so none is asked for."""
    found = ManagementClients(
        Identity(),
        SUBSCRIPTION,
        made.url,
        ["scope"],
        authentication_policy=policy or SansIOHTTPPolicy(),
        retry_backoff_factor=0.01,
        polling_interval=0.01,
    )
    try:
        yield found
    finally:
        found.close()
