"""Whether a file of parameters fits the templates that it is given to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tests.infra.bicep.bounds import refusal
from tests.infra.bicep.folder import Finding
from tests.infra.bicep.syntax import Number, Parameter, Template, Text
from tests.infra.bicep.view import kind_of_type


def parameter_file(templates: Sequence[Template], path: str, text: str) -> list[Finding]:
    """What is wrong with a file of parameters: names, types, values, and what it leaves out.

    Each template is given those of them that it takes. A value `${NAME=default}` is filled in by
    azd, which makes of it what the parameter wants.
    """
    given: dict[str, object] = json.loads(text)["parameters"]

    def found(name: str, problem: str) -> Finding:
        lines = [n for n, line in enumerate(text.splitlines(), 1) if f'"{name}"' in line]
        return Finding(path, lines[0] if lines else 1, problem)

    findings = []
    for name, entry in given.items():
        takers = [each.parameters[name] for each in templates if name in each.parameters]
        if not takers:
            paths = " and ".join(each.path for each in templates)
            findings.append(found(name, f"{paths} has no parameter {name}"))
        elif not isinstance(entry, dict) or set(entry) != {"value"}:
            findings.append(found(name, f"{name} has no value"))
        else:
            wrong = {_wrong_value(parameter, entry["value"]) for parameter in takers}
            findings += [found(name, f"{name} {why}") for why in wrong if why is not None]
    findings += [
        found(name, f"{name} of {template.path} is not given")
        for template in templates
        for name, parameter in template.parameters.items()
        if parameter.required and name not in given
    ]
    return findings


def filled(template: Template, text: str, environment: Mapping[str, str]) -> dict[str, Any]:
    """The parameters that azd deploys with: each `${NAME=default}` looked up in its environment.

    A text becomes a number or a truth where the parameter is one. What is not set and has no
    default here is left to the default of the template.
    """

    def search(found: re.Match[str]) -> str:
        return environment.get(found["name"], found["default"] or "")

    given: dict[str, Any] = json.loads(_FILLED.sub(search, text))["parameters"]
    values = {name: entry["value"] for name, entry in given.items()}
    for name, value in list(values.items()):
        kind = kind_of_type(template.parameters[name].type)
        if value == "" and template.parameters[name].default is not None:
            del values[name]
            continue
        if isinstance(value, str) and kind in ("bool", "int"):
            values[name] = json.loads(value)
    return values


def _wrong_value(parameter: Parameter, value: object) -> str | None:
    wanted = kind_of_type(parameter.type)
    whole = _FILLED.fullmatch(value) if isinstance(value, str) else None
    if whole is not None:
        if whole["default"] is None:
            return None
        value = whole["default"] if wanted == "string" else json.loads(whole["default"])
    kind = _KINDS.get(type(value))
    if kind != wanted:
        return f"is of type {wanted}, not {kind}"
    match value:
        case bool():
            return None
        case int():
            return refusal(parameter, Number(0, value))
        case str():
            return refusal(parameter, Text(0, value))
        case _:
            return None


_FILLED = re.compile(r"\$\{(?P<name>\w+)(=(?P<default>[^{}]*))?\}")
_KINDS: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int",
    list: "array",
    dict: "object",
}
