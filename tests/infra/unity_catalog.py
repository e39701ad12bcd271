"""The SQL for Unity Catalog, statement by statement, and every rule that it breaks."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from databricks.sdk.service.catalog import CredentialInfo, ExternalLocationsAPI, Privilege

from openmirror.table.layout import LAKE, LANDING
from tests.infra.bundle import ROOT, read

FOLDER = Path("infra/databricks")
RUNNER = "${RUNNER_CLIENT_ID}"

_OUTPUT = re.compile(r"^output (\w+) ", re.MULTILINE)
_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")
_JSON = re.compile(r"--json '(\{.*?\})'", re.DOTALL)
_CONTAINER = re.compile(r"abfss://([^@/]+)@\$\{LAKE_ACCOUNT\}\.dfs\.core\.windows\.net/")
_CATALOG = re.compile(r"CREATE CATALOG IF NOT EXISTS `(\w+)` COMMENT '[^']+'")
_GRANT = re.compile(
    r"GRANT ([A-Z ,]+) ON (SERVICE CREDENTIAL|EXTERNAL LOCATION|CATALOG) `(\w+)` TO `([^`]+)`"
)

ALLOWED = {
    ("SERVICE CREDENTIAL", "SERVICE"): {"ACCESS"},
    # Spark only reads change files; Python writes the status files, with the service credential.
    ("EXTERNAL LOCATION", str(LANDING)): {"READ FILES"},
    ("EXTERNAL LOCATION", str(LAKE)): {"READ FILES", "WRITE FILES", "CREATE EXTERNAL TABLE"},
    ("CATALOG", ""): {"USE CATALOG", "CREATE SCHEMA"},
}
"""All that the runner may do in Unity Catalog, and must be allowed to."""


def breaches(root: Path = ROOT) -> list[str]:
    """Everything that is wrong with it, in words."""
    texts = {path.name: path.read_text() for path in sorted((root / FOLDER).glob("*.sql"))}
    outputs = set(_OUTPUT.findall((ROOT / "infra/bicep/main.bicep").read_text()))
    found = [
        f"{file}: {name} is no output of infra/bicep/main.bicep"
        for file, text in texts.items()
        for name in _PLACEHOLDER.findall(text)
        if name not in outputs
    ]
    credentials = dict(_credentials("\n".join(texts.values()), found))
    found += _statements(texts, credentials)
    named = read(root).top["variables"]["service_credential"]["default"]
    if credentials.get(named) != "SERVICE":
        found.append(f"the bundle asks with {named}, which nobody makes")
    return found


def _without_comments(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("--"))


def _comments(text: str) -> str:
    return "\n".join(line[2:] for line in text.splitlines() if line.startswith("--"))


def _asked(text: str) -> list[dict[str, Any]]:
    """What each command in comments sends as JSON."""
    return [json.loads(one) for one in _JSON.findall(_comments(text))]


def _credentials(text: str, found: list[str]) -> Iterator[tuple[str, str]]:
    """Each credential that the commands in comments make, with what it is for."""
    for asked in _asked(text):
        if "url" in asked:
            continue
        request = CredentialInfo.from_dict(asked)
        if request.as_dict() != asked or not request.name or request.purpose is None:
            found.append(f"the API does not understand {asked}")
            continue
        if request.azure_managed_identity is None or request.azure_managed_identity.as_dict() != {
            "access_connector_id": "${ACCESS_CONNECTOR_ID}",
            "managed_identity_id": "${RUNNER_IDENTITY_ID}",
        }:
            found.append(f"{request.name} is not the runner's identity")
        yield request.name, request.purpose.value


def _location(asked: dict[str, Any], credentials: dict[str, str]) -> Iterator[str]:
    """What is wrong with the external location that a command makes."""
    name, container = asked.get("name"), _CONTAINER.fullmatch(asked["url"])
    known = inspect.signature(ExternalLocationsAPI.create).parameters
    yield from (f"{name}: the API knows no {word}" for word in asked if word not in known)
    if container is None:
        yield f"{name}: {asked['url']} is no container of the lake account"
        return
    credential = asked.get("credential_name", "")
    if credentials.get(credential) != "STORAGE":
        yield f"{name} is reached with {credential}, which nobody makes for storage"
    is_landing = container[1] == str(LANDING)
    for word in ("read_only", "skip_validation"):
        if asked.get(word, False) is not is_landing:
            yield f"{name}: {word} is for the container {LANDING} alone"
    if asked.get("enable_file_events") is not False:
        yield f"{name}: file events would be on"


def _statements(written: dict[str, str], credentials: dict[str, str]) -> Iterator[str]:
    """What cannot be read, and how what is there differs from what is needed."""
    places = {("SERVICE CREDENTIAL", n): p for n, p in credentials.items() if p == "SERVICE"}
    granted: dict[tuple[str, str], set[str]] = {}
    for file, text in written.items():
        for asked in _asked(text):
            if "url" in asked:
                yield from (f"{file}: {wrong}" for wrong in _location(asked, credentials))
                if container := _CONTAINER.fullmatch(asked["url"]):
                    places[("EXTERNAL LOCATION", asked["name"])] = container[1]
    texts = {file: _without_comments(text) for file, text in written.items()}
    whole = [(file, s.strip()) for file, text in texts.items() for s in text.split(";")]
    if unfinished := [file for file, text in texts.items() if not text.rstrip().endswith(";")]:
        yield f"{unfinished}: the last statement has no end"
    for file, statement in sorted(whole, key=lambda one: one[1].startswith("GRANT")):
        if made := _CATALOG.fullmatch(statement):
            places[("CATALOG", made[1])] = ""
        elif given := _GRANT.fullmatch(statement):
            kind, name = given[2], given[3]
            if (kind, name) not in places:
                yield f"{file}: there is no {kind} {name} to grant on"
                continue
            if given[4] != RUNNER:
                yield f"{file}: {given[4]} is not the runner"
            granted.setdefault((kind, places[kind, name]), set()).update(given[1].split(", "))
        elif statement:
            yield f"{file}: {statement.splitlines()[0]} is not understood here"
    known = {privilege.value.replace("_", " ") for privilege in Privilege}
    for place in sorted(ALLOWED.keys() | granted.keys()):
        has, needs = granted.get(place, set()), ALLOWED.get(place, set())
        yield from (f"{place}: there is no privilege {word}" for word in sorted(has - known))
        yield from (f"{place}: {word} is more than it needs" for word in sorted(has - needs))
        yield from (f"{place}: {word} is missing" for word in sorted(needs - has))
