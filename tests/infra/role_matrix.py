"""Who may do what, where: least privilege as a table, and what of it does not hold.

What each may do is defined by the parts of a path, in Python; what each can do comes from the
assignments and their conditions. Whatever is not allowed there is to be refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product

from openmirror.deployment.rules.sample import MIRROR as SAMPLE
from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE
from openmirror.stores.azure.dead_letters import CONTAINER as DEAD_LETTERS
from openmirror.table.layout import LAKE as LAKE_CONTAINER
from openmirror.table.layout import LANDING as LANDING_CONTAINER
from tests.infra.access import (
    INSIGHTS,
    LAKE,
    RUNTIME,
    Assignment,
    Check,
    Files,
    Messages,
    Operation,
    Scope,
    Verdict,
    verdict,
)

FUNCTIONS, RUNNER, TOPIC = "functions", "runner", "topic"
SALES, SALES2, CRM = "publisher of sales", "publisher of sales2", "publisher of crm"
OPERATOR, READER, STRANGER = "operator", "reader", "stranger"
FURTHER = "further runner"
EVERYBODY = (FUNCTIONS, RUNNER, FURTHER, TOPIC, SALES, SALES2, CRM, OPERATOR, READER, STRANGER)
MIRRORS = {SALES: "sales", SALES2: "sales2", CRM: "crm"}

landing, lake = Files(LAKE, LANDING_CONTAINER), Files(LAKE, LAKE_CONTAINER)
dead_letters = Files(RUNTIME, DEAD_LETTERS)
package, hosts = Files(RUNTIME, "deployments"), Files(RUNTIME, "azure-webjobs-hosts")
CONTAINERS = (landing, lake, dead_letters, package, hosts)
events, work = Messages(EVENTS_QUEUE), Messages(WORK_QUEUE)
poison_events, poison_work = (Messages(queue.name + POISON_SUFFIX) for queue in (events, work))
QUEUES = (events, poison_events, work, poison_work)

RootPorts = list[str]
Where = Callable[[RootPorts], bool]


def anywhere(ports: RootPorts) -> bool:
    del ports
    return True


def nowhere(ports: RootPorts) -> bool:
    del ports
    return False


def below(*above: str) -> Where:
    """Whatever lies in this folder, at any depth; not the folder itself."""
    return lambda ports: len(ports) > len(above) and tuple(ports[: len(above)]) == above


def in_each_mirror(*above: str) -> Where:
    """The same in the folder of any mirror."""
    return lambda ports: below(*above)(ports[1:])


def either(one: Where, other: Where) -> Where:
    """What is in one of them."""
    return lambda ports: one(ports) or other(ports)


@dataclass(frozen=True)
class May:
    """What somebody may do in one container."""

    reads: Where = nowhere
    writes: Where = nowhere


ON_FILES: Mapping[str, Mapping[Files, May]] = {
    FUNCTIONS: {
        landing: May(anywhere, anywhere),
        lake: May(anywhere, either(in_each_mirror("_openmirror"), below("_openmirror"))),
        **dict.fromkeys((dead_letters, package, hosts), May(anywhere, anywhere)),
    },
    **{
        runner: {
            landing: May(anywhere, in_each_mirror("Files", "Monitoring")),
            lake: May(anywhere, anywhere),
        }
        for runner in (RUNNER, FURTHER)
    },
    TOPIC: {dead_letters: May(anywhere, anywhere)},
    **{
        publisher: {landing: May(below(mirror), below(mirror, "Files", "LandingZone"))}
        for publisher, mirror in MIRRORS.items()
    },
    OPERATOR: {
        landing: May(anywhere, below(SAMPLE, "Files", "LandingZone")),
        lake: May(anywhere),
        dead_letters: May(anywhere),
    },
    READER: {lake: May(anywhere)},
}
ON_QUEUES: Mapping[str, Mapping[Messages, frozenset[str]]] = {
    FUNCTIONS: dict.fromkeys(QUEUES, frozenset({"send", "take", "peek"})),
    **{
        runner: dict.fromkeys((work, poison_work), frozenset({"send", "take", "peek"}))
        for runner in (RUNNER, FURTHER)
    },
    TOPIC: {events: frozenset({"send"})},
    OPERATOR: dict.fromkeys(QUEUES, frozenset({"peek"})),
}
BEYOND_NEED: Mapping[str, tuple[Files, ...]] = {
    FUNCTIONS: CONTAINERS,
    **dict.fromkeys((RUNNER, FURTHER), (landing, lake)),
    TOPIC: (dead_letters,),
    **dict.fromkeys(MIRRORS, (landing,)),
    OPERATOR: (landing,),
}
"""Containers that these could delete as a whole, since Azure's role Contributor always may and no
condition narrows that. Soft delete of containers is what brings one back."""

_IN_LANDING = (
    "Files/LandingZone/T/00000000000000000001.parquet",
    "Files/LandingZone/T/_ProcessedFiles/00000000000000000001.parquet",
    "Files/LandingZone/s.schema/T/_metadata.json",
    "Files/LandingZone/T/Files/Monitoring/x",
    "Files/LandingZone2/x",
    "Files/Monitoring/tables.json",
    "else",
)
_IN_LAKE = (
    "Tables/s/t/_delta_log/00000000000000000000.json",
    "Tables/s/t/part.parquet",
    "Tables/s/t",
    "Tables/s/t/_openmirror/x",
    "Tables/_openmirror/t/x",
    "_openmirror/folders/s.schema/T.json",
    "_openmirror/dropped/s/t/1",
    "_openmirror/dropped/Tables/t/1",
    "_openmirrors/x",
    "mirroring.json",
)
_AT_ROOT = ("_openmirror/sweep.json", "_openmirrors/x", "x/sweep.json")
"""In the lake, in no mirror's folder."""
_NAMES = ("sales", "sales2", "crm", "Sales", SAMPLE)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    who: str
    operation: Operation
    is_allowed: bool

    def __str__(self) -> str:
        return f"{self.who}: {self.operation.what}: {'allowed' if self.is_allowed else 'refused'}"


