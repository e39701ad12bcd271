"""Whether every resource is of a type that exists, and holds what Azure accepts there.

What is written out is checked strictly, through variables, loops and both arms of conditions. What
is known at the deployment only (a reference, a parameter of type object) is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.infra.bicep.folder import Finding, Folder
from tests.infra.bicep.resource_types import ResourceType, resource_types
from tests.infra.bicep.shapes import Anything, Choice, ListOf, MapOf, Plain, Record, Shape
from tests.infra.bicep.syntax import (
    Array,
    Call,
    Expression,
    For,
    Interpolation,
    Member,
    Name,
    Null,
    Object,
    Resource,
    Template,
    Text,
    symbol,
)
from tests.infra.bicep.view import Observation, View

# Bicep's own, beside the properties of any type.
_OF_BICEP = frozenset({"name", "parent", "scope", "dependsOn"})


def typecheck(folder: Folder) -> list[Finding]:
    """Everything that Azure would refuse in the resources of a folder."""
    return sorted(
        finding for template in folder.templates.values() for finding in _of(folder, template)
    )


def full_type(template: Template, resource: Resource) -> tuple[str, str | None]:
    """Type and API version, those of the resource that it is nested in put before."""
    if resource.nested_in is None:
        return resource.type, resource.version
    above, version = full_type(template, template.resources[resource.nested_in])
    return f"{above}/{resource.type}", resource.version or version


def _of(folder: Folder, template: Template) -> Iterator[Finding]:
    check = _Check(folder, template)
    for resource in template.resources.values():
        yield from check.resource(resource)
    for expression in template.expressions():
        yield from check.asked(expression)


class _Check:
    def __init__(self, folder: Folder, template: Template) -> None:
        self.template = template
        self.view = View(folder, template)

    def found(self, line: int, text: str) -> Finding:
        return Finding(self.template.path, line, text)

    def type_of(self, resource: Resource) -> ResourceType | None:
        return resource_types().get(full_type(self.template, resource)[0])

    # -- A resource

    def resource(self, resource: Resource) -> Iterator[Finding]:
        name, version = full_type(self.template, resource)
        known = self.type_of(resource)
        if known is None:
            yield self.found(resource.line, f"{name} is no type of resource_types.json")
            return
        if version not in known.versions:
            yield self.found(
                resource.line, f"{name} has no API version {version} ({', '.join(known.versions)})"
            )
        yield from self.place(resource, name)
        body = resource.body
        view = self.view.inside(resource.loop) if resource.loop else self.view
        if resource.existing:
            for entry in body.properties:
                if isinstance(entry.key, Text) and entry.key.value not in _OF_BICEP:
                    yield self.found(entry.line, f"existing resources have no {entry.key.value}")
            return
        own = tuple(
            entry
            for entry in body.properties
            if not (isinstance(entry.key, Text) and entry.key.value in _OF_BICEP)
        )
        yield from self.record(Object(body.line, own), view, known.accepts, name, whole=True)

    def place(self, resource: Resource, name: str) -> Iterator[Finding]:
        """A name and a parent that fit the type."""
        body, steps = resource.body, name.count("/") - 1
        given, parent = body.get("name"), body.get("parent")
        if given is None:
            yield self.found(resource.line, f"{resource.name} has no name")
            return
        for kind in self.view.kinds(given) - {"string", None}:
            yield self.found(given.line, f"the name of {resource.name} is a string, not {kind}")
        if parent is not None:
            above = self.template.resources.get(symbol(parent) or "")
            if above is None:
                yield self.found(parent.line, f"the parent of {resource.name} is no resource here")
            elif full_type(self.template, above)[0] != name.rpartition("/")[0]:
                yield self.found(
                    parent.line, f"{name} does not stand below {full_type(self.template, above)[0]}"
                )
            steps = 0
        elif resource.nested_in is not None:
            steps = 0
        slashes = _slashes(given)
        if slashes is not None and slashes != steps:
            yield self.found(given.line, f"the name of a {name} has {steps + 1} parts here")

    # -- Values

    def value(self, value: Expression, view: View, shape: Shape, what: str) -> Iterator[Finding]:
        if isinstance(shape, Anything):
            return
        for seen in view.sources(value):
            yield from self.one(seen, shape, what)

    def one(self, seen: Observation, shape: Shape, what: str) -> Iterator[Finding]:
        value, view = seen.expression, seen.view
        match shape, value:
            case (
                Record() | MapOf() | ListOf(),
                Call(function="union" | "concat", arguments=parts),
            ):
                for part in parts:
                    for inner in view.sources(part):
                        yield from self.part(inner, shape, what)
            case Record(), Object():
                yield from self.record(value, view, shape, what, whole=True)
            case MapOf(value=inner), Object(properties=entries):
                for entry in entries:
                    yield from self.value(entry.value, view, inner, f"{what}.*")
            case ListOf(item=item), Array(items=items):
                for each in items:
                    yield from self.value(each, view, item, f"{what}[]")
            case ListOf(item=item), For() as loop:
                yield from self.value(loop.body, view.inside(loop), item, f"{what}[]")
            case Choice(values=values), Text(value=text):
                if text not in values:
                    yield self.found(
                        value.line, f"{what} is one of {_listed(values)}, not {text!r}"
                    )
            case Choice(values=values), Name(name=name) if name not in view.loops:
                parameter = view.template.parameters.get(name)
                for word in (parameter.allowed or ()) if parameter else ():
                    if word not in values:
                        yield self.found(
                            value.line,
                            f"{what} is one of {_listed(values)}; {name} allows {word!r}",
                        )
                yield from self.kind(value, view, shape, what)
            case _:
                yield from self.kind(value, view, shape, what)

    def part(self, seen: Observation, shape: Shape, what: str) -> Iterator[Finding]:
        """One argument of a union: another may hold what is required."""
        if isinstance(shape, Record) and isinstance(seen.expression, Object):
            yield from self.record(seen.expression, seen.view, shape, what, whole=False)
        else:
            yield from self.one(seen, shape, what)

    def kind(self, value: Expression, view: View, shape: Shape, what: str) -> Iterator[Finding]:
        wanted = _kind(shape)
        kind = view.kind(value)
        if kind not in (None, "null", wanted):
            yield self.found(value.line, f"{what} is of type {wanted}, not {kind}")

    def record(
        self, value: Object, view: View, shape: Record, what: str, *, whole: bool
    ) -> Iterator[Finding]:
        if shape.discriminator is not None:
            reports = value.get(shape.discriminator)
            if reports is None:
                yield self.found(value.line, f"{what} lacks {shape.discriminator}")
                return
            for seen in view.sources(reports):
                if not isinstance(seen.expression, Text):
                    continue
                kind = shape.kinds.get(seen.expression.value)
                if kind is None:
                    yield self.found(
                        reports.line,
                        f"{what}.{shape.discriminator} is one of {_listed(tuple(shape.kinds))}, "
                        f"not {seen.expression.value!r}",
                    )
                else:
                    yield from self.fields(value, view, kind, what, whole=whole)
            return
        yield from self.fields(value, view, shape, what, whole=whole)

    def fields(
        self, value: Object, view: View, shape: Record, what: str, *, whole: bool
    ) -> Iterator[Finding]:
        open_name = False
        for entry in value.properties:
            if not isinstance(entry.key, Text):
                open_name = True
                continue
            key = entry.key.value
            known = shape.fields.get(key)
            if known is None:
                yield self.found(entry.line, f"{what} has no property {key}{_near(key, shape)}")
            elif known.read_only:
                yield self.found(entry.line, f"{what}.{key} is read-only")
            else:
                if known.required and any(
                    isinstance(seen.expression, Null) for seen in view.sources(entry.value)
                ):
                    yield self.found(entry.line, f"{what}.{key} is required, and may be null here")
                yield from self.value(entry.value, view, known.shape, f"{what}.{key}")
        for key, known in shape.fields.items():
            wanted = whole and known.required and key not in _OF_BICEP and not open_name
            if wanted and value.get(key) is None:
                yield self.found(value.line, f"{what} lacks {key}, which is required")

    # -- What is asked of a resource that stands

    def asked(self, expression: Expression) -> Iterator[Finding]:
        path: list[str] = []
        at = expression
        while isinstance(at, Member):
            path.insert(0, at.name)
            at = at.object
        resource = self.template.resources.get(symbol(at) or "")
        if not path or resource is None:
            return
        known = self.type_of(resource)
        if known is None or path[0] in ("id", "name", "type", "apiVersion"):
            return
        shape: Shape = known.answers
        reached = resource.type
        for step in path:
            if not isinstance(shape, Record):
                return
            if step not in shape.fields:
                yield self.found(
                    expression.line, f"{reached} has no property {step}{_near(step, shape)}"
                )
                return
            shape, reached = shape.fields[step].shape, f"{reached}.{step}"


def _slashes(name: Expression) -> int | None:
    match name:
        case Text(value=value):
            return value.count("/")
        case Interpolation(parts=parts):
            return sum(part.count("/") for part in parts if isinstance(part, str))
        case _:
            return None


def _kind(shape: Shape) -> str | None:
    match shape:
        case Plain(kind=kind):
            return kind
        case Choice():
            return "string"
        case ListOf():
            return "array"
        case Record() | MapOf():
            return "object"
        case _:
            return None


def _listed(values: tuple[str, ...]) -> str:
    return ", ".join(values[:12]) + (", …" if len(values) > 12 else "")


def _near(key: str, shape: Record) -> str:
    same = [name for name in shape.fields if name.lower() == key.lower()]
    return f" (it is written {same[0]})" if same else ""
