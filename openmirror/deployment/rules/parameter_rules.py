"""What each parameter of a deployment must be, checked before Azure sees it."""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from openmirror.deployment.rules.findings import Check, Finding, fault, ok, warning
from openmirror.deployment.rules.naming import NAME, NAME_RULE
from openmirror.deployment.rules.parameters import PYTHONS, Parameters
from openmirror.protocol.names import MOST_NAME_BYTES, is_reserved

STORAGE_SKUS = ("Standard_LRS", "Standard_ZRS", "Standard_GRS", "Standard_RAGRS", "Standard_GZRS")
MEMORIES = (512, 2048, 4096)
PRINCIPAL_TYPES = ("User", "Group", "ServicePrincipal")
_GUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SETTING = re.compile(r"(OPENMIRROR|OTEL)_[A-Z_]+")
_PATTERN_CHARACTERS = "*?'\"{}\\/"
_INNER = tuple(
    ipaddress.IPv4Network(one)
    for one in ("10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)

Rule = Callable[[object], str | None]
"""Says what a value must be; None when it is that."""


def check_parameters(parameters: Parameters) -> list[Finding]:
    """Everything that is wrong with the parameters; one `ok` when nothing is."""
    found = [
        fault(Check.PARAMETERS, what, f"Correct {name} in the parameters file.")
        for name, what in _wrong(parameters.values)
    ]
    found += [warning(Check.PARAMETERS, *finding) for finding in _useless(parameters)]
    return found or [ok(Check.PARAMETERS, f"{len(parameters.values)} given, all as they must be")]


def _useless(parameters: Parameters) -> Iterator[tuple[str, str]]:
    values = parameters.values
    if parameters.workspace and not values.get("databricksJobId"):
        yield (
            "databricksWorkspaceUrl is given, and no databricksJobId: no run will be started",
            "Deploy again with the job's number when it is there.",
        )
    if not values.get("operators"):
        yield (
            "operators is empty: nobody but the app may read the accounts, not even who owns "
            "the subscription, so that `verify` cannot land its sample",
            "Name yourself there: az ad signed-in-user show --query id",
        )
    if parameters.is_private and values.get("createDatabricksWorkspace") is True:
        yield (
            "createDatabricksWorkspace makes nothing in a private network",
            "Bring a workspace that runs in a network of yours.",
        )


def _wrong(values: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    for name, value in values.items():
        rule = PARAMETERS.get(name)
        if rule is None:
            yield name, f"there is no parameter {name}; there are {', '.join(PARAMETERS)}"
        elif must := rule(value):
            yield name, f"{name} is {json.dumps(value)}, but must be {must}"
    has_workspace = values.get("databricksWorkspaceUrl") or values.get("createDatabricksWorkspace")
    if values.get("databricksJobId") and not has_workspace:
        yield (
            "databricksWorkspaceUrl",
            "databricksJobId is given, and no databricksWorkspaceUrl: in which workspace is it?",
        )


def _name(value: object) -> str | None:
    good = isinstance(value, str) and NAME.fullmatch(value)
    return None if good else NAME_RULE


def _text(value: object) -> str | None:
    return None if isinstance(value, str) else "text"


def _guid(value: object) -> str | None:
    good = isinstance(value, str) and _GUID.fullmatch(value)
    return None if good else f"the GUID of a role definition, which {value!r} is not"


def _yes_or_no(value: object) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _one_of(*allowed: object) -> Rule:
    shown = ", ".join(str(one) for one in allowed)
    return lambda value: None if value in allowed else f"one of {shown}"


def _number(least: int, most: int) -> Rule:
    def rule(value: object) -> str | None:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return None if good else f"a whole number from {least} to {most}"

    return rule


def _tags(value: object) -> str | None:
    good = isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    return None if good else "an object of texts"


def _settings(value: object) -> str | None:
    if not isinstance(value, dict):
        return "an object: app settings by name"
    for name, one in value.items():
        if not _SETTING.fullmatch(name):
            return f"settings of openmirror and OpenTelemetry alone, which {name} is not"
        if not isinstance(one, str):
            return f"texts, which {name} is not"
    return None


def _workspace(value: object) -> str | None:
    must = "the https:// URL of a workspace"
    if not isinstance(value, str):
        return must
    try:
        parts = urlsplit(value)
    except ValueError:
        return must
    is_host_alone = parts.path in ("", "/") and not (parts.query or parts.fragment)
    good = parts.scheme == "https" and parts.hostname and is_host_alone
    return None if good or not value else must


def _job(value: object) -> str | None:
    good = value == "" or (isinstance(value, str) and re.fullmatch(r"[1-9]\d*", value))
    return None if good else "the number of a job, as text"


def _addresses(value: object) -> str | None:
    must = "a list of IPv4 addresses and ranges, such as 203.0.113.0/24"
    if not isinstance(value, list):
        return must
    for one in value:
        try:
            network = ipaddress.IPv4Network(str(one))
        except ValueError:
            return f"{must}, which {one!r} is not"
        # What a storage firewall takes; a single address goes without /32.
        if "/" in str(one) and network.prefixlen > 30:
            return f"{must}; {one} is written without its /{network.prefixlen}"
        if any(network.subnet_of(inner) for inner in _INNER):
            return f"addresses as the internet sees them, which {one} is not"
    return None


def _network(value: object) -> str | None:
    try:
        network = ipaddress.IPv4Network(str(value))
    except ValueError:
        return "a range of IPv4 addresses, such as 10.90.0.0/16"
    return None if network.prefixlen <= 24 else "a range with room for the subnets: /24 or wider"


def _principals(*further: str) -> Rule:
    def rule(value: object) -> str | None:
        fields = ("principalId", "principalType", *further)
        if not isinstance(value, list):
            return f"a list of objects with {', '.join(fields)}"
        for one in value:
            if must := _principal(one, fields):
                return must
        ids = [str(one["principalId"]).lower() for one in value]
        if twice := [one for one in ids if ids.count(one) > 1]:
            return f"a list that names each principal once, which {twice[0]} is not"
        return None

    return rule


def _principal(one: object, fields: tuple[str, ...]) -> str | None:
    if not isinstance(one, dict) or set(one) != set(fields):
        return f"a list of objects with {', '.join(fields)}"
    if not _GUID.fullmatch(str(one["principalId"])):
        return f"a list of principals by object id, a GUID, which {one['principalId']!r} is not"
    if one["principalType"] not in PRINCIPAL_TYPES:
        return f"a list of principals of a type of {', '.join(PRINCIPAL_TYPES)}"
    if "mirror" in fields and (must := mirror_refused(one["mirror"])):
        return f"a list of principals with a mirror's name each, {must}"
    return None


def mirror_refused(value: object) -> str | None:
    """Why a mirror cannot be called so where a role is narrowed to its folder; None if it can."""
    if not isinstance(value, str) or not value:
        return "which is text"
    if is_reserved(value) or value.startswith("."):
        return f"which does not begin with _ or a dot, as {value!r} does"
    if strange := [character for character in value if character in _PATTERN_CHARACTERS]:
        return f"which has no {strange[0]}, as {value!r} does"
    size = len(value.encode())
    return None if size <= MOST_NAME_BYTES else f"of at most {MOST_NAME_BYTES} bytes"


_MOST = 2**31 - 1

PARAMETERS: Mapping[str, Rule] = {
    "resourceGroupName": _text,
    "name": _name,
    "location": _text,
    "tags": _tags,
    "pythonVersion": _one_of(*PYTHONS),
    "instanceMemoryMB": _one_of(*MEMORIES),
    "maximumInstances": _number(1, 1000),
    "alwaysReadyInstances": _number(0, 20),
    "storageSku": _one_of(*STORAGE_SKUS),
    "settings": _settings,
    "databricksWorkspaceUrl": _workspace,
    "databricksJobId": _job,
    "createAccessConnector": _yes_or_no,
    "createDatabricksWorkspace": _yes_or_no,
    "publishers": _principals("mirror"),
    "publisherRole": _guid,
    "operators": _principals(),
    "readers": _principals(),
    "runners": _principals(),
    "alertEmail": _text,
    "lagAlertMinutes": _number(1, _MOST),
    "gapAlertMinutes": _number(1, _MOST),
    "privateNetwork": _yes_or_no,
    "addressPrefix": _network,
    "allowedAddresses": _addresses,
    "deletedDays": _number(1, 365),
    "logDays": _number(30, 730),
    "dailyLogGb": _number(-1, _MOST),
}
"""Every parameter of infra/bicep, and what its value must be."""