def wrong(
    assignments: Iterable[Assignment], principals: Iterable[str] = EVERYBODY
) -> Iterator[str]:
    """Every line of the table that does not hold, with what comes of it instead."""
    given = tuple(assignments)
    for row in table(principals):
        came = verdict(given, row.who, row.operation)
        if came is not (Verdict.ALLOWED if row.is_allowed else Verdict.REFUSED):
            yield f"{row}, but it is {came}"


def table(principals: Iterable[str] = EVERYBODY) -> Iterator[Row]:
    """The table, or the part of it that is about some of them."""
    for who in principals:
        yield from _about(who)


@cache
def _about(who: str) -> tuple[Row, ...]:
    """The lines about one of them, made once: each planted mistake is held to the same."""
    return (
        *(
            row
            for files in CONTAINERS
            for row in _files(who, files, ON_FILES.get(who, {}).get(files, May()))
        ),
        *(
            row
            for queue in QUEUES
            for row in _queue(who, queue, ON_QUEUES.get(who, {}).get(queue, frozenset()))
        ),
        *(Row(who, operation, who in allowed) for operation, allowed in _ELSE.items()),
    )


def _files(who: str, files: Files, may: May) -> Iterator[Row]:
    paths = {landing: _IN_LANDING, lake: _IN_LAKE}.get(files, ("x",))
    every = [f"{mirror}/{path}" for mirror in _NAMES for path in paths]
    at_root = _AT_ROOT if files == lake else ()
    for path in (*every, *at_root):
        ports = path.split("/")
        yield Row(who, files.read(path), may.reads(ports))
        for operation in (files.write(path), files.change(path), files.delete(path)):
            yield Row(who, operation, may.writes(ports))
        folder = path.rpartition("/")[0]
        if "/" in folder:
            yield Row(who, files.list(folder), may.reads(folder.split("/")))
    yield Row(who, files.list(""), may.reads is anywhere)
    own, others = every[: len(paths)], every[len(paths) :: len(paths)]
    for source, path in (*product(own, own), *product(own[:1], others), *product(others, own[:1])):
        allowed = may.writes(source.split("/")) and may.writes(path.split("/"))
        yield Row(who, files.rename(source, path), allowed)
    owns = who == FUNCTIONS and files.account == RUNTIME
    yield Row(who, files.set_access(every[0]), owns)
    yield Row(who, files.remove(), files in BEYOND_NEED.get(who, ()))


def _queue(who: str, queue: Messages, may: frozenset[str]) -> Iterator[Row]:
    yield Row(who, queue.send(), "send" in may)
    for operation in (queue.take(), queue.renew(), queue.delete(), queue.clear()):
        yield Row(who, operation, "take" in may)
    for operation in (queue.peek(), queue.count()):
        yield Row(who, operation, "peek" in may)


def _one(what: str, scope: Scope, action: str, *, is_data: bool) -> Operation:
    check = Check(scope, action, is_data=is_data)
    return Operation(what, ((check,),), ((check,),))


_STORAGE = "Microsoft.Storage/storageAccounts"
_ELSE: Mapping[Operation, frozenset[str]] = {
    _one(
        "write the host's tables",
        (RUNTIME, "table", "AzureFunctionsDiagnosticEvents202611"),
        f"{_STORAGE}/tableServices/tables/entities/write",
        is_data=True,
    ): frozenset({FUNCTIONS}),
    _one(
        "make the host's containers",
        (RUNTIME, "blob", hosts.name),
        f"{_STORAGE}/blobServices/containers/write",
        is_data=False,
    ): frozenset({FUNCTIONS}),
    _one(
        "send telemetry", (INSIGHTS,), "Microsoft.Insights/Telemetry/Write", is_data=True
    ): frozenset({FUNCTIONS, RUNNER, FURTHER}),
    _one(
        "sign for others on the lake account",
        (LAKE,),
        f"{_STORAGE}/blobServices/generateUserDelegationKey/action",
        is_data=False,
    ): frozenset({RUNNER, FURTHER}),
    _one(
        "list the lake account's containers",
        (LAKE,),
        f"{_STORAGE}/blobServices/containers/read",
        is_data=False,
    ): frozenset(),
}
