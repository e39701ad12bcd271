"""The resources that would stand after a deployment, by evaluating its templates.

Names, ids and everything that parameters decide are worked out. What Azure says only once a
resource stands is a `Later`; the endpoints of storage follow from the name and are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.infra.bicep.bounds import refusal
from tests.infra.bicep.deployed import (
    GROUP,
    MODULE,
    STORAGE,
    SUBSCRIPTION,
    Deployed,
    Deployment,
)
from tests.infra.bicep.evaluation import BINARY, PURE, Later, loaded, resource_id, text
from tests.infra.bicep.folder import Folder
from tests.infra.bicep.syntax import (
    Array,
    Binary,
    Boolean,
    Call,
    Expression,
    For,
    If,
    Index,
    Interpolation,
    Member,
    Module,
    Name,
    Nested,
    Null,
    Number,
    Object,
    Resource,
    Template,
    Ternary,
    Text,
    Unary,
)
from tests.infra.bicep.typecheck import full_type

_STORAGE_SERVICES = ("blob", "dfs", "file", "queue", "table", "web")


STACKS = ("data.bicep", "main.bicep")
"""The templates that a deployment in a resource group consists of, in the order of deploying."""


class Unevaluable(ValueError):
    """A deployment that Azure would refuse, with the file and line."""


def expand(
    folder: Folder,
    parameters: Mapping[str, Any] | None = None,
    *,
    template: str | None = None,
    group: str = GROUP,
) -> Deployment:
    """What a deployment with these parameters makes. `group` is the scope that it is given.

    Without a `template` it is the whole of openmirror, each of its templates with those parameters
    that it takes.
    """
    made: list[Deployed] = []
    outputs: dict[str, Any] = {}
    for run in _runs(folder, dict(parameters or {}), template, group, made):
        run.all()
        outputs |= {name: run.output(name) for name in run.template.outputs}
    return Deployment(
        resources=tuple(each for each in made if not each.existing and each.made),
        existing=tuple(each for each in made if each.existing),
        outputs=outputs,
    )


def _runs(
    folder: Folder,
    parameters: dict[str, Any],
    template: str | None,
    group: str,
    made: list[Deployed],
) -> Iterator[_Run]:
    if template is not None:
        alone = folder.templates[template]
        scope = group if alone.scope == "resourceGroup" else SUBSCRIPTION
        yield _Run(folder, alone, parameters, scope, made, "")
        return
    templates = [folder.templates[name] for name in STACKS]
    for name in parameters:
        if not any(name in each.parameters for each in templates):
            raise Unevaluable(f"{STACKS[-1]}:1: there is no parameter {name}")
    for each in templates:
        taken = {name: value for name, value in parameters.items() if name in each.parameters}
        yield _Run(folder, each, taken, group, made, "")


@dataclass
class _Run:
    """One template with its parameters, its names worked out as they are asked for."""

    folder: Folder
    template: Template
    parameters: dict[str, Any]
    scope: str
    made: list[Deployed]
    module: str
    values: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, parameter in self.template.parameters.items():
            if name not in self.parameters and parameter.required:
                raise self.refused(parameter.line, f"{name} is not given")
            if name not in self.parameters:
                continue
            value = self.parameters[name]
            literal = _literal(value)
            why = refusal(parameter, literal) if literal else None
            if why is not None and not isinstance(value, Later):
                raise self.refused(parameter.line, f"{name} {why}")
        for name in self.parameters:
            if name not in self.template.parameters:
                raise self.refused(1, f"there is no parameter {name}")

    def refused(self, line: int, why: str) -> Unevaluable:
        return Unevaluable(f"{self.template.path}:{line}: {why}")

    def all(self) -> None:
        """Makes everything. What exists is looked up only where something made asks for it."""
        for name, resource in self.template.resources.items():
            if not resource.existing:
                self.named(name)
        for name in self.template.modules:
            self.named(name)

    def output(self, name: str) -> Any:
        return self.value(self.template.outputs[name].value, {})

    # -- Names

    def named(self, name: str) -> Any:
        if name not in self.values:
            self.values[name] = self.worked_out(name)
        return self.values[name]

    def worked_out(self, name: str) -> Any:
        t = self.template
        if name in t.parameters:
            default = t.parameters[name].default
            if name in self.parameters or default is None:
                return self.parameters.get(name)
            return self.value(default, {})
        if name in t.variables:
            return self.value(t.variables[name].value, {})
        if name in t.resources:
            return self.each(t.resources[name], self.resource)
        if name not in t.modules:
            raise self.refused(1, f"{name} is not declared")
        return self.each(t.modules[name], self.called)

    def each(self, declaration: Any, make: Any) -> Any:
        if declaration.loop is None:
            return make(declaration, declaration.value, {})
        return [
            make(declaration, declaration.loop.body, local)
            for local in self.rounds(declaration.loop, {})
        ]

    def rounds(self, loop: For, local: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        for index, item in enumerate(self.value(loop.items, local)):
            counted = {loop.index: index} if loop.index else {}
            yield {**local, loop.item: item, **counted}

    # -- Resources

    def resource(self, resource: Resource, value: Expression, local: dict[str, Any]) -> Deployed:
        kind, _ = full_type(self.template, resource)
        made = not isinstance(value, If) or bool(self.value(value.condition, local))
        body = resource.body
        above = self.above(resource, body, local)
        names = [str(self.value(body.get("name") or Null(body.line), local))]
        if above is not None:
            names = [above.name, *names]
            made = made and above.made
        name = "/".join(names)
        scope, about = self.scope, body.get("scope")
        if about is not None and made:
            target = self.value(about, local)
            scope = target.id if isinstance(target, Deployed) else str(target)
        elif above is not None:
            scope = above.scope
        if kind == "Microsoft.Resources/resourceGroups":
            at = f"{SUBSCRIPTION}/resourceGroups/{name}"
        else:
            at = resource_id(scope, kind, *name.split("/"))
        deployed = Deployed(
            type=kind,
            name=name,
            id=at,
            scope=scope,
            body={} if resource.existing or not made else self.object(body, local),
            path=self.template.path,
            line=resource.line,
            symbol=resource.name,
            module=self.module,
            existing=resource.existing,
            made=made,
        )
        self.made.append(deployed)
        return deployed

    def above(self, resource: Resource, body: Object, local: Mapping[str, Any]) -> Deployed | None:
        parent = body.get("parent")
        if parent is not None:
            above = self.value(parent, local)
        elif resource.nested_in is not None:
            above = self.named(resource.nested_in)
        else:
            return None
        if not isinstance(above, Deployed):
            raise self.refused(resource.line, f"the parent of {resource.name} is no resource")
        return above

    # -- Modules

    def called(self, module: Module, value: Expression, local: dict[str, Any]) -> Any:
        target = self.folder.called(module)
        if target is None:
            raise self.refused(module.line, f"there is no file {module.path}")
        if isinstance(value, If) and not self.value(value.condition, local):
            return None
        body = module.body
        name = self.value(body.get("name") or Text(body.line, module.name), local)
        about = body.get("scope")
        scope = self.scope
        if about is not None:
            group = self.value(about, local)
            scope = group.id if isinstance(group, Deployed) else str(group)
        own = self.module or module.name
        self.made.append(
            Deployed(
                type=MODULE,
                name=name,
                id=resource_id(scope, MODULE, name),
                scope=scope,
                body={},
                path=self.template.path,
                line=module.line,
                symbol=module.name,
                module=own,
            )
        )
        run = _Run(self.folder, target, self.object(module.params, local), scope, self.made, own)
        run.all()
        return run

    # -- Expressions

    def object(self, value: Object, local: Mapping[str, Any]) -> dict[str, Any]:
        return {
            str(self.value(entry.key, local)): self.value(entry.value, local)
            for entry in value.properties
            if not isinstance(entry.key, Text)
            or entry.key.value not in ("parent", "scope", "dependsOn")
        }

    def value(self, expression: Expression, local: Mapping[str, Any]) -> Any:
        match expression:
            case Text() | Number() | Boolean():
                return expression.value
            case Null():
                return None
            case Interpolation(parts=parts):
                return "".join(
                    part if isinstance(part, str) else text(self.value(part, local))
                    for part in parts
                )
            case Object():
                return self.object(expression, local)
            case Array(items=items):
                return [self.value(item, local) for item in items]
            case For() as loop:
                return [self.value(loop.body, each) for each in self.rounds(loop, local)]
            case Name(name=name):
                return local[name] if name in local else self.named(name)
            case Nested():
                return self.named(_joined(expression))
            case Member() | Index():
                return self.part_of(expression, local)
            case Ternary(condition=condition, yes=yes, no=no):
                return self.value(yes if self.value(condition, local) else no, local)
            case Unary(operator=sign, operand=operand):
                value = self.value(operand, local)
                return not value if sign == "!" else -value
            case Binary():
                return self.binary(expression, local)
            case Call():
                return self.call(expression, local)
            case _:
                raise self.refused(expression.line, f"{type(expression).__name__} is not evaluated")

    def binary(self, expression: Binary, local: Mapping[str, Any]) -> Any:
        left = self.value(expression.left, local)
        match expression.operator:
            case "&&":
                return bool(left) and bool(self.value(expression.right, local))
            case "||":
                return bool(left) or bool(self.value(expression.right, local))
            case "??":
                return self.value(expression.right, local) if left is None else left
            case sign:
                return BINARY[sign](left, self.value(expression.right, local))

    def part_of(self, expression: Member | Index, local: Mapping[str, Any]) -> Any:
        holder = self.value(expression.object, local)
        key = (
            expression.name
            if isinstance(expression, Member)
            else self.value(expression.index, local)
        )
        match holder:
            case Later():
                return holder.member(key)
            case Deployed():
                return self.asked(expression, holder, str(key))
            case _Run():
                return {name: holder.output(name) for name in holder.template.outputs}
            case None:
                if isinstance(expression, Member) and expression.optional:
                    return None
                raise self.refused(expression.line, f".{key} is asked of what is not made")
            case dict() if key in holder:
                return holder[key]
            case dict() if isinstance(expression, Member) and expression.optional:
                return None
            case list() if isinstance(key, int) and -1 < key < len(holder):
                return holder[key]
            case _:
                raise self.refused(expression.line, f"there is no {key} in {holder!r}")

    def asked(self, expression: Expression, resource: Deployed, key: str) -> Any:
        if key in ("id", "name", "type"):
            whole = {"id": resource.id, "name": resource.name, "type": resource.type}
            return whole[key].rpartition("/")[2] if key == "name" else whole[key]
        if not resource.made:
            raise self.refused(expression.line, f".{key} is asked of {resource.symbol}, not made")
        if resource.type == "Microsoft.Storage/storageAccounts" and key == "properties":
            return {**resource.properties, "primaryEndpoints": _endpoints(resource.name)}
        if key in ("location", "tags", "sku", "kind") and key in resource.body:
            return resource.body[key]
        return Later(f"{resource.id}:{key}")

    def call(self, call: Call, local: Mapping[str, Any]) -> Any:
        if call.target is not None:
            raise self.refused(call.line, f".{call.function}() is not evaluated")
        values = [self.value(argument, local) for argument in call.arguments]
        parts = self.scope.split("/")
        group = parts[4] if len(parts) > 4 else ""
        match call.function, values:
            case "resourceGroup", []:
                return {"id": self.scope, "name": group, "location": "westeurope", "tags": {}}
            case "resourceGroup", [name]:
                return f"{SUBSCRIPTION}/resourceGroups/{name}"
            case "subscription", []:
                return {"id": SUBSCRIPTION, "subscriptionId": parts[2], "tenantId": Later("tenant")}
            case "environment", []:
                return {"name": "AzureCloud", "suffixes": {"storage": STORAGE}}
            case "deployment", []:
                return Later("deployment")
            case "resourceId", [kind, *names]:
                return resource_id(self.scope, kind, *names)
            case "subscriptionResourceId", [kind, *names]:
                return resource_id(SUBSCRIPTION, kind, *names)
            case "extensionResourceId", [scope, kind, *names]:
                return resource_id(scope, kind, *names)
            case "loadTextContent" | "loadJsonContent", [at, *_]:
                return loaded(self.folder.place, call.function, at)
        function = PURE.get(call.function)
        if function is None:
            raise self.refused(call.line, f"{call.function}() is not evaluated")
        try:
            return function(*values)
        except (ValueError, IndexError, TypeError, AttributeError) as wrong:
            raise self.refused(call.line, f"{call.function}(): {wrong}") from wrong


def _endpoints(account: str) -> dict[str, str]:
    return {each: f"https://{account}.{each}.{STORAGE}/" for each in _STORAGE_SERVICES}


def _joined(expression: Expression) -> str:
    if isinstance(expression, Nested):
        return f"{_joined(expression.object)}::{expression.name}"
    return expression.name if isinstance(expression, Name) else ""


def _literal(value: Any) -> Expression | None:
    match value:
        case bool():
            return Boolean(0, value)
        case int():
            return Number(0, value)
        case str():
            return Text(0, value)
        case list():
            return Array(0, tuple(each for each in map(_literal, value) if each is not None))
        case _:
            return None
