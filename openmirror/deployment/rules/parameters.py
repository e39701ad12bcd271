"""The parameters that a deployment is given, read from a file as azd does."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from openmirror.deployment.rules.naming import DEFAULT_NAME

PYTHONS = ("3.11", "3.12", "3.13")
_LITERAL = re.compile(r"true|false|-?\d+")
_FROM_ENVIRONMENT = re.compile(r"\$\{(\w+)(?:=([^}]*))?\}")
_NO_TEXTS = frozenset(
    {
        "instanceMemoryMB",
        "maximumInstances",
        "alwaysReadyInstances",
        "createAccessConnector",
        "createDatabricksWorkspace",
        "lagAlertMinutes",
        "gapAlertMinutes",
        "privateNetwork",
        "deletedDays",
        "logDays",
        "dailyLogGb",
    }
)
"""Parameters that are numbers or truth values."""


@dataclass(frozen=True)
class Parameters:
    """What a parameters file says, as far as it can be known here."""

    values: Mapping[str, object]

    @property
    def name(self) -> str:
        """What the deployment is called."""
        return str(self.values.get("name") or DEFAULT_NAME)

    @property
    def location(self) -> str | None:
        """The region, where the file names one."""
        region = self.values.get("location")
        return str(region) if region else None

    @property
    def python(self) -> str:
        """The version of Python that the Function App runs."""
        return str(self.values.get("pythonVersion") or PYTHONS[-1])

    @property
    def is_private(self) -> bool:
        """Whether everything lies in a virtual network."""
        return self.values.get("privateNetwork") is True

    @property
    def uses_databricks(self) -> bool:
        """Whether anything of Databricks' own is made."""
        wanted = self.values.get("createAccessConnector", True)
        return wanted is True or self.values.get("createDatabricksWorkspace") is True

    @property
    def workspace(self) -> str:
        """The URL of the workspace whose job is the runner; empty without one."""
        return str(self.values.get("databricksWorkspaceUrl") or "")

    @property
    def has_publishers(self) -> bool:
        """Whether anybody is to land files."""
        return bool(self.values.get("publishers"))

    @property
    def publisher_role(self) -> str:
        """The GUID of the role that they get, in lower case; empty where the file records none."""
        return str(self.values.get("publisherRole") or "").lower()

    @property
    def settings(self) -> Mapping[str, str]:
        """Further app settings."""
        given = self.values.get("settings")
        return {str(k): str(v) for k, v in given.items()} if isinstance(given, dict) else {}


def read_parameters(text: str, env: Mapping[str, str]) -> Parameters:
    """A parameters file; `${NAME}` is taken from the environment, as azd does.

    A parameter with a name that is not set there is left out: it is not known here. ValueError
    says what is wrong with the file.
    """
    try:
        entries = json.loads(text)["parameters"].items()
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON: {error}") from None
    except (KeyError, TypeError, AttributeError):
        raise ValueError(
            'no parameters file, which is {"parameters": {"name": {"value": …}, …}}'
        ) from None
    values: dict[str, object] = {}
    for name, entry in entries:
        if not isinstance(entry, dict) or "value" not in entry:
            raise ValueError(f'{name} has no value: write {{"value": …}}')
        with suppress(_NotSet):
            values[name] = _typed(name, _filled_in(entry["value"], env))
    return Parameters(values)


class _NotSet(Exception):
    """A variable of the environment that is needed is not there."""


def _filled_in(value: object, env: Mapping[str, str]) -> object:
    if isinstance(value, list):
        return [_filled_in(one, env) for one in value]
    if isinstance(value, dict):
        return {name: _filled_in(one, env) for name, one in value.items()}
    return (
        _FROM_ENVIRONMENT.sub(partial(_variable, env), value) if isinstance(value, str) else value
    )


def _variable(env: Mapping[str, str], match: re.Match[str]) -> str:
    found = env.get(match[1]) or match[2]
    if not found:
        raise _NotSet
    return found


def _typed(name: str, value: object) -> object:
    """A number or a truth value that came as text: an environment has nothing else."""
    is_text = isinstance(value, str) and _LITERAL.fullmatch(value)
    return json.loads(str(value)) if is_text and name in _NO_TEXTS else value
