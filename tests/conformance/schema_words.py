"""JSON Schema, as far as the schemas of the vectors use it; any other word is an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
}
_SILENT = {"$schema", "$defs", "title", "description"}


def errors(schema: Mapping[str, Any], value: Any) -> list[str]:
    """What in a document is not as its schema has it, each with its place."""
    return list(_errors(schema, schema, value, "$"))


def _errors(
    root: Mapping[str, Any], schema: Mapping[str, Any], value: Any, at: str
) -> Iterator[str]:
    for word, wanted in schema.items():
        if word in _SILENT:
            continue
        match word:
            case "$ref":
                target = root
                for part in wanted.removeprefix("#/").split("/"):
                    target = target[part]
                yield from _errors(root, target, value, at)
            case "type":
                kinds = [wanted] if isinstance(wanted, str) else wanted
                if not any(_TYPES[kind](value) for kind in kinds):
                    yield f"{at} is no {' or '.join(kinds)}"
            case "enum":
                if value not in wanted:
                    yield f"{at} is none of {wanted}"
            case "anyOf":
                if not any(not list(_errors(root, one, value, at)) for one in wanted):
                    yield f"{at} is of no form that is allowed: {json.dumps(value)}"
            case "pattern":
                if isinstance(value, str) and not re.search(wanted, value):
                    yield f"{at} does not match {wanted}"
            case "minLength" | "minItems" | "minProperties":
                if isinstance(value, str | list | dict) and len(value) < wanted:
                    yield f"{at} is too short"
            case "maxItems":
                if isinstance(value, list) and len(value) > wanted:
                    yield f"{at} is too long"
            case "required" | "properties" | "additionalProperties":
                if isinstance(value, dict):
                    yield from _members(root, schema, word, value, at)
            case "items" | "prefixItems":
                if isinstance(value, list):
                    yield from _items(root, schema, word, value, at)
            case _:
                raise ValueError(f"{word} is no word that is known here")


def _members(
    root: Mapping[str, Any], schema: Mapping[str, Any], word: str, value: dict[str, Any], at: str
) -> Iterator[str]:
    wanted, named = schema[word], schema.get("properties", {})
    if word == "required":
        yield from (f"{at} has no {key}" for key in wanted if key not in value)
    elif word == "properties":
        for key in value.keys() & wanted.keys():
            yield from _errors(root, wanted[key], value[key], f"{at}.{key}")
    else:
        for key in value.keys() - named.keys():
            if wanted is False:
                yield f"{at} has {key}"
            else:
                yield from _errors(root, wanted, value[key], f"{at}.{key}")


def _items(
    root: Mapping[str, Any], schema: Mapping[str, Any], word: str, value: list[Any], at: str
) -> Iterator[str]:
    if word == "prefixItems":
        for number, (one, item) in enumerate(zip(schema[word], value, strict=False)):
            yield from _errors(root, one, item, f"{at}[{number}]")
        return
    begin = len(schema.get("prefixItems", ()))
    for number, item in enumerate(value[begin:], start=begin):
        yield from _errors(root, schema[word], item, f"{at}[{number}]")
