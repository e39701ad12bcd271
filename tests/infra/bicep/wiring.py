"""Whether the parts of the templates fit together: what is named, called, given and used."""

from __future__ import annotations

from collections.abc import Iterator

from tests.infra.bicep.calls import calls
from tests.infra.bicep.folder import Finding, Folder
from tests.infra.bicep.functions import DECORATORS, FUNCTIONS
from tests.infra.bicep.placement import placement
from tests.infra.bicep.syntax import (
    Binary,
    Call,
    Declaration,
    Expression,
    For,
    If,
    Index,
    Lambda,
    Member,
    Name,
    Nested,
    Object,
    Parameter,
    Template,
    Ternary,
    Text,
    Unary,
    children,
    symbol,
)
from tests.infra.bicep.view import View, kind_of_type

_LOADED_AT_MOST = 131_072


def wiring(folder: Folder) -> list[Finding]:
    """Everything that is wrong with how the templates of a folder use themselves and each other."""
    return sorted(
        finding
        for template in folder.templates.values()
        for finding in (
            *_Names(folder, template),
            *calls(folder, template),
            *placement(template),
        )
    )


class _Names:
    def __init__(self, folder: Folder, template: Template) -> None:
        self.folder = folder
        self.template = template
        self.view = View(folder, template)
        self.used: set[str] = set()

    def __iter__(self) -> Iterator[Finding]:
        t = self.template
        for parameter in t.parameters.values():
            yield from self.parameter(parameter)
        for variable in t.variables.values():
            yield from self.expression(variable.value, self.view)
        for resource in t.resources.values():
            yield from self.decorators(resource)
            yield from self.expression(resource.value, self.view)
        for module in t.modules.values():
            yield from self.decorators(module)
            yield from self.expression(module.value, self.view)
        for output in t.outputs.values():
            yield from self.decorators(output)
            yield from self.described(output)
            yield from self.expression(output.value, self.view)
        yield from self.unused()

    def found(self, at: Declaration | Expression, text: str) -> Finding:
        return Finding(self.template.path, at.line, text)

    # -- Declarations

    def parameter(self, parameter: Parameter) -> Iterator[Finding]:
        yield from self.decorators(parameter)
        yield from self.described(parameter)
        if kind_of_type(parameter.type) is None:
            yield self.found(parameter, f"{parameter.name} has the unknown type {parameter.type}")
        if parameter.default is not None:
            yield from self.expression(parameter.default, self.view)

    def decorators(self, declaration: Declaration) -> Iterator[Finding]:
        for name in declaration.decorators:
            if name not in DECORATORS:
                yield self.found(declaration, f"@{name}() is no decorator that this knows")

    def described(self, declaration: Declaration) -> Iterator[Finding]:
        if declaration.description is None:
            yield self.found(declaration, f"{declaration.name} has no @description")

    def unused(self) -> Iterator[Finding]:
        for what, declared in (
            ("parameter", self.template.parameters),
            ("variable", self.template.variables),
        ):
            for name, declaration in declared.items():
                if name not in self.used:
                    yield self.found(declaration, f"{what} {name} is not used")
        for name, resource in self.template.resources.items():
            below = any(each.nested_in == name for each in self.template.resources.values())
            if resource.existing and name not in self.used and not below:
                yield self.found(resource, f"existing resource {name} is not used")

    # -- Expressions

    def expression(self, expression: Expression, view: View) -> Iterator[Finding]:
        match expression:
            case Name(name=name):
                yield from self.name(expression, name, view)
            case For() as loop:
                yield from self.expression(loop.items, view)
                yield from self.expression(loop.body, view.inside(loop))
                return
            case Lambda() as function:
                yield from self.expression(function.body, view.within_lambda(function))
                return
            case Call() as call:
                yield from self.function(call)
            case Member(object=Member(object=inner, name="outputs"), name=name):
                yield from self.output_of(expression, inner, name, view)
            case Nested() if symbol(expression) not in self.template.resources:
                yield self.found(expression, f"there is no resource {symbol(expression)}")
            case Nested():
                self.used.add(symbol(expression) or "")
            case Object() as value:
                yield from self.twice(value)
            case If(condition=condition) | Ternary(condition=condition):
                yield from self.is_bool(condition, view)
            case Unary(operator="!", operand=condition):
                yield from self.is_bool(condition, view)
            case Binary(operator="&&" | "||", left=left, right=right):
                yield from self.is_bool(left, view)
                yield from self.is_bool(right, view)
            case _:
                pass
        for child in children(expression):
            yield from self.expression(child, view)

    def name(self, at: Expression, name: str, view: View) -> Iterator[Finding]:
        t = self.template
        known = (t.parameters, t.variables, t.resources, t.modules)
        if name in view.loops:
            return
        if any(name in declared for declared in known):
            self.used.add(name)
        else:
            yield self.found(at, f"{name} is not declared")

    def function(self, call: Call) -> Iterator[Finding]:
        if call.target is not None:
            yield self.found(call, f".{call.function}() asks a resource: no secret is read here")
            return
        signature = FUNCTIONS.get(call.function)
        if signature is None:
            yield self.found(call, f"{call.function}() is no function that this knows")
        elif not signature.least <= len(call.arguments) <= signature.most:
            yield self.found(
                call,
                f"{call.function}() takes {signature.least} to {signature.most} arguments, "
                f"not {len(call.arguments)}",
            )
        match call:
            case Call(
                function="loadTextContent" | "loadJsonContent", arguments=(Text(value=at), *_)
            ):
                file = self.folder.place / at
                if not file.is_file():
                    yield self.found(call, f"there is no file {at}")
                elif len(file.read_text()) > _LOADED_AT_MOST:
                    yield self.found(call, f"{at} has more than {_LOADED_AT_MOST} characters")
            case _:
                pass

    def is_bool(self, condition: Expression, view: View) -> Iterator[Finding]:
        for kind in view.kinds(condition) - {"bool", None}:
            yield self.found(condition, f"a condition is a bool, not {kind}")

    def twice(self, value: Object) -> Iterator[Finding]:
        seen: set[str] = set()
        for entry in value.properties:
            if isinstance(entry.key, Text):
                if entry.key.value in seen:
                    yield self.found(entry, f"{entry.key.value} is given twice")
                seen.add(entry.key.value)

    def output_of(
        self, at: Expression, inner: Expression, name: str, view: View
    ) -> Iterator[Finding]:
        module = view.module(inner)
        target = self.folder.called(module) if module else None
        if module and target and name not in target.outputs:
            yield self.found(at, f"{module.path} has no output {name}")
        if module and module.loop and not isinstance(inner, Index):
            yield self.found(at, f"{module.name} is a loop of modules: name one by its index")
