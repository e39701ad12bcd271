"""Shapes out of the models of the azure-mgmt packages: Azure's own word on what it accepts.

There are two generations of them. The newer declares each property as an annotated `rest_field`;
the older keeps wire names in `_attribute_map` and the rest in `_validation`, with the properties
below `properties` flattened into the model.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import functools
import importlib
import inspect
import re
import typing
from collections.abc import Mapping
from types import ModuleType, UnionType
from typing import Any

from tests.infra.bicep.shapes import (
    ANYTHING,
    BOOL,
    INT,
    STRING,
    Choice,
    Field,
    ListOf,
    MapOf,
    Record,
    Shape,
)

_PLAIN: dict[object, Shape] = {
    str: STRING,
    bytes: STRING,
    int: INT,
    float: INT,
    decimal.Decimal: INT,
    bool: BOOL,
    datetime.datetime: STRING,
    datetime.date: STRING,
    datetime.time: STRING,
    datetime.timedelta: STRING,
}
_OLD_PLAIN: dict[str, Shape] = {
    "str": STRING,
    "int": INT,
    "long": INT,
    "float": INT,
    "bool": BOOL,
    "iso-8601": STRING,
    "rfc-1123": STRING,
    "date": STRING,
    "time": STRING,
    "duration": STRING,
    "bytearray": STRING,
    "base64": STRING,
    "unix-time": INT,
    "object": ANYTHING,
}


class NoModel(LookupError):
    """A package, or a model in it, that does not exist."""


@functools.cache
def record(package: str, model: str) -> Record:
    """The record that `azure.mgmt.<package>.models.<model>` describes."""
    try:
        models = importlib.import_module(f"azure.mgmt.{package}.models")
        found = getattr(models, model)
    except (ImportError, AttributeError) as missing:
        raise NoModel(f"azure.mgmt.{package} has no model {model}") from missing
    return _record(models, found)


def _record(models: ModuleType, model: type) -> Record:
    return _old(models, model) if hasattr(model, "_attribute_map") else _new(models, model)


# -- The newer generation


def _new(models: ModuleType, model: type) -> Record:
    declared = {
        name: member
        for base in reversed(model.__mro__)
        for name, member in vars(base).items()
        if type(member).__name__ == "_RestField"
    }
    reports = [name for name, member in declared.items() if member._is_discriminator]
    mapping: Mapping[str, type] = getattr(model, "__mapping__", {}) if reports else {}

    def find() -> dict[str, Field]:
        hints = _hints(models, model)
        return {
            member._rest_name_input or name: _new_field(models, hints[name], member)
            for name, member in declared.items()
        }

    return Record(
        name=model.__name__,
        find=find,
        discriminator=(declared[reports[0]]._rest_name_input or reports[0]) if mapping else None,
        find_kinds=lambda: {value: _leaf(models, kind) for value, kind in mapping.items()},
    )


def _leaf(models: ModuleType, model: type) -> Record:
    """One kind of a discriminated object, which is not discriminated again."""
    whole = _record(models, model)
    return Record(name=whole.name, find=whole.find)


def _new_field(models: ModuleType, hint: Any, member: Any) -> Field:
    optional = type(None) in typing.get_args(hint)
    read_only = member._visibility == ["read"]
    return Field(_new_shape(models, hint), not optional and not read_only, read_only)


def _new_shape(models: ModuleType, hint: Any) -> Shape:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        kinds = [each for each in arguments if each is not type(None)]
        enums = [each for each in kinds if isinstance(each, type) and issubclass(each, enum.Enum)]
        if enums:
            return Choice(tuple(str(value.value) for each in enums for value in each))
        return _new_shape(models, kinds[0]) if len(kinds) == 1 else ANYTHING
    if origin is typing.Literal:
        return Choice(tuple(str(getattr(each, "value", each)) for each in arguments))
    if origin in (list, typing.List):  # noqa: UP006 - what the models write
        return ListOf(_new_shape(models, arguments[0]))
    if origin in (dict, typing.Dict):  # noqa: UP006
        return MapOf(_new_shape(models, arguments[1]))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return Choice(tuple(str(value.value) for value in hint))
    if isinstance(hint, type) and hint.__module__.startswith("azure.mgmt"):
        return _new(models, hint)
    return ANYTHING


# -- The older generation


def _old(models: ModuleType, model: type) -> Record:
    kinds: dict[str, str] = {}
    reports = None
    for name, subtypes in vars(model).get("_subtype_map", {}).items():
        reports, kinds = name, dict(subtypes)
    for kind in list(kinds.values()):
        for more in vars(getattr(models, kind)).get("_subtype_map", {}).values():
            kinds |= more
    attributes: Mapping[str, Any] = model._attribute_map  # type: ignore[attr-defined]

    def find() -> dict[str, Field]:
        choices = _hints(models, inspect.getattr_static(model, "__init__"))
        tree: dict[str, Any] = {}
        rules: Mapping[str, Any] = getattr(model, "_validation", {})
        for name, attribute in attributes.items():
            rule = rules.get(name, {})
            shape = _old_shape(models, attribute["type"], choices.get(name))
            if rule.get("constant") and isinstance(vars(model).get(name), str):
                shape = Choice((vars(model)[name],))
            *above, last = re.split(r"(?<!\\)\.", attribute["key"])
            place = tree
            for step in above:
                place = place.setdefault(step, {})
            place[last.replace("\\.", ".")] = Field(
                shape, rule.get("required", False), rule.get("readonly", False)
            )
        return _grown(model.__name__, tree)

    return Record(
        name=model.__name__,
        find=find,
        discriminator=attributes[reports]["key"].replace("\\.", ".") if reports else None,
        find_kinds=lambda: {
            value: _leaf(models, getattr(models, kind)) for value, kind in kinds.items()
        },
    )


def _grown(name: str, tree: Mapping[str, Any]) -> dict[str, Field]:
    """Fields of a flattened model, its `properties` a record of their own again."""
    fields: dict[str, Field] = {}
    for key, value in tree.items():
        if isinstance(value, Field):
            fields[key] = value
        else:
            inner = _grown(f"{name}.{key}", value)
            required = any(each.required for each in inner.values())
            fields[key] = Field(Record(f"{name}.{key}", functools.partial(dict, inner)), required)
    return fields


def _old_shape(models: ModuleType, written: str, hint: Any) -> Shape:
    if written in _OLD_PLAIN:
        choice = _choice(hint)
        return choice if written == "str" and choice is not None else _OLD_PLAIN[written]
    if written.startswith("["):
        inner = typing.get_args(_without_none(hint))
        return ListOf(_old_shape(models, written[1:-1], inner[0] if inner else None))
    if written.startswith("{"):
        return MapOf(_old_shape(models, written[1:-1], None))
    return _old(models, getattr(models, written))


def _without_none(hint: Any) -> Any:
    kinds = [each for each in typing.get_args(hint) if each is not type(None)]
    optional = type(None) in typing.get_args(hint)
    return kinds[0] if optional and len(kinds) == 1 else hint


def _choice(hint: Any) -> Choice | None:
    kinds = typing.get_args(hint)
    enums = [each for each in kinds if isinstance(each, type) and issubclass(each, enum.Enum)]
    values = tuple(str(value.value) for each in enums for value in each)
    return Choice(values) if values else None


def _hints(models: ModuleType, of: Any) -> dict[str, Any]:
    return typing.get_type_hints(of, localns={"_models": models, "JSON": typing.Any})
