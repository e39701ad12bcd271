"""Bicep's functions that the files may use: how many arguments each takes, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass

MANY = 99


@dataclass(frozen=True)
class Signature:
    least: int
    most: int
    gives: str | None  # string, int, bool, array, object; None: it depends on the arguments


FUNCTIONS = {
    "any": Signature(1, 1, None),
    "array": Signature(1, 1, "array"),
    "base64": Signature(1, 1, "string"),
    "bool": Signature(1, 1, "bool"),
    "cidrSubnet": Signature(3, 3, "string"),
    "concat": Signature(1, MANY, None),
    "contains": Signature(2, 2, "bool"),
    "deployment": Signature(0, 0, "object"),
    "empty": Signature(1, 1, "bool"),
    "endsWith": Signature(2, 2, "bool"),
    "environment": Signature(0, 0, "object"),
    "extensionResourceId": Signature(3, MANY, "string"),
    "filter": Signature(2, 2, "array"),
    "first": Signature(1, 1, None),
    "flatten": Signature(1, 1, "array"),
    "format": Signature(2, MANY, "string"),
    "guid": Signature(1, MANY, "string"),
    "indexOf": Signature(2, 2, "int"),
    "int": Signature(1, 1, "int"),
    "intersection": Signature(2, MANY, None),
    "items": Signature(1, 1, "array"),
    "join": Signature(2, 2, "string"),
    "json": Signature(1, 1, None),
    "last": Signature(1, 1, None),
    "length": Signature(1, 1, "int"),
    "loadJsonContent": Signature(1, 3, None),
    "loadTextContent": Signature(1, 2, "string"),
    "map": Signature(2, 2, "array"),
    "max": Signature(1, MANY, "int"),
    "min": Signature(1, MANY, "int"),
    "padLeft": Signature(2, 3, "string"),
    "range": Signature(2, 2, "array"),
    "reduce": Signature(3, 3, None),
    "replace": Signature(3, 3, "string"),
    "resourceGroup": Signature(0, 2, "object"),
    "resourceId": Signature(2, MANY, "string"),
    "skip": Signature(2, 2, None),
    "sort": Signature(2, 2, "array"),
    "split": Signature(2, 2, "array"),
    "startsWith": Signature(2, 2, "bool"),
    "string": Signature(1, 1, "string"),
    "subscription": Signature(0, 1, "object"),
    "subscriptionResourceId": Signature(2, MANY, "string"),
    "substring": Signature(2, 3, "string"),
    "take": Signature(2, 2, None),
    "tenant": Signature(0, 0, "object"),
    "toLower": Signature(1, 1, "string"),
    "toObject": Signature(2, 3, "object"),
    "toUpper": Signature(1, 1, "string"),
    "trim": Signature(1, 1, "string"),
    "union": Signature(2, MANY, None),
    "uniqueString": Signature(1, MANY, "string"),
    "uri": Signature(2, 2, "string"),
}

# What these give is of the kind that goes in.
LIKE_FIRST_ARGUMENT = frozenset({"concat", "intersection", "skip", "take", "union"})

DECORATORS = frozenset(
    {
        "allowed",
        "batchSize",
        "description",
        "maxLength",
        "maxValue",
        "metadata",
        "minLength",
        "minValue",
        "secure",
    }
)
