"""What is wrong with mirroring.json, in words: each place, what stands there, what may."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from openmirror.mirroring.document import (
    MaintenanceBounds,
    MirroringDocument,
    MirrorSwitches,
    StreamSource,
    TableSwitches,
)
from openmirror.plan.retention import USUAL

_MOST = 5
_PASSWORD = re.compile(r"://[^/\s]*@")
"""In a URL; what is shown here is shown to everybody."""
_PLAIN = re.compile(r"[A-Za-z_$][\w$]*\Z")


def in_words(error: ValidationError) -> str:
    """All mistakes, or the first five and how many more there are."""
    errors = error.errors()
    left = len(errors) - _MOST
    more = [f"and {left} more"] if left > 0 else []
    return "; ".join([*(_mistake(item) for item in errors[:_MOST]), *more])


def _mistake(item: ErrorDetails) -> str:
    place = [part for part in item["loc"] if part != "[key]"]
    path = _path(place)
    if item["type"] == "extra_forbidden":
        return f"{path} is no setting; there are {', '.join(_keys(_section(place)))}"
    if item["type"] == "missing":
        return f"{path} is missing"
    if item["loc"][-1:] == ("[key]",):
        return f"{path} must be {_allowed(item)}"
    given = _PASSWORD.sub("://…@", json.dumps(item["input"], default=str, ensure_ascii=False))[:60]
    return f"{path} is {given}, but must be {_allowed(item)}"


def _section(place: Iterable[str | int]) -> type[BaseModel]:
    """Which of our sections a place is in."""
    sections: dict[str | int, type[BaseModel]] = {
        "tables": TableSwitches,
        "streams": StreamSource,
        "maintenanceBounds": MaintenanceBounds,
    }
    inner = reversed(list(place)[:-1])
    return next((sections[part] for part in inner if part in sections), MirrorSwitches)


def too_short(document: MirroringDocument) -> str | None:
    """A retention that would fail readers, where nobody says that it is meant."""
    usual, ours = document.properties.target.type_properties.retention_in_days, document.openmirror
    places = [(usual, ours.short_retention, ["properties", "target", "typeProperties"])]
    for name, own in ours.tables.items():
        is_meant = ours.short_retention if own.short_retention is None else own.short_retention
        days = own.retention_in_days or usual
        places.append((days, is_meant, ["openmirror", "tables", name]))
    for days, is_meant, place in places:
        if days < USUAL.days and not is_meant:
            return (
                f"{_path([*place, 'retentionInDays'])} is {days}, but must be at least "
                f"{USUAL.days}, or shortRetention true in the section openmirror: readers whose "
                "query takes longer than that would fail"
            )
    return None


def _path(place: Iterable[str | int]) -> str:
    """Where in the document: `openmirror.tables["dbo.Orders"].typeChange`."""
    path = ""
    for part in place:
        plain = isinstance(part, str) and _PLAIN.match(part)
        path += f".{part}" if plain else f"[{json.dumps(part, ensure_ascii=False)}]"
    return path.removeprefix(".") or "the document"


def _keys(section: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in section.model_fields.items()]


_ALLOWED = {
    "model_type": "an object: {…}",
    "model_attributes_type": "an object: {…}",
    "dict_type": "an object: {…}",
    "list_type": 'a list: ["…"]',
    "string_type": "text in quotes",
    "bool_type": "true or false",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "string_pattern_mismatch": "a name without a slash",
    "string_too_short": "a name that is not empty",
}


def _allowed(item: ErrorDetails) -> str:
    context = item.get("ctx", {})
    for bound, words in (("ge", "at least"), ("le", "at most")):
        if bound in context:
            return f"{words} {context[bound]}"
    if item["type"] == "enum":
        return str(context["expected"])
    if item["type"] == "too_long":
        return f"at most {context['max_length']} of them"
    return _ALLOWED.get(item["type"], item["msg"].removeprefix("Value error, "))
