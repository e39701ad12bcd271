"""Whether a file of parameters fits the template that it is given to."""

from __future__ import annotations

import json
import re

from tests.infra.bicep.bounds import refusal
from tests.infra.bicep.folder import Finding
from tests.infra.bicep.syntax import Number, Parameter, Template, Text
from tests.infra.bicep.view import kind_of_type


def parameter_file(template: Template, path: str, text: str) -> list[Finding]:
    """What is wrong with a file of parameters: names, types, values, and what it leaves out.

    A value `${NAME=default}` is filled in by azd, which makes of it what the parameter wants.
    """
    given: dict[str, object] = json.loads(text)["parameters"]

    def found(name: str, told: str) -> Finding:
        lines = [n for n, line in enumerate(text.splitlines(), 1) if f'"{name}"' in line]
        return Finding(path, lines[0] if lines else 1, told)

    findings = []
    for name, entry in given.items():
        parameter = template.parameters.get(name)
        if parameter is None:
            findings.append(found(name, f"{template.path} has no parameter {name}"))
        elif not isinstance(entry, dict) or set(entry) != {"value"}:
            findings.append(found(name, f"{name} has no value"))
        else:
            why = _wrong_value(parameter, entry["value"])
            if why is not None:
                findings.append(found(name, f"{name} {why}"))
    findings += [
        found(name, f"{name} of {template.path} is not given")
        for name, parameter in template.parameters.items()
        if parameter.required and name not in given
    ]
    return findings


def _wrong_value(parameter: Parameter, value: object) -> str | None:
    wanted = kind_of_type(parameter.type)
    filled = _FILLED.fullmatch(value) if isinstance(value, str) else None
    if filled is not None:
        if filled["default"] is None:
            return None
        value = filled["default"] if wanted == "string" else json.loads(filled["default"])
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


_FILLED = re.compile(r"\$\{\w+(=(?P<default>[^{}]*))?\}")
_KINDS: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int",
    list: "array",
    dict: "object",
}
