"""What an expression may be, as far as the text alone says: its kind, and where it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from tests.infra.bicep.folder import Folder
from tests.infra.bicep.functions import FUNCTIONS, LIKE_FIRST_ARGUMENT
from tests.infra.bicep.syntax import (
    Array,
    Binary,
    Boolean,
    Call,
    Expression,
    For,
    Index,
    Interpolation,
    Lambda,
    Member,
    Module,
    Name,
    Null,
    Number,
    Object,
    Template,
    Ternary,
    Text,
    Unary,
)

_TEXT_OF_SCOPE = frozenset({"id", "location", "name", "type", "subscriptionId", "tenantId"})


@dataclass(frozen=True)
class Observation:
    """An expression, and the view in which its names have their meaning."""

    expression: Expression
    view: View


@dataclass(frozen=True)
class View:
    """A template, and what its loop variables may stand for (nothing: not known)."""

    folder: Folder
    template: Template
    loops: Mapping[str, tuple[Observation, ...]] = field(default_factory=dict)

    def bind(self, name: str | None, values: tuple[Observation, ...]) -> View:
        return self if name is None else replace(self, loops={**self.loops, name: values})

    def inside(self, loop: For) -> View:
        within = self.bind(loop.item, tuple(self.elements(loop.items)))
        return within.bind(loop.index, (Observation(Number(loop.line, 0), self),))

    def within_lambda(self, function: Lambda) -> View:
        view = self
        for name in function.names:
            view = view.bind(name, ())
        return view

    # -- Where a value comes from

    def sources(self, expression: Expression) -> Iterator[Observation]:
        """The expressions that may stand here, names followed and both arms of conditions taken."""
        match expression:
            case Name(name=name) if self.loops.get(name):
                for seen in self.loops[name]:
                    yield from seen.view.sources(seen.expression)
            case Name(name=name) if name not in self.loops and name in self.template.variables:
                plain = replace(self, loops={})
                yield from plain.sources(self.template.variables[name].value)
            case Ternary(yes=yes, no=no):
                yield from self.sources(yes)
                yield from self.sources(no)
            case Binary(operator="??", left=left, right=right):
                yield from self.sources(left)
                yield from self.sources(right)
            case Call(function="any", arguments=(inner,)):
                yield from self.sources(inner)
            case Member(object=inner, name=name) | Index(object=inner, index=Text(value=name)):
                yield from self._members(expression, inner, name)
            case _:
                yield Observation(expression, self)

    def _members(
        self, expression: Expression, inner: Expression, name: str
    ) -> Iterator[Observation]:
        for seen in self.sources(inner):
            value = seen.expression.get(name) if isinstance(seen.expression, Object) else None
            if value is None:
                yield Observation(expression, self)
            else:
                yield from seen.view.sources(value)

    def elements(self, expression: Expression) -> Iterator[Observation]:
        """What the elements of an array may be; nothing where the text does not say."""
        for seen in self.sources(expression):
            match seen.expression:
                case Array(items=items):
                    for item in items:
                        yield from seen.view.sources(item)
                case For() as loop:
                    yield from seen.view.inside(loop).sources(loop.body)
                case Call(function="concat" | "union", arguments=arguments):
                    for argument in arguments:
                        yield from seen.view.elements(argument)
                case Call(function="filter", arguments=(items, _)):
                    yield from seen.view.elements(items)
                case _:
                    pass

    # -- Kinds

    def kinds(self, expression: Expression) -> frozenset[str | None]:
        """string, int, bool, array, object or null, for each source; None: not known."""
        return frozenset(seen.view.kind(seen.expression) for seen in self.sources(expression))

    def kind(self, expression: Expression) -> str | None:
        match expression:
            case Text() | Interpolation():
                return "string"
            case Number():
                return "int"
            case Boolean():
                return "bool"
            case Null():
                return "null"
            case Array() | For():
                return "array"
            case Object():
                return "object"
            case Unary(operator="!"):
                return "bool"
            case Unary(operator="-"):
                return "int"
            case Binary(operator=sign):
                return "int" if sign in "+-*/%" else "bool"
            case Name(name=name):
                return self._kind_of_name(name)
            case Call():
                return self._kind_of_call(expression)
            case Member():
                return self._kind_of_member(expression)
            case _:
                return None

    def _kind_of_name(self, name: str) -> str | None:
        if name in self.loops:
            return None
        if name in self.template.parameters:
            return kind_of_type(self.template.parameters[name].type)
        if name in self.template.resources:
            loop = self.template.resources[name].loop
            return "array" if loop else "object"
        return None

    def _kind_of_call(self, call: Call) -> str | None:
        if call.function in LIKE_FIRST_ARGUMENT and call.arguments:
            kinds = self.kinds(call.arguments[0])
            return next(iter(kinds)) if len(kinds) == 1 else None
        signature = FUNCTIONS.get(call.function)
        return signature.gives if signature and call.target is None else None

    def _kind_of_member(self, member: Member) -> str | None:
        match member:
            case Member(object=Name(name=name), name="id" | "name" | "type") if (
                name in self.template.resources and name not in self.loops
            ):
                return "string"
            case Member(object=Call(function="resourceGroup" | "subscription"), name=name):
                return "string" if name in _TEXT_OF_SCOPE else None
            case Member(object=Member(object=Call(function="environment"), name="suffixes")):
                return "string"
            case Member(object=Member(name="outputs", object=inner), name=name):
                module = self.module(inner)
                target = self.folder.called(module) if module else None
                output = target.outputs.get(name) if target else None
                return kind_of_type(output.type) if output else None
            case _:
                return None

    def module(self, expression: Expression) -> Module | None:
        """The module that `m` or `m[i]` is, if it is one."""
        match expression:
            case Name(name=name) | Index(object=Name(name=name)) if name not in self.loops:
                return self.template.modules.get(name)
            case _:
                return None


def kind_of_type(written: str) -> str | None:
    """The kind that a declared type allows, or None for one that this does not know."""
    plain = written.removesuffix("?")
    if plain.endswith("[]"):
        return "array"
    return plain if plain in ("string", "int", "bool", "array", "object") else None
