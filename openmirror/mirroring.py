"""mirroring.json: Fabric's item definition, with our `openmirror` section (docs/OPERATIONS.md)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from openmirror.plan.look import TablePolicy, TypeChange
from openmirror.protocol.jsontext import JsonError, parse_json
from openmirror.protocol.rules import Broken, Code


class _Section(BaseModel):
    """Fabric may add keys of its own anywhere but in our section."""

    model_config = ConfigDict(alias_generator=to_camel, extra="ignore")


class _Ours(_Section):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid")
    type_change: TypeChange = TypeChange.REWRITE


class _TypeProperties(_Section):
    default_schema: str = Field(default="dbo", min_length=1, pattern=r"^[^/]+$")
    retention_in_days: int = Field(default=7, ge=1, le=30)


class _Target(_Section):
    type_properties: _TypeProperties = _TypeProperties()


class _Properties(_Section):
    target: _Target = _Target()


class _Document(_Section):
    properties: _Properties = _Properties()
    openmirror: _Ours = _Ours()


@dataclass(frozen=True)
class Mirroring:
    """What one mirror's settings say."""

    default_schema: str
    policy: TablePolicy


def parse_mirroring(content: bytes) -> Mirroring | Broken:
    """Read mirroring.json, or say where it is wrong and what would be right."""
    try:
        document = _Document.model_validate(parse_json(content).value)
    except JsonError as error:
        return Broken(Code.MIRROR_SETTINGS_INVALID, f"mirroring.json is {error}")
    except ValidationError as error:
        first = error.errors()[0]
        path = ".".join(str(part) for part in first["loc"]) or "the document"
        given = json.dumps(first.get("input"), default=str)[:60]
        detail = f"mirroring.json: {path}: {first['msg']} (given {given})"
        return Broken(Code.MIRROR_SETTINGS_INVALID, detail)
    target = document.properties.target.type_properties
    return Mirroring(
        default_schema=target.default_schema,
        policy=TablePolicy(
            type_change=document.openmirror.type_change,
            retention=timedelta(days=target.retention_in_days),
        ),
    )
