"""A Bicep file's text, by the real grammar, as the values of `syntax`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import tree_sitter
import tree_sitter_bicep

from tests.infra.bicep.operators import Arrow, Item, Operator, Prefix, Question, grouped
from tests.infra.bicep.syntax import (
    Array,
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
    Output,
    Parameter,
    Property,
    Resource,
    Template,
    Text,
    Variable,
)

_LANGUAGE = tree_sitter.Language(tree_sitter_bicep.language())
_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\'": "'", "\\\\": "\\", "\\$": "$"}
_SKIPPED = frozenset({"comment", "diagnostic_comment", "metadata_declaration"})

Decorators = dict[str, tuple[Expression, ...]]
_Declared = TypeVar("_Declared", Parameter, Variable, Resource, Module, Output)


class NotBicep(ValueError):
    """The text is no Bicep, or uses what this reader does not know."""


def read(path: str, text: str) -> Template:
    """One file; `path` is only what its findings are told under."""
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


class _Reader:
    def __init__(self, path: str) -> None:
        self.path = path
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

    def fail(self, node: tree_sitter.Node, why: str) -> NotBicep:
        return NotBicep(f"{self.path}:{node.start_point.row + 1}: {why}")

    # -- Declarations

    def top(self, node: tree_sitter.Node) -> None:
        if node.type in _SKIPPED:
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

    def read_decorators(self, node: tree_sitter.Node) -> Decorators:
        found: Decorators = {}
        for decorator in node.named_children:
            call = self.expression(decorator.named_children[0])
            if not isinstance(call, Call):
                raise self.fail(node, "a decorator is a call")
            found[call.function] = call.arguments
        return found

    def target_scope(self, node: tree_sitter.Node, _: Decorators) -> None:
        scope = self.expression(_named(node)[0])
        if not isinstance(scope, Text):
            raise self.fail(node, "targetScope is a text")
        self.scope = scope.value

    def parameter(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        name, kind, *rest = _named(node)
        self.parameters[_text(name)] = self.declared(
            self.parameters,
            Parameter(
                name=_text(name),
                line=_line(node),
                decorators=decorators,
                type=_text(kind),
                default=self.expression(rest[0]) if rest else None,
            ),
        )

    def variable(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        children = _named(node)
        self.variables[_text(children[0])] = self.declared(
            self.variables,
            Variable(
                name=_text(children[0]),
                line=_line(node),
                decorators=decorators,
                value=self.expression(children[-1]),
            ),
        )

    def output(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        name, kind, value = _named(node)
        self.outputs[_text(name)] = self.declared(
            self.outputs,
            Output(
                name=_text(name),
                line=_line(node),
                decorators=decorators,
                type=_text(kind),
                value=self.expression(value),
            ),
        )

    def module(self, node: tree_sitter.Node, decorators: Decorators) -> None:
        name, path, value = _named(node)
        at = self.expression(path)
        if not isinstance(at, Text):
            raise self.fail(node, "a module's path is a text")
        self.modules[_text(name)] = self.declared(
            self.modules,
            Module(
                name=_text(name),
                line=_line(node),
                decorators=decorators,
                path=at.value,
                value=self.expression(value),
            ),
        )

    def resource(
        self, node: tree_sitter.Node, decorators: Decorators, nested_in: str | None = None
    ) -> Resource:
        name, kind, value = _named(node)
        written = self.expression(kind)
        if not isinstance(written, Text):
            raise self.fail(node, "a resource's type is a text")
        arm_type, _, version = written.value.partition("@")
        # What is nested has a scope of its own, so two may be called the same.
        symbol = f"{nested_in}::{_text(name)}" if nested_in else _text(name)
        body = self.expression(value, within=symbol)
        resource = Resource(
            name=symbol,
            line=_line(node),
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

    # -- Expressions

    def expression(self, node: tree_sitter.Node, within: str | None = None) -> Expression:
        read = _EXPRESSIONS.get(node.type)
        if read is None:
            raise self.fail(node, f"{node.type} is not used in these files")
        if node.type in ("object", "if_statement", "for_statement"):
            return read(self, node, within)
        return read(self, node)

    def field(self, node: tree_sitter.Node, name: str) -> tree_sitter.Node:
        child = node.child_by_field_name(name)
        if child is None:
            raise self.fail(node, f"{node.type} without its {name}")
        return child

    def string(self, node: tree_sitter.Node) -> Text | Interpolation:
        verbatim = node.children[0].type.startswith("'''")
        parts: list[str | Expression] = []
        # The grammar leaves `\$` out of the tree, so pieces are read from the text between nodes.
        at = node.children[0].end_byte
        for child in node.children[1:]:
            parts.append(_between(node, at, child.start_byte))
            at = child.end_byte
            if child.type == "interpolation":
                parts.append(self.expression(_named(child)[0]))
            elif child.type == "escape_sequence":
                parts.append(_escape(_text(child)))
            elif child.type == "string_content":
                parts.append(_text(child))
        texts: list[str | Expression] = []
        for part in parts:
            if isinstance(part, str) and texts and isinstance(texts[-1], str):
                texts[-1] += part
            else:
                texts.append(part)
        if verbatim and texts and isinstance(texts[0], str):
            texts[0] = texts[0].removeprefix("\n")
        if all(isinstance(part, str) for part in texts):
            return Text(_line(node), "".join(str(part) for part in texts))
        return Interpolation(_line(node), tuple(part for part in texts if part != ""))

    def object(self, node: tree_sitter.Node, within: str | None) -> Object:
        properties: list[Property] = []
        resources: list[Resource] = []
        decorators: Decorators = {}
        for child in _named(node):
            if child.type == "decorators":
                decorators = self.read_decorators(child)
                continue
            parts = _named(child)
            if parts[0].type == "resource_declaration":
                resources.append(self.resource(parts[0], decorators, within))
                decorators = {}
                continue
            key, value = parts
            if key.type == "identifier":
                written: Text | Interpolation = Text(_line(key), _text(key))
            else:
                written = self.string(key)
            properties.append(Property(_line(child), written, self.expression(value)))
        return Object(_line(node), tuple(properties), tuple(resources))

    def array(self, node: tree_sitter.Node) -> Array:
        return Array(_line(node), tuple(self.expression(child) for child in _named(node)))

    def loop(self, node: tree_sitter.Node, within: str | None) -> For:
        children = _named(node)
        body = self.expression(children[-1], within)
        items = self.expression(children[-2])
        if children[0].type == "for_loop_parameters":
            item, index = (_text(each) for each in _named(children[0]))
            return For(_line(node), item, index, items, body)
        return For(_line(node), _text(children[0]), None, items, body)

    def condition(self, node: tree_sitter.Node, within: str | None) -> If:
        condition, body = _named(node)
        return If(_line(node), self.expression(condition), self.expression(body, within))

    def call(self, node: tree_sitter.Node) -> Expression:
        function = self.field(node, "function")
        if function.type != "identifier":
            return self.operators(node)
        return Call(_line(node), _text(function), self.arguments(node))

    def arguments(self, node: tree_sitter.Node) -> tuple[Expression, ...]:
        return tuple(self.expression(each) for each in _named(self.field(node, "arguments")))

    def operators(self, node: tree_sitter.Node) -> Expression:
        return grouped(self.row(node))

    def row(self, node: tree_sitter.Node) -> list[Item]:
        """Operands and operators in their order in the text.

        The grammar reads `a ? b : c.d` as `(a ? b : c).d`, and so with `&&`, `!` and `=>`; to Bicep
        `.d` belongs to the last operand before it. So its groups are taken apart here, and made
        anew by precedence; parentheses are a node of their own and stay.
        """
        match node.type:
            case "ternary_expression":
                yes = Question(self.expression(self.field(node, "consequence")))
                condition = self.row(self.field(node, "condition"))
                return [*condition, yes, *self.row(self.field(node, "alternative"))]
            case "binary_expression":
                sign = Operator(_text(self.field(node, "operator")))
                right = self.row(self.field(node, "right"))
                return [*self.row(self.field(node, "left")), sign, *right]
            case "unary_expression":
                prefix = Prefix(_text(self.field(node, "operator")))
                return [prefix, *self.row(self.field(node, "argument"))]
            case "lambda_expression":
                *names, body = _named(node)
                return [Arrow(_lambda_names(names)), *self.row(body)]
            case "member_expression" | "subscript_expression" | "resource_expression":
                *before, last = self.row(self.field(node, "object"))
                return [*before, self.after(node, last)]
            case "call_expression" if self.field(node, "function").type != "identifier":
                *before, last = self.row(self.field(node, "function"))
                return [*before, self.called(node, last)]
            case _:
                return [self.expression(node)]

    def after(self, node: tree_sitter.Node, value: Item) -> Expression:
        if not isinstance(value, Expression):
            raise self.fail(node, "an operand is wanted")
        match node.type:
            case "member_expression":
                optional = any(child.type in (".?", "?") for child in node.children)
                return Member(_line(node), value, _text(self.field(node, "property")), optional)
            case "subscript_expression":
                return Index(_line(node), value, self.expression(self.field(node, "index")))
            case _:
                return Nested(_line(node), value, _text(self.field(node, "resource")))

    def called(self, node: tree_sitter.Node, callee: Item) -> Call:
        match callee:
            case Member(object=Name(name="sys" | "az"), name=name):
                return Call(_line(node), name, self.arguments(node))
            case Member(object=target, name=name):
                return Call(_line(node), name, self.arguments(node), target)
            case _:
                raise self.fail(node, "only a function can be called")

    def parenthesized(self, node: tree_sitter.Node) -> Expression:
        return self.expression(_named(node)[0])


def _lambda_names(nodes: list[tree_sitter.Node]) -> tuple[str, ...]:
    return tuple(word.strip() for node in nodes for word in _text(node).strip("()").split(","))


def _named(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    return [child for child in node.named_children if child.type not in _SKIPPED]


def _text(node: tree_sitter.Node) -> str:
    if node.text is None:
        raise ValueError(f"{node.type} has no text")
    return node.text.decode()


def _between(node: tree_sitter.Node, start: int, end: int) -> str:
    whole = node.text or b""
    return whole[start - node.start_byte : end - node.start_byte].decode().replace("\\$", "$")


def _line(node: tree_sitter.Node) -> int:
    return node.start_point.row + 1


def _escape(written: str) -> str:
    if written.startswith("\\u{"):
        return chr(int(written[3:-1], 16))
    return _ESCAPES[written]


_EXPRESSIONS: dict[str, Callable[..., Expression]] = {
    "string": _Reader.string,
    "number": lambda _, node: Number(_line(node), int(_text(node))),
    "boolean": lambda _, node: Boolean(_line(node), _text(node) == "true"),
    "null": lambda _, node: Null(_line(node)),
    "identifier": lambda _, node: Name(_line(node), _text(node)),
    "object": _Reader.object,
    "array": _Reader.array,
    "for_statement": _Reader.loop,
    "if_statement": _Reader.condition,
    "call_expression": _Reader.call,
    "member_expression": _Reader.operators,
    "subscript_expression": _Reader.operators,
    "resource_expression": _Reader.operators,
    "unary_expression": _Reader.operators,
    "binary_expression": _Reader.operators,
    "ternary_expression": _Reader.operators,
    "parenthesized_expression": _Reader.parenthesized,
    "lambda_expression": _Reader.operators,
}
