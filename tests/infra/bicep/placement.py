"""What may stand where: loops, and what must be known when a deployment begins."""

from __future__ import annotations

from collections.abc import Iterator

from tests.infra.bicep.folder import Finding
from tests.infra.bicep.syntax import (
    Expression,
    For,
    If,
    Member,
    Module,
    Name,
    Object,
    Output,
    Property,
    Resource,
    Template,
    Variable,
    children,
    symbol,
    walk,
)

_KNOWN_AT_START = frozenset({"id", "name", "type", "apiVersion"})


def placement(template: Template) -> Iterator[Finding]:
    """What stands where Bicep does not take it."""
    plain: list[Variable | Output] = [*template.variables.values(), *template.outputs.values()]
    for each in plain:
        yield from _loops(template, each.value, direct=True, inner=False)
    bodies: list[Resource | Module] = [*template.resources.values(), *template.modules.values()]
    for made in bodies:
        yield from _loops(template, made.value, direct=True, inner=True)
        for early in _early(made.value, made.body):
            yield from _known(template, early, frozenset())


def _loops(
    template: Template, value: Expression, *, direct: bool, inner: bool
) -> Iterator[Finding]:
    """A loop is the whole of a declaration, or of one property of a resource or module."""
    if isinstance(value, For) and not direct:
        yield Finding(template.path, value.line, "a loop cannot stand here: make a variable of it")
    if isinstance(value, For | If):
        yield from _loops(template, value.body, direct=isinstance(value.body, If), inner=inner)
        return
    for child in children(value):
        if isinstance(child, Property):
            inside = isinstance(value, Object) and inner
            alone = inner and not isinstance(child.value, For)  # loops of properties nest not
            yield from _loops(template, child.value, direct=inside, inner=alone)
        else:
            yield from _loops(template, child, direct=False, inner=inner)


def _early(value: Expression, body: Object) -> Iterator[Expression]:
    """Names, scopes, conditions and loops: none can hang on what another resource says later."""
    for key in ("name", "scope", "parent"):
        expression = body.get(key)
        if expression is not None:
            yield expression
    match value:
        case For(items=items, body=inner):
            yield items
            yield from _early(inner, Object(inner.line, ()))
        case If(condition=condition):
            yield condition
        case _:
            pass


def _known(template: Template, expression: Expression, within: frozenset[str]) -> Iterator[Finding]:
    for each in walk(expression):
        match each:
            case Member(object=inner, name=member):
                name = symbol(inner)
                of_resource = name in template.resources and member not in _KNOWN_AT_START
                of_module = name in template.modules and member == "outputs"
                if of_resource or of_module:
                    problem = f"{name}.{member} is not known when the deployment begins"
                    yield Finding(template.path, each.line, problem)
            case Name(name=name) if name in template.variables and name not in within:
                yield from _known(template, template.variables[name].value, within | {name})
            case _:
                pass
