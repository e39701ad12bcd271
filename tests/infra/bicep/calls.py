"""Whether modules are called with what they take, and values fit what they are declared as."""

from __future__ import annotations

from collections.abc import Iterator

from tests.infra.bicep.bounds import refusal
from tests.infra.bicep.folder import Finding, Folder
from tests.infra.bicep.syntax import (
    Declaration,
    Expression,
    Module,
    Name,
    Parameter,
    Template,
    Text,
)
from tests.infra.bicep.view import View, kind_of_type

_GIVEN_TO_MODULE = frozenset({"name", "params", "scope", "dependsOn"})


def calls(folder: Folder, template: Template) -> Iterator[Finding]:
    """What does not fit in the module calls, defaults and outputs of one template."""
    check = _Calls(folder, template)
    for module in template.modules.values():
        yield from check.call(module)
    for parameter in template.parameters.values():
        default, what = parameter.default, f"default of {parameter.name}"
        if default is not None:
            yield from check.fits(default, check.view, parameter.type, what)
            yield from check.allows(parameter, default, check.view)
    for output in template.outputs.values():
        yield from check.fits(output.value, check.view, output.type, f"output {output.name}")


class _Calls:
    def __init__(self, folder: Folder, template: Template) -> None:
        self.folder = folder
        self.template = template
        self.view = View(folder, template)

    def found(self, at: Declaration | Expression, text: str) -> Finding:
        return Finding(self.template.path, at.line, text)

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
            yield from self.allows(parameter, entry.value, view)
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

    def allows(self, parameter: Parameter, value: Expression, view: View) -> Iterator[Finding]:
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
                        value, f"{parameter.name} allows fewer values than {passed.name}"
                    )
