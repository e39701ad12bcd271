"""Whether the parts of the templates fit together: names, calls, modules, parameters, outputs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tests.infra.bicep.folder import Finding, Folder
from tests.infra.bicep.functions import DECORATORS, FUNCTIONS
from tests.infra.bicep.syntax import (
    Array,
    Call,
    Declaration,
    Expression,
    For,
    If,
    Index,
    Lambda,
    Member,
    Module,
    Name,
    Nested,
    Number,
    Object,
    Parameter,
    Property,
    Template,
    Text,
    symbol,
    walk,
)
from tests.infra.bicep.view import View, kind_of_type

# What a resource or module has beside the properties of its type.
_KNOWN_AT_START = frozenset({"id", "name", "type", "apiVersion"})
_LOADED_AT_MOST = 131_072
_GIVEN_TO_MODULE = frozenset({"name", "params", "scope", "dependsOn"})


def wiring(folder: Folder) -> list[Finding]:
    """Everything that is wrong with how the templates of a folder use themselves and each other."""
    return sorted(
        finding for template in folder.templates.values() for finding in _Check(folder, template)
    )


class _Check:
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
            yield from self.loops(variable.value, direct=True, inner=False)
        for resource in t.resources.values():
            yield from self.decorators(resource)
            yield from self.expression(resource.value, self.view)
            yield from self.loops(resource.value, direct=True, inner=True)
            yield from self.start(resource.value, resource.body)
        for module in t.modules.values():
            yield from self.decorators(module)
            yield from self.expression(module.value, self.view)
            yield from self.loops(module.value, direct=True, inner=True)
            yield from self.start(module.value, module.body)
            yield from self.call(module)
        for output in t.outputs.values():
            yield from self.decorators(output)
            yield from self.described(output)
            yield from self.expression(output.value, self.view)
            yield from self.loops(output.value, direct=True, inner=False)
            yield from self.fits(output.value, self.view, output.type, f"output {output.name}")
        yield from self.unused()

    def found(self, at: Declaration | Expression, text: str) -> Finding:
        return Finding(self.template.path, at.line, text)

    # -- Declarations

    def parameter(self, parameter: Parameter) -> Iterator[Finding]:
        yield from self.decorators(parameter)
        yield from self.described(parameter)
        if kind_of_type(parameter.type) is None:
            yield self.found(parameter, f"{parameter.name} has the unknown type {parameter.type}")
        default = parameter.default
        if default is not None:
            yield from self.expression(default, self.view)
            yield from self.fits(default, self.view, parameter.type, f"default of {parameter.name}")
            yield from self.admits(parameter, default, self.view)

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
            case _:
                pass
        for child in _children(expression):
            yield from self.expression(child, view)

    def loops(self, value: Expression, *, direct: bool, inner: bool) -> Iterator[Finding]:
        """A loop is the whole of a declaration, or of one property of a resource or module."""
        if isinstance(value, For) and not direct:
            yield self.found(value, "a loop cannot stand here: make a variable of it")
        if isinstance(value, For | If):
            body = value.body
            yield from self.loops(body, direct=isinstance(body, If), inner=inner)
            return
        for child in _children(value):
            inside = isinstance(value, Object) and inner
            if isinstance(child, Property):
                alone = inner and not isinstance(child.value, For)  # loops of properties nest not
                yield from self.loops(child.value, direct=inside, inner=alone)
            else:
                yield from self.loops(child, direct=False, inner=inner)

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

    # -- What must be known when the deployment begins

    def start(self, value: Expression, body: Object) -> Iterator[Finding]:
        """A name, scope, condition or loop cannot hang on what another resource says later."""
        early = [body.get("name"), body.get("scope"), body.get("parent")]
        while value is not body:
            match value:
                case For(items=items, body=value):
                    early.append(items)
                case _:
                    early.append(getattr(value, "condition", None))
                    value = getattr(value, "body", body)
        for expression in early:
            if expression is not None:
                yield from self.known(expression, frozenset())

    def known(self, expression: Expression, within: frozenset[str]) -> Iterator[Finding]:
        for each in walk(expression):
            match each:
                case Member(object=inner, name=member):
                    name = symbol(inner)
                    of_resource = name in self.template.resources and member not in _KNOWN_AT_START
                    of_module = name in self.template.modules and member == "outputs"
                    if of_resource or of_module:
                        yield self.found(
                            each, f"{name}.{member} is not known when the deployment begins"
                        )
                case Name(name=name) if name in self.template.variables and name not in within:
                    yield from self.known(self.template.variables[name].value, within | {name})
                case _:
                    pass

    # -- Modules

    def call(self, module: Module) -> Iterator[Finding]:
        for entry in module.body.properties:
            if isinstance(entry.key, Text) and entry.key.value not in _GIVEN_TO_MODULE:
                yield self.found(entry, f"a module takes no {entry.key.value}")
        target = self.folder.called(module)
        if target is None:
            yield self.found(module, f"there is no file {module.path}")
            return
        if target.scope != self.template.scope and module.body.get("scope") is None:
            yield self.found(
                module, f"{module.path} is for a {target.scope}: the module needs a scope"
            )
        view = self.view.inside(module.loop) if module.loop else self.view
        given = module.params
        for entry in given.properties:
            name = entry.key.value if isinstance(entry.key, Text) else ""
            parameter = target.parameters.get(name)
            if parameter is None:
                yield self.found(entry, f"{module.path} has no parameter {name}")
                continue
            what = f"parameter {name} of {module.path}"
            yield from self.fits(entry.value, view, parameter.type, what)
            yield from self.admits(parameter, entry.value, view)
        for name, parameter in target.parameters.items():
            if parameter.required and given.get(name) is None:
                yield self.found(module, f"parameter {name} of {module.path} is not given")

    def fits(self, value: Expression, view: View, declared: str, what: str) -> Iterator[Finding]:
        wanted = kind_of_type(declared)
        for seen in view.sources(value):
            kind = seen.view.kind(seen.expression)
            nullable = kind == "null" and declared.endswith("?")
            if wanted is not None and kind not in (None, wanted) and not nullable:
                yield self.found(value, f"{what} is of type {declared}, and gets {kind}")

    def admits(self, parameter: Parameter, value: Expression, view: View) -> Iterator[Finding]:
        """Whether what is written out is among a parameter's values, and within its bounds."""
        for seen in view.sources(value):
            why = refusal(parameter, seen.expression)
            if why is not None:
                yield self.found(value, f"{parameter.name} {why}")
            match seen.expression:
                case Name(name=name) if name not in view.loops:
                    passed = self.template.parameters.get(name)
                case _:
                    passed = None
            if passed and parameter.allowed is not None:
                more = set(passed.allowed or ()) - set(parameter.allowed)
                if passed.allowed is None or more:
                    yield self.found(
                        value, f"{parameter.name} admits fewer values than {passed.name}"
                    )


