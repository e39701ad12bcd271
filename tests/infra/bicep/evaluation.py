"""What Bicep's functions and operators give for values that are known."""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import json
import operator
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Later(str):
    """A value that Azure knows once a resource is there; its text names value and resource."""

    __slots__ = ()

    def member(self, name: object) -> Later:
        return Later(f"{self}.{name}")


def text(value: Any) -> str:
    """A value inside of a string."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict | list):
        return json.dumps(value)
    return str(value)


def unique_string(*parts: Any) -> str:
    """Thirteen letters and digits of the same alphabet; not the ones that Azure would give."""
    hashed = hashlib.sha256("\x00".join(map(text, parts)).encode()).digest()
    return base64.b32encode(hashed).decode().lower()[:13]


def guid(*parts: Any) -> str:
    """A GUID of the parts; not the one that Azure would give."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "\x00".join(map(text, parts))))


def cidr_subnet(prefix: str, bits: int, number: int) -> str:
    """The subnet of a size and number in a range."""
    subnets = ipaddress.ip_network(prefix).subnets(new_prefix=bits)
    return str(next(each for at, each in enumerate(subnets) if at == number))


def resource_id(scope: str, kind: str, *names: str) -> str:
    """The id of a resource of a type below a scope."""
    provider, *types = kind.split("/")
    steps = "/".join(f"{each}/{name}" for each, name in zip(types, names, strict=True))
    return f"{scope}/providers/{provider}/{steps}"


def contains(holder: Any, wanted: Any) -> bool:
    if isinstance(holder, dict):
        return any(str(key).lower() == str(wanted).lower() for key in holder)
    return wanted in holder


def union(*values: Any) -> Any:
    """Objects merged, nested ones too; lists without what is there already."""
    first, *rest = values
    for value in rest:
        if isinstance(first, dict):
            merged = dict(first)
            for key, inner in value.items():
                both = isinstance(inner, dict) and isinstance(merged.get(key), dict)
                merged[key] = union(merged[key], inner) if both else inner
            first = merged
        else:
            first = [*first, *(each for each in value if each not in first)]
    return first


def concat(*values: Any) -> Any:
    if isinstance(values[0], list):
        return [each for value in values for each in value]
    return "".join(map(text, values))


def formatted(pattern: str, *values: Any) -> str:
    for at, value in enumerate(values):
        pattern = pattern.replace(f"{{{at}}}", text(value))
    return pattern


def skip(value: Any, count: int) -> Any:
    return value[max(count, 0) :]


def take(value: Any, count: int) -> Any:
    return value[: max(count, 0)]


def substring(value: str, start: int, length: int | None = None) -> str:
    if length is not None and start + length > len(value):
        raise ValueError(f"substring reaches beyond {value!r}")
    return value[start:] if length is None else value[start : start + length]


PURE: dict[str, Callable[..., Any]] = {
    "any": lambda value: value,
    "array": lambda value: value if isinstance(value, list) else [value],
    "bool": lambda value: str(value).lower() in ("true", "1"),
    "cidrSubnet": cidr_subnet,
    "concat": concat,
    "contains": contains,
    "empty": lambda value: not value,
    "endsWith": lambda value, end: value.lower().endswith(end.lower()),
    "first": lambda value: value[0],
    "flatten": lambda value: [each for inner in value for each in inner],
    "format": formatted,
    "guid": guid,
    "indexOf": lambda value, part: value.lower().find(part.lower()),
    "int": int,
    "items": lambda value: [{"key": key, "value": value[key]} for key in sorted(value)],
    "join": lambda values, between: between.join(map(text, values)),
    "json": json.loads,
    "last": lambda value: value[-1],
    "length": len,
    "max": lambda *values: max(values[0] if isinstance(values[0], list) else values),
    "min": lambda *values: min(values[0] if isinstance(values[0], list) else values),
    "padLeft": lambda value, width, fill=" ": text(value).rjust(width, fill),
    "range": lambda start, count: list(range(start, start + count)),
    "replace": lambda value, old, new: value.replace(old, new),
    "skip": skip,
    "split": lambda value, between: value.split(between),
    "startsWith": lambda value, start: value.lower().startswith(start.lower()),
    "string": text,
    "substring": substring,
    "take": take,
    "toLower": str.lower,
    "toUpper": str.upper,
    "trim": str.strip,
    "union": union,
    "uniqueString": unique_string,
}

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "=~": lambda left, right: left.lower() == right.lower(),
    "!~": lambda left, right: left.lower() != right.lower(),
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
}


def loaded(place: Path, function: str, at: str) -> Any:
    """What a file of text or JSON beside the templates holds."""
    content = (place / at).read_text()
    return json.loads(content) if function == "loadJsonContent" else content
