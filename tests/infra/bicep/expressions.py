"""Expressions of the grammar's tree as the values of `syntax`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping

import tree_sitter

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
    Name,
    Nested,
    Null,
    Number,
    Object,
    Property,
    Resource,
    Text,
)

_ESCAPES = {"\\n": "\n", "\\r": "\r", "\\t": "\t", "\\'": "'", "\\\\": "\\", "\\$": "$"}
SKIPPED = frozenset({"comment", "diagnostic_comment", "metadata_declaration"})

Decorators = Mapping[str, tuple[Expression, ...]]


class NotBicep(ValueError):
    """The text is no Bicep, or uses what this reader does not know."""


class ExpressionReader(ABC):
    """Reads what stands in a declaration of one file."""

    def __init__(self, path: str) -> None:
        self.path = path

    @abstractmethod
    def resource(
        self, node: tree_sitter.Node, decorators: Decorators, nested_in: str | None = None
    ) -> Resource:
        """A resource that stands inside of another."""

    def fail(self, node: tree_sitter.Node, why: str) -> NotBicep:
        return NotBicep(f"{self.path}:{node.start_point.row + 1}: {why}")

    def read_decorators(self, node: tree_sitter.Node) -> Decorators:
        found: dict[str, tuple[Expression, ...]] = {}
        for decorator in node.named_children:
            call = self.expression(decorator.named_children[0])
            if not isinstance(call, Call):
                raise self.fail(node, "a decorator is a call")
            found[call.function] = call.arguments
        return found

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
                parts.append(self.expression(named(child)[0]))
            elif child.type == "escape_sequence":
                parts.append(_escape(text_of(child)))
            elif child.type == "string_content":
                parts.append(text_of(child))
        texts: list[str | Expression] = []
        for part in parts:
            if isinstance(part, str) and texts and isinstance(texts[-1], str):
                texts[-1] += part
            else:
                texts.append(part)
        if verbatim and texts and isinstance(texts[0], str):
            texts[0] = texts[0].removeprefix("\n")
        if all(isinstance(part, str) for part in texts):
            return Text(line(node), "".join(str(part) for part in texts))
        return Interpolation(line(node), tuple(part for part in texts if part != ""))

    def object(self, node: tree_sitter.Node, within: str | None) -> Object:
        properties: list[Property] = []
        resources: list[Resource] = []
        decorators: Decorators = {}
        for child in named(node):
            if child.type == "decorators":
                decorators = self.read_decorators(child)
                continue
            parts = named(child)
            if parts[0].type == "resource_declaration":
                resources.append(self.resource(parts[0], decorators, within))
                decorators = {}
                continue
            key, value = parts
            if key.type == "identifier":
                written: Text | Interpolation = Text(line(key), text_of(key))
            else:
                written = self.string(key)
            properties.append(Property(line(child), written, self.expression(value)))
        return Object(line(node), tuple(properties), tuple(resources))

    def array(self, node: tree_sitter.Node) -> Array:
        return Array(line(node), tuple(self.expression(child) for child in named(node)))

    def loop(self, node: tree_sitter.Node, within: str | None) -> For:
        children = named(node)
        body = self.expression(children[-1], within)
        items = self.expression(children[-2])
        if children[0].type == "for_loop_parameters":
            item, index = (text_of(each) for each in named(children[0]))
            return For(line(node), item, index, items, body)
        return For(line(node), text_of(children[0]), None, items, body)

    def condition(self, node: tree_sitter.Node, within: str | None) -> If:
        condition, body = named(node)
        return If(line(node), self.expression(condition), self.expression(body, within))

    def call(self, node: tree_sitter.Node) -> Expression:
        function = self.field(node, "function")
        if function.type != "identifier":
            return self.operators(node)
        return Call(line(node), text_of(function), self.arguments(node))

    def arguments(self, node: tree_sitter.Node) -> tuple[Expression, ...]:
        return tuple(self.expression(each) for each in named(self.field(node, "arguments")))

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
                sign = Operator(text_of(self.field(node, "operator")))
                right = self.row(self.field(node, "right"))
                return [*self.row(self.field(node, "left")), sign, *right]
            case "unary_expression":
                prefix = Prefix(text_of(self.field(node, "operator")))
                return [prefix, *self.row(self.field(node, "argument"))]
            case "lambda_expression":
                *names, body = named(node)
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
                return Member(line(node), value, text_of(self.field(node, "property")), optional)
            case "subscript_expression":
                return Index(line(node), value, self.expression(self.field(node, "index")))
            case _:
                return Nested(line(node), value, text_of(self.field(node, "resource")))

    def called(self, node: tree_sitter.Node, callee: Item) -> Call:
        match callee:
            case Member(object=Name(name="sys" | "az"), name=name):
                return Call(line(node), name, self.arguments(node))
            case Member(object=target, name=name):
                return Call(line(node), name, self.arguments(node), target)
            case _:
                raise self.fail(node, "only a function can be called")

    def parenthesized(self, node: tree_sitter.Node) -> Expression:
        return self.expression(named(node)[0])


def _lambda_names(nodes: list[tree_sitter.Node]) -> tuple[str, ...]:
    return tuple(word.strip() for node in nodes for word in text_of(node).strip("()").split(","))


def named(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    return [child for child in node.named_children if child.type not in SKIPPED]


def text_of(node: tree_sitter.Node) -> str:
    if node.text is None:
        raise ValueError(f"{node.type} has no text")
    return node.text.decode()


def _between(node: tree_sitter.Node, start: int, end: int) -> str:
    whole = node.text or b""
    return whole[start - node.start_byte : end - node.start_byte].decode().replace("\\$", "$")


def line(node: tree_sitter.Node) -> int:
    return node.start_point.row + 1


def _escape(written: str) -> str:
    if written.startswith("\\u{"):
        return chr(int(written[3:-1], 16))
    return _ESCAPES[written]


_EXPRESSIONS: dict[str, Callable[..., Expression]] = {
    "string": ExpressionReader.string,
    "number": lambda _, node: Number(line(node), int(text_of(node))),
    "boolean": lambda _, node: Boolean(line(node), text_of(node) == "true"),
    "null": lambda _, node: Null(line(node)),
    "identifier": lambda _, node: Name(line(node), text_of(node)),
    "object": ExpressionReader.object,
    "array": ExpressionReader.array,
    "for_statement": ExpressionReader.loop,
    "if_statement": ExpressionReader.condition,
    "call_expression": ExpressionReader.call,
    "member_expression": ExpressionReader.operators,
    "subscript_expression": ExpressionReader.operators,
    "resource_expression": ExpressionReader.operators,
    "unary_expression": ExpressionReader.operators,
    "binary_expression": ExpressionReader.operators,
    "ternary_expression": ExpressionReader.operators,
    "parenthesized_expression": ExpressionReader.parenthesized,
    "lambda_expression": ExpressionReader.operators,
}