def refusal(parameter: Parameter, value: Expression) -> str | None:
    """Why a value that is written out cannot be a parameter's, or None."""
    match value:
        case Text(value=plain) | Number(value=plain) if plain not in (
            parameter.allowed or (plain,)
        ):
            return f"admits {', '.join(map(str, parameter.allowed or ()))}, not {plain}"
        case Number(value=number):
            return _out_of(parameter, number, "Value", str(number))
        case Text(value=text):
            return _out_of(parameter, len(text), "Length", f"a length of {len(text)}")
        case Array(items=items):
            return _out_of(parameter, len(items), "Length", f"a length of {len(items)}")
        case _:
            return None


def _out_of(parameter: Parameter, number: int, what: str, told: str) -> str | None:
    least, most = parameter.bound(f"min{what}"), parameter.bound(f"max{what}")
    if least is not None and number < least:
        return f"is at least {least}, not {told}"
    if most is not None and number > most:
        return f"is at most {most}, not {told}"
    return None


def _children(expression: Expression) -> Iterator[Expression]:
    """What stands directly in an expression; nested resources are declarations of their own."""
    for name, value in vars(expression).items():
        if name == "resources":
            continue
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Expression):
                yield item


# -- Parameter files


def parameter_file(template: Template, path: str, text: str) -> list[Finding]:
    """What is wrong with a file of parameters: names, types, values, and what it leaves out.

    A value `${NAME=default}` is filled in by azd, which makes of it what the parameter wants.
    """
    given: dict[str, object] = json.loads(text)["parameters"]

    def found(name: str, told: str) -> Finding:
        lines = [n for n, line in enumerate(text.splitlines(), 1) if f'"{name}"' in line]
        return Finding(path, lines[0] if lines else 1, told)

    findings = []
    for name, entry in given.items():
        parameter = template.parameters.get(name)
        if parameter is None:
            findings.append(found(name, f"{template.path} has no parameter {name}"))
        elif not isinstance(entry, dict) or set(entry) != {"value"}:
            findings.append(found(name, f"{name} has no value"))
        else:
            why = _wrong_value(parameter, entry["value"])
            if why is not None:
                findings.append(found(name, f"{name} {why}"))
    findings += [
        found(name, f"{name} of {template.path} is not given")
        for name, parameter in template.parameters.items()
        if parameter.required and name not in given
    ]
    return findings


def _wrong_value(parameter: Parameter, value: object) -> str | None:
    wanted = kind_of_type(parameter.type)
    filled = _FILLED.fullmatch(value) if isinstance(value, str) else None
    if filled is not None:
        if filled["default"] is None:
            return None
        value = filled["default"] if wanted == "string" else json.loads(filled["default"])
    kind = _KINDS.get(type(value))
    if kind != wanted:
        return f"is of type {wanted}, not {kind}"
    match value:
        case bool():
            return None
        case int():
            return refusal(parameter, Number(0, value))
        case str():
            return refusal(parameter, Text(0, value))
        case _:
            return None


_FILLED = re.compile(r"\$\{\w+(=(?P<default>[^{}]*))?\}")
_KINDS: dict[type, str] = {
    str: "string",
    bool: "bool",
    int: "int",
    list: "array",
    dict: "object",
}
