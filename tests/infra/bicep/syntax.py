"""A Bicep file as frozen values: declarations, and expressions as trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache


@dataclass(frozen=True)
class Expression:
    """Where an expression begins; lines count from 1."""

    line: int


@dataclass(frozen=True)
class Text(Expression):
    """A string without anything to fill in."""

    value: str


@dataclass(frozen=True)
class Interpolation(Expression):
    """A string with `${…}`: pieces of text and expressions in order."""

    parts: tuple[str | Expression, ...]


@dataclass(frozen=True)
class Number(Expression):
    value: int


@dataclass(frozen=True)
class Boolean(Expression):
    value: bool


@dataclass(frozen=True)
class Null(Expression):
    pass


@dataclass(frozen=True)
class Name(Expression):
    """A parameter, variable, resource, module or loop variable, by its symbol."""

    name: str


@dataclass(frozen=True)
class Property(Expression):
    """One entry of an object; its key is text, or an interpolation that is known later only."""

    key: Text | Interpolation
    value: Expression


@dataclass(frozen=True)
class Object(Expression):
    properties: tuple[Property, ...]
    resources: tuple[Resource, ...] = ()

    def get(self, key: str) -> Expression | None:
        """The value under a key that is written out, or None."""
        for entry in self.properties:
            if isinstance(entry.key, Text) and entry.key.value == key:
                return entry.value
        return None


@dataclass(frozen=True)
class Array(Expression):
    items: tuple[Expression, ...]


@dataclass(frozen=True)
class Member(Expression):
    """`object.name`; `optional` for `.?`."""

    object: Expression
    name: str
    optional: bool = False


@dataclass(frozen=True)
class Index(Expression):
    object: Expression
    index: Expression


@dataclass(frozen=True)
class Nested(Expression):
    """`resource::nested`."""

    object: Expression
    name: str


@dataclass(frozen=True)
class Call(Expression):
    function: str
    arguments: tuple[Expression, ...]
    target: Expression | None = None  # the resource of `resource.listKeys()`


@dataclass(frozen=True)
class Unary(Expression):
    operator: str
    operand: Expression


@dataclass(frozen=True)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Ternary(Expression):
    condition: Expression
    yes: Expression
    no: Expression


@dataclass(frozen=True)
class Lambda(Expression):
    names: tuple[str, ...]
    body: Expression


@dataclass(frozen=True)
class For(Expression):
    """`[for item in items: body]`, or `(item, index)`."""

    item: str
    index: str | None
    items: Expression
    body: Expression


@dataclass(frozen=True)
class If(Expression):
    """The condition of a resource or module before its body."""

    condition: Expression
    body: Expression


@dataclass(frozen=True)
class Declaration:
    name: str
    line: int
    decorators: Mapping[str, tuple[Expression, ...]]

    @property
    def description(self) -> str | None:
        """The text of `@description`, where there is one that is not blank."""
        match self.decorators.get("description"):
            case (Text(value=value),) if value.strip():
                return value
            case _:
                return None


@dataclass(frozen=True)
class Parameter(Declaration):
    type: str
    default: Expression | None

    @property
    def required(self) -> bool:
        return self.default is None and not self.type.endswith("?")

    @property
    def secure(self) -> bool:
        return "secure" in self.decorators

    @property
    def allowed(self) -> tuple[object, ...] | None:
        """The values of `@allowed`, or None where any will do."""
        match self.decorators.get("allowed"):
            case (Array(items=items),):
                return tuple(
                    item.value for item in items if isinstance(item, Text | Number | Boolean)
                )
            case _:
                return None

    def bound(self, decorator: str) -> int | None:
        """The number of `@minLength`, `@maxLength`, `@minValue` or `@maxValue`."""
        match self.decorators.get(decorator):
            case (Number(value=value),):
                return value
            case _:
                return None


@dataclass(frozen=True)
class Variable(Declaration):
    value: Expression


@dataclass(frozen=True)
class Resource(Declaration):
    """`type` is as written: for a nested resource only its last part, without a version.

    The `name` of a nested one is as others write it, `account::blobs`.
    """

    type: str
    version: str | None
    existing: bool
    value: Expression  # Object, or If or For around it
    nested_in: str | None = None  # name of the resource that it is written in

    @property
    def body(self) -> Object:
        return _body(self.value)

    @property
    def condition(self) -> Expression | None:
        return _condition(self.value)

    @property
    def loop(self) -> For | None:
        return self.value if isinstance(self.value, For) else None


@dataclass(frozen=True)
class Module(Declaration):
    path: str
    value: Expression

    @property
    def body(self) -> Object:
        return _body(self.value)

    @property
    def condition(self) -> Expression | None:
        return _condition(self.value)

    @property
    def loop(self) -> For | None:
        return self.value if isinstance(self.value, For) else None

    @property
    def params(self) -> Object:
        given = self.body.get("params")
        return given if isinstance(given, Object) else Object(self.line, ())


@dataclass(frozen=True)
class Output(Declaration):
    type: str
    value: Expression


@dataclass(frozen=True)
class Template:
    """One Bicep file."""

    path: str
    scope: str
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    variables: Mapping[str, Variable] = field(default_factory=dict)
    resources: Mapping[str, Resource] = field(default_factory=dict)
    modules: Mapping[str, Module] = field(default_factory=dict)
    outputs: Mapping[str, Output] = field(default_factory=dict)

    def expressions(self) -> Iterator[Expression]:
        """Every expression that stands in the file, at any depth."""
        for parameter in self.parameters.values():
            for arguments in parameter.decorators.values():
                for argument in arguments:
                    yield from walk(argument)
            if parameter.default is not None:
                yield from walk(parameter.default)
        for holder in (self.variables, self.modules, self.outputs):
            for declaration in holder.values():
                yield from walk(declaration.value)
        for resource in self.resources.values():
            yield from walk(resource.value)


@cache
def _parts(kind: type[Expression]) -> tuple[str, ...]:
    return tuple(each.name for each in fields(kind) if each.name != "resources")


def children(expression: Expression) -> Iterator[Expression]:
    """What stands directly in an expression; nested resources are declarations of their own."""
    for name in _parts(type(expression)):
        value = getattr(expression, name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Expression):
                yield item


def walk(expression: Expression) -> Iterator[Expression]:
    """An expression and all below it."""
    yield expression
    for child in children(expression):
        yield from walk(child)


def symbol(expression: Expression) -> str | None:
    """The name of the declaration that an expression is, or is one element of."""
    match expression:
        case Name(name=name) | Index(object=Name(name=name)):
            return name
        case Nested(object=inner, name=name):
            above = symbol(inner)
            return f"{above}::{name}" if above else None
        case _:
            return None


def _body(value: Expression) -> Object:
    while isinstance(value, For | If):
        value = value.body
    if not isinstance(value, Object):
        raise TypeError(f"line {value.line}: the body of a resource or module is an object")
    return value


def _condition(value: Expression) -> Expression | None:
    if isinstance(value, For):
        value = value.body
    return value.condition if isinstance(value, If) else None
