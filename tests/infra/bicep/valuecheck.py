"""Whether Azure takes the values that parameters lead to, where the text alone does not show it.

The same shapes as in `typecheck`, held against the resources of a deployment: a word that one file
allows and another hands to Azure is seen here only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.infra.bicep.deployed import MODULE, Deployed, Deployment
from tests.infra.bicep.evaluation import Later
from tests.infra.bicep.folder import Finding
from tests.infra.bicep.resource_types import resource_types
from tests.infra.bicep.shapes import Choice, ListOf, MapOf, Plain, Record, Shape

_KINDS: dict[str, type] = {"string": str, "int": int, "bool": bool}


def valuecheck(deployment: Deployment) -> list[Finding]:
    """Every value that Azure would refuse."""
    return sorted(
        {
            Finding(resource.path, resource.line, text)
            for resource in deployment.resources
            if resource.type != MODULE
            for text in _resource(resource)
        }
    )


def _resource(resource: Deployed) -> Iterator[str]:
    body = {key: value for key, value in resource.body.items() if key != "name"}
    yield from _value(body, resource_types()[resource.type].accepts, resource.type)


def _value(value: Any, shape: Shape, what: str) -> Iterator[str]:
    if isinstance(value, Later) or value is None:
        return
    match shape, value:
        case Record(), dict():
            yield from _record(value, shape, what)
        case MapOf(value=inner), dict():
            for each in value.values():
                yield from _value(each, inner, f"{what}.*")
        case ListOf(item=item), list():
            for each in value:
                yield from _value(each, item, f"{what}[]")
        case Choice(values=values), str():
            if value not in values:
                yield f"{what} is one of {', '.join(values[:12])}, not {value!r}"
        case ((Record() | MapOf() | ListOf() | Choice()), _):
            yield f"{what} cannot be {value!r}"
        case Plain(kind=kind), _:
            if type(value) is not _KINDS[kind]:
                yield f"{what} is of type {kind}, not {value!r}"
        case _:
            pass


def _record(value: dict[str, Any], shape: Record, what: str) -> Iterator[str]:
    fields = shape.fields
    if shape.discriminator is not None:
        kind = shape.kinds.get(value.get(shape.discriminator, ""))
        if kind is None:
            yield f"{what} has no kind {value.get(shape.discriminator)!r}"
            return
        fields = kind.fields
    for key, inner in value.items():
        known = fields.get(key)
        if known is None:
            yield f"{what} has no property {key}"
        elif known.read_only:
            yield f"{what}.{key} is read-only"
        else:
            yield from _value(inner, known.shape, f"{what}.{key}")
    for key, known in fields.items():
        if known.required and key != "name" and value.get(key) is None:
            yield f"{what} lacks {key}, which is required"
