"""A Bicep file's text, by the real grammar, as the values of `syntax`."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TypeVar

import tree_sitter
import tree_sitter_bicep

from tests.infra.bicep.expressions import (
    SKIPPED,
    Decorators,
    ExpressionReader,
    NotBicep,
    line,
    named,
    text_of,
)
from tests.infra.bicep.syntax import (
    Module,
    Output,
    Parameter,
    Resource,
    Template,
    Text,
    Variable,
)

_LANGUAGE = tree_sitter.Language(tree_sitter_bicep.language())
_Declared = TypeVar("_Declared", Parameter, Variable, Resource, Module, Output)


@cache
def read(path: str, text: str) -> Template:
    """One file; `path` is only what its findings are listed under."""
    root = tree_sitter.Parser(_LANGUAGE).parse(text.encode()).root_node
    if root.has_error:
        raise NotBicep(f"{path}:{_first_error(root)}: the grammar does not know this")
    reader = _Reader(path)
    for node in root.named_children:
        reader.top(node)
    return reader.template()


def _first_error(node: tree_sitter.Node) -> int:
    if node.is_error or node.is_missing:
        return node.start_point.row + 1
    return min(
        _first_error(child) for child in node.children if child.has_error or child.is_missing
    )


class _Reader(ExpressionReader):
    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.scope = "resourceGroup"
        self.decorators: Decorators = {}
        self.parameters: dict[str, Parameter] = {}
        self.variables: dict[str, Variable] = {}
        self.resources: dict[str, Resource] = {}
        self.modules: dict[str, Module] = {}
        self.outputs: dict[str, Output] = {}

    def template(self) -> Template:
        return Template(
            path=self.path,
            scope=self.scope,
            parameters=self.parameters,
            variables=self.variables,
            resources=self.resources,
            modules=self.modules,
            outputs=self.outputs,
        )

    # -- Declarations

    def top(self, node: tree_sitter.Node) -> None:
        if node.type in SKIPPED:
            return
        if node.type == "decorators":
            self.decorators = self.read_decorators(node)
            return
        declaring: dict[str, Callable[[tree_sitter.Node, Decorators], object]] = {
            "target_scope_assignment": self.target_scope,
            "parameter_declaration": self.parameter,
            "variable_declaration": self.variable,
            "resource_declaration": self.resource,
            "module_declaration": self.module,
            "output_declaration": self.output,
        }
        declare = declaring.get(node.type)
        if declare is None:
            raise self.fail(node, f"{node.type} is not used in these files")
        decorators, self.decorators = self.decorators, {}
        declare(node, decorators)

    def target_scope(self, node: tree_sitter.Node, _: Decorators) -> None:
        scope = self.expression(named(node)[0])
        if not isinstance(scope, Text):
            raise self.fail(node, "targetScope is a text")
        self.scope = scope.value

    def parameter(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        name, kind, *rest = named(node)
        self.parameters[text_of(name)] = self.declared(
            self.parameters,
            Parameter(
                name=text_of(name),
                line=line(node),
                decorators=decorators,
                type=text_of(kind),
                default=self.expression(rest[0]) if rest else None,
            ),
        )

    def variable(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        children = named(node)
        self.variables[text_of(children[0])] = self.declared(
            self.variables,
            Variable(
                name=text_of(children[0]),
                line=line(node),
                decorators=decorators,
                value=self.expression(children[-1]),
            ),
        )

    def output(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        name, kind, value = named(node)
        self.outputs[text_of(name)] = self.declared(
            self.outputs,
            Output(
                name=text_of(name),
                line=line(node),
                decorators=decorators,
                type=text_of(kind),
                value=self.expression(value),
            ),
        )

    def module(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        name, path, value = named(node)
        at = self.expression(path)
        if not isinstance(at, Text):
            raise self.fail(node, "a module's path is a text")
        self.modules[text_of(name)] = self.declared(
            self.modules,
            Module(
                name=text_of(name),
                line=line(node),
                decorators=decorators,
                path=at.value,
                value=self.expression(value),
            ),
        )

    def resource(
        self, node: tree_sitter.Node, decorators: Decorators, nested_in: str | None = None
    ) -> Resource:
        name, kind, value = named(node)
        written = self.expression(kind)
        if not isinstance(written, Text):
            raise self.fail(node, "a resource's type is a text")
        arm_type, _, version = written.value.partition("@")
        # What is nested has a scope of its own, so two may be called the same.
        symbol = f"{nested_in}::{text_of(name)}" if nested_in else text_of(name)
        body = self.expression(value, within=symbol)
        resource = Resource(
            name=symbol,
            line=line(node),
            decorators=decorators,
            type=arm_type,
            version=version or None,
            existing=any(child.type == "existing" for child in node.children),
            value=body,
            nested_in=nested_in,
        )
        self.resources[symbol] = self.declared(self.resources, resource)
        return resource

    def declared(self, kind: dict[str, _Declared], declaration: _Declared) -> _Declared:
        others = (self.parameters, self.variables, self.resources, self.modules)
        places = (kind,) if kind is self.outputs else others
        if any(declaration.name in place for place in places):
            raise NotBicep(f"{self.path}:{declaration.line}: {declaration.name} is declared twice")
        return declaration
