"""What no file may hold, and what every resource of a kind must."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from tests.infra.bicep.deployed import Deployed, Deployment
from tests.infra.bicep.folder import Finding, Folder
from tests.infra.bicep.syntax import (
    Call,
    Expression,
    Interpolation,
    Member,
    Name,
    Object,
    Template,
    Text,
    walk,
)

# Of one cloud only; Azure's others have their own, which `environment()` and answers give.
_HOSTS = re.compile(
    r"(core\.windows\.net|azurewebsites\.net|azuredatabricks\.net|vault\.azure\.net"
    r"|management\.azure\.com|login\.microsoftonline\.com|applicationinsights\.azure\.com)"
)
_SECRETS = re.compile(r"(?i)(AccountKey|SharedAccess|sig=|password|accesskey)")
_READS_KEYS = re.compile(r"(?i)^list\w*$")

MUST: dict[str, dict[str, Any]] = {
    "Microsoft.Storage/storageAccounts": {
        "properties.allowSharedKeyAccess": False,
        "properties.minimumTlsVersion": "TLS1_2",
        "properties.allowBlobPublicAccess": False,
        "properties.supportsHttpsTrafficOnly": True,
        "properties.defaultToOAuthAuthentication": True,
        "properties.allowCrossTenantReplication": False,
        "properties.isLocalUserEnabled": False,
        # Event Grid passes the firewall as a trusted service.
        "properties.networkAcls.bypass": "AzureServices",
    },
    "Microsoft.Storage/storageAccounts/blobServices/containers": {
        "properties.publicAccess": "None",
    },
    "Microsoft.Web/sites": {
        "identity.type": "UserAssigned",
        "properties.httpsOnly": True,
        "properties.siteConfig.minTlsVersion": "1.2",
        "properties.siteConfig.scmMinTlsVersion": "1.2",
        "properties.functionAppConfig.deployment.storage.authentication.type": (
            "UserAssignedIdentity"
        ),
    },
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"properties.allow": False},
    "Microsoft.Insights/components": {"properties.DisableLocalAuth": True},
    "Microsoft.OperationalInsights/workspaces": {"properties.features.disableLocalAuth": True},
    "Microsoft.EventGrid/systemTopics": {"identity.type": "SystemAssigned"},
}


def written(folder: Folder) -> list[Finding]:
    """Keys that are read, secrets that are shown, and hosts of one cloud, in the text itself."""
    return sorted(
        {
            finding
            for template in folder.templates.values()
            for finding in (*_expressions(template), *_shown(folder, template))
        }
    )


def _expressions(template: Template) -> Iterator[Finding]:
    for each in template.expressions():
        match each:
            case Call(function=name) if _READS_KEYS.match(name):
                yield Finding(template.path, each.line, f"{name}() reads a key")
            case Text(value=value):
                yield from _text(template, each, value)
            case Interpolation(parts=parts):
                whole = "".join(part if isinstance(part, str) else "*" for part in parts)
                yield from _text(template, each, whole)
            case _:
                pass


def _text(template: Template, at: Expression, value: str) -> Iterator[Finding]:
    host, secret = _HOSTS.search(value), _SECRETS.search(value)
    if host:
        yield Finding(template.path, at.line, f"{host[0]} is a host of one cloud only")
    if secret:
        yield Finding(template.path, at.line, f"{secret[0]} is of a secret")


def _shown(folder: Folder, template: Template) -> Iterator[Finding]:
    """Outputs stay readable in the history of deployments, so none may hold what is secure."""
    for output in template.outputs.values():
        if _secure(folder, template, output.value):
            yield Finding(template.path, output.line, f"output {output.name} shows a secret")


def _secure(folder: Folder, template: Template, value: Expression) -> bool:
    for each in walk(value):
        match each:
            case Name(name=name) if name in template.parameters:
                if template.parameters[name].secure:
                    return True
            case Name(name=name) if name in template.variables:
                if _secure(folder, template, template.variables[name].value):
                    return True
            case Call(function=name) if _READS_KEYS.match(name):
                return True
            case Member(object=Member(name="properties"), name="InstrumentationKey"):
                return True
            case _:
                pass
    return False


def values(folder: Folder, deployment: Deployment, *, private: bool) -> list[Finding]:
    """Resources of a deployment that let in more than they must."""
    findings = [each for resource in deployment.resources for each in _must(folder, resource)]
    for role in deployment.of("Microsoft.Authorization/roleAssignments"):
        findings += _role(folder, role)
    for account in deployment.of("Microsoft.Storage/storageAccounts"):
        wanted = "Deny" if private else "Allow"
        findings += _is(folder, account, "properties.networkAcls.defaultAction", wanted)
    for app in deployment.of("Microsoft.Web/sites"):
        of_app = {
            each.name
            for each in deployment.of("Microsoft.Web/sites/basicPublishingCredentialsPolicies")
        }
        for way in ("ftp", "scm"):
            if f"{app.name}/{way}" not in of_app:
                findings.append(Finding(app.path, app.line, f"a password opens {way}"))
    return sorted(set(findings))


def _must(folder: Folder, resource: Deployed) -> Iterator[Finding]:
    for path, wanted in MUST.get(resource.type, {}).items():
        yield from _is(folder, resource, path, wanted)


def _is(folder: Folder, resource: Deployed, path: str, wanted: Any) -> Iterator[Finding]:
    value: Any = resource.body
    for step in path.split("."):
        value = value.get(step) if isinstance(value, dict) else None
    if value != wanted:
        line = _line(folder, resource, path)
        yield Finding(
            resource.path, line, f"{resource.type}: {path} is {value!r}, and must be {wanted!r}"
        )


def _line(folder: Folder, resource: Deployed, path: str) -> int:
    """The line of a property, or of the object that lacks it."""
    at: Expression = folder.templates[resource.path].resources[resource.symbol].body
    for step in path.split("."):
        inner = at.get(step) if isinstance(at, Object) else None
        if inner is None:
            return at.line
        at = inner
    return at.line


def _role(folder: Folder, role: Deployed) -> Iterator[Finding]:
    given = role.properties
    if "/providers/" not in role.scope:
        yield Finding(role.path, role.line, "a role is given on a whole resource group")
    if not given.get("principalType"):
        # Without it Azure does a look-up of a new principal, and does not find it for minutes.
        yield Finding(role.path, role.line, "a role without principalType")
    if given.get("condition") and given.get("conditionVersion") != "2.0":
        line = _line(folder, role, "properties.condition")
        yield Finding(role.path, line, "a condition is of conditionVersion 2.0")
