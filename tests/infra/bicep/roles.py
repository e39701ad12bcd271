"""Whether the role ids in the text are those of the roles that they are called after."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.infra.bicep.folder import Finding, Folder
from tests.infra.bicep.syntax import Call, Template, Text
from tests.infra.role_definitions import ROLES

_GUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def roles(folder: Folder) -> list[Finding]:
    """Ids of roles that are not in the table, or stand in a variable of another role's name.

    A variable's words stand in the role's name in their order, and in no other role's:
    `queueSender` is Storage Queue Data Message Sender. A parameter that is a role has a default of
    the table.
    """
    return sorted(finding for each in folder.templates.values() for finding in _of(each))


def _of(template: Template) -> Iterator[Finding]:
    named: set[int] = set()
    for variable in template.variables.values():
        match variable.value:
            case Call(
                function="subscriptionResourceId",
                arguments=(Text(value="Microsoft.Authorization/roleDefinitions"), Text() as guid),
            ):
                named.add(id(guid))
                yield from _called(template, variable.name, guid)
            case _:
                pass
    for parameter in template.parameters.values():
        if isinstance(parameter.default, Text) and _GUID.fullmatch(parameter.default.value):
            named.add(id(parameter.default))
            yield from _known(template, parameter.default)
    for expression in template.expressions():
        if not isinstance(expression, Text) or id(expression) in named:
            continue
        if _GUID.fullmatch(expression.value):
            yield Finding(
                template.path,
                expression.line,
                f"{expression.value} stands outside of a variable that is called after a role",
            )


def _known(template: Template, guid: Text) -> Iterator[Finding]:
    if guid.value not in ROLES:
        yield Finding(template.path, guid.line, f"{guid.value} is no role of role_definitions.py")


def _called(template: Template, name: str, guid: Text) -> Iterator[Finding]:
    yield from _known(template, guid)
    role = ROLES.get(guid.value)
    if role is None:
        return
    fitting = [each.name for each in ROLES.values() if _fits(name, each.name)]
    if role.name not in fitting:
        yield Finding(template.path, guid.line, f"{name} is the id of {role.name}")
    elif len(fitting) > 1:
        yield Finding(template.path, guid.line, f"{name} may be {' or '.join(fitting)}")


def _fits(variable: str, role: str) -> bool:
    words = iter(role.lower().split())
    wanted = re.findall(r"[A-Z]?[a-z]+", variable)
    return all(any(word == each.lower() for word in words) for each in wanted)
