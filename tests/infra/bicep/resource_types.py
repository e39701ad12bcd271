"""Azure's resource types that the files may use: their API versions, and what each accepts.

`resource_types.json` names for each type the API versions that are known and the model of an
azure-mgmt package. One type is in none of the packages; its properties stand in the table
itself, where a name that ends in `!` is required. A package knows its newest API version only:
`later` names what came after the version in the table, so that it is neither wanted nor taken.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.infra.bicep import models
from tests.infra.bicep.shapes import ANYTHING, Choice, Field, ListOf, Plain, Record, Shape

TABLE = Path(__file__).parents[1] / "resource_types.json"


@dataclass(frozen=True)
class ResourceType:
    name: str
    versions: tuple[str, ...]
    package: str | None
    model: str | None
    answer: str | None  # the model of what Azure answers, where it is not the one that is sent
    properties: Mapping[str, Any] | None
    later: tuple[str, ...] = ()

    @functools.cached_property
    def accepts(self) -> Record:
        """What can be given to Azure."""
        if self.package is None or self.model is None:
            return _recorded(self.name, self.properties or {})
        whole = models.record(self.package, self.model)
        for path in self.later:
            whole = _without(whole, path.split("."))
        return whole

    @functools.cached_property
    def answers(self) -> Record:
        """What can be asked of it once it stands."""
        if self.package is None or self.answer is None:
            return self.accepts
        return models.record(self.package, self.answer)


@functools.cache
def resource_types() -> Mapping[str, ResourceType]:
    """The table by full type name."""
    return {
        name: ResourceType(
            name=name,
            versions=tuple(row["versions"]),
            package=row.get("package"),
            model=row.get("model"),
            answer=row.get("answer"),
            properties=row.get("properties"),
            later=tuple(row.get("later", ())),
        )
        for name, row in json.loads(TABLE.read_text()).items()
    }


def _without(whole: Record, path: list[str]) -> Record:
    """A record less one property, which must be there: the table holds nothing for nothing."""
    step, *rest = path
    key = step.removesuffix("[]")
    inner = whole.fields[key]
    fields = dict(whole.fields)
    match inner.shape:
        case _ if not rest:
            del fields[key]
        case ListOf(item=Record() as item) if step.endswith("[]"):
            fields[key] = replace(inner, shape=ListOf(_without(item, rest)))
        case Record() as shape:
            fields[key] = replace(inner, shape=_without(shape, rest))
        case _:
            raise ValueError(f"{whole.name}: {key} holds no {'.'.join(rest)}")
    return Record(whole.name, lambda: fields)


def _recorded(name: str, properties: Mapping[str, Any]) -> Record:
    def find() -> dict[str, Field]:
        return {
            key.removesuffix("!"): Field(_shape(f"{name}.{key}", value), key.endswith("!"))
            for key, value in properties.items()
        }

    return Record(name, find)


def _shape(name: str, written: Any) -> Shape:
    if isinstance(written, dict):
        return _recorded(name, written)
    if isinstance(written, list):
        return ListOf(_shape(name, written[0]))
    if "|" in written:
        return Choice(tuple(written.split("|")))
    return ANYTHING if written == "any" else Plain(written)
