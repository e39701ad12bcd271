"""Every constant that a user can change: its one default, its meaning and its name.

Each is an environment variable, `OPENMIRROR_` and the field's name in capitals. Options of the
command line win over the environment.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ByteSize,
    ConfigDict,
    Field,
    SecretStr,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import ErrorDetails

from openmirror import durations
from openmirror.errors import CannotStart
from openmirror.plan import Limits
from openmirror.ports.connection import Connection
from openmirror.ports.storage_account import AccountUrl

PREFIX = "OPENMIRROR_"


def _duration(value: object) -> object:
    return durations.parse(value) if isinstance(value, str) else value


def _interval(value: object) -> object:
    duration = _duration(value)
    if isinstance(duration, timedelta) and duration < timedelta(seconds=1):
        raise ValueError("at least 1 s")
    return duration


def _root(value: object) -> object:
    """A URL is an account, anything else a folder."""
    if isinstance(value, str) and "://" in value:
        return AccountUrl.parse(value)
    return value


def _account_key(value: object) -> object:
    if isinstance(value, str):
        try:
            base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("Base64, as storage accounts have keys") from None
    return value


def _mapped(value: object) -> object:
    """Several in one variable, with `;` between them; an option has each by itself."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(";") if part.strip())
    return value


Root = Annotated[Path | AccountUrl, BeforeValidator(_root)]
Mapped = Annotated[tuple[str, ...], BeforeValidator(_mapped)]
AccountKey = Annotated[SecretStr, BeforeValidator(_account_key)]
Duration = Annotated[timedelta, BeforeValidator(_duration)]
Interval = Annotated[timedelta, BeforeValidator(_interval)]


class Settings(BaseModel):
    """What a user can change about one run."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    root: Root | None = Field(
        default=None,
        description="The folder, or the storage account, that holds `landing` and `lake`; --root.",
    )
    account_key: SecretStr | None = Field(
        default=None,
        description="The root account's key, for emulators; without it an identity is used.",
    )
    queues: Connection | None = Field(
        default=None,
        description="Where the queues are: OPENMIRROR_QUEUES__queueServiceUri, for emulators a "
        "connection string.",
    )
    dead_letters: Connection | None = Field(
        default=None,
        description="Where dead letters are kept: OPENMIRROR_DEAD_LETTERS__blobServiceUri, for "
        "emulators a connection string.",
    )
    service_credential: str | None = Field(
        default=None,
        min_length=1,
        description="The service credential of Unity Catalog that a runner on Databricks asks all "
        "of Azure with; without it an identity of its environment is used.",
    )
    job: int | None = Field(
        default=None,
        ge=1,
        description="The Databricks job that is the runner, started when there is work; without it "
        "a runner is always on.",
    )
    restart_delay: Duration = Field(
        default=timedelta(minutes=1),
        description="How long after a run of the job failed another is started.",
    )
    batch_files: int = Field(
        default=Limits.batch_files, ge=1, le=100_000, description="Most files in one commit."
    )
    batch_rows: int = Field(
        default=Limits.batch_rows, ge=1, description="Most rows in one commit of several files."
    )
    batch_bytes: ByteSize = Field(
        default=ByteSize(Limits.batch_bytes),
        ge=1,
        description="Most bytes of change files in one commit of several files, such as 1GiB.",
    )
    metadata_grace: Duration = Field(
        default=Limits.metadata_grace,
        description="How long a new table folder waits for its _metadata.json.",
    )
    incomplete_grace: Duration = Field(
        default=Limits.incomplete_grace,
        description="How long a file may stay incomplete before it is a problem.",
    )
    quiet_period: Duration = Field(
        default=Limits.quiet_period,
        description="How long a text file must have been left alone before it is read.",
    )
    drop_grace: Duration = Field(
        default=Limits.drop_grace,
        description="How long a table folder must be missing before its table is dropped.",
    )
    concurrent_observations: int = Field(
        default=8,
        ge=1,
        le=64,
        description="Tables of a storage account that one pass observes at the same time, and "
        "files of one table that are inspected so.",
    )
    sweep_interval: Interval = Field(
        default=timedelta(seconds=30),
        description="How often `up` observes every table, whatever it has heard of changes.",
    )
    sweep_slowest: Interval = Field(
        default=timedelta(minutes=5),
        le=timedelta(minutes=5),
        description="How long the sweep of a Function App, or the status pass of `up` or a runner, "
        "may leave a table unobserved that has nothing to do; 30s observes every table each time.",
    )
    cleanup_interval: Interval = Field(
        default=timedelta(minutes=10),
        description="How often `up` moves applied files, all but the newest of a folder, to "
        "_ProcessedFiles.",
    )
    status_interval: Interval = Field(
        default=timedelta(seconds=5),
        description="How often `up` writes the status files that publishers read.",
    )
    workers: int = Field(
        default=2, ge=1, le=256, description="Tables that are applied at the same time."
    )
    small_batch: ByteSize = Field(
        default=ByteSize(2 << 20),
        ge=0,
        description="Batches of at most so many bytes in memory are read and folded in the "
        "runner's own process, and Spark gets what is to be committed: 2MiB by default. 0 leaves "
        "all of it to Spark.",
    )
    copy_files: bool = Field(
        default=True,
        description="Whether the files of large batches are copied to $TMPDIR and read from there, "
        "where Spark runs on this machine alone; otherwise it holds their rows.",
    )
    read_ahead: bool = Field(
        default=True,
        description="Whether the next batch of a table with a backlog is read while one is "
        "committed, as long as a worker has nothing else to do.",
    )
    small_table: ByteSize = Field(
        default=ByteSize(16 << 20),
        ge=0,
        description="A table of at most so many bytes, in one or two files or in up to 50 where "
        "its batches are committed directly, is written again whole by a batch that changes rows, "
        "which is quicker than a MERGE: 16MiB by default. 0 always merges.",
    )
    direct_batch: ByteSize = Field(
        default=ByteSize(32 << 20),
        ge=0,
        description="Batches of at most so many bytes in memory, into a table that needs nothing "
        "but a Parquet file, are committed without a job of Spark, for the runner's own process "
        "writes that file: 32MiB by default, and not less than small_batch. So are inserts, "
        "however many, of files of at most so many bytes each. 0 leaves all of it to Spark.",
    )
    conversion_threads: int = Field(
        default=2,
        ge=1,
        le=64,
        description="Files that one table converts at the same time, where Spark cannot read them.",
    )
    runner_idle: Interval = Field(
        default=timedelta(seconds=60),
        description="How long the queue stays empty before a runner that ends when idle ends.",
    )
    runner_poll: Duration = Field(
        default=timedelta(seconds=2),
        description="How long a runner leaves an empty queue alone.",
    )
    runner_sweep: Interval = Field(
        default=timedelta(minutes=5),
        description="How often a runner observes every table itself; it does so at its start too.",
    )
    runner_status: Interval = Field(
        default=timedelta(seconds=30),
        description="How often a runner writes the status files that publishers read.",
    )
    status_repeat: Interval = Field(
        default=timedelta(minutes=15),
        le=timedelta(minutes=30),
        description="How often telemetry repeats what has not changed; a table that is silent "
        "for 45 minutes is taken for gone.",
    )
    lease_delay: Interval = Field(
        default=timedelta(seconds=20),
        description="How long a runner leaves a table alone that another one is at work on.",
    )
    most_takes: int = Field(
        default=5,
        ge=1,
        description="How often a message may be taken in vain before it is dead-lettered.",
    )
    catalog: str | None = Field(
        default=None,
        min_length=1,
        description="The catalog that new tables are registered in; by default none.",
    )
    relay: bool = Field(
        default=False,
        description="Whether a runner also lands the streams of databases that mirrors declare in "
        "mirroring.json, which takes --continuous; --relay.",
    )
    client_config: Path | None = Field(
        default=None,
        description="The file that says what brokers of streams ask of a client, a name=value a "
        "line, by librdkafka's names, and where schemas of records in Avro are "
        "(schema.registry.url); --client-config.",
    )
    slot_limit: ByteSize = Field(
        default=ByteSize(10 << 30),
        gt=0,
        description="How much of its log a database may keep for a stream before status and alerts "
        "say so: 10GiB by default. What its replication slot keeps fills the database's disk.",
    )
    serve_host: str = Field(
        default="127.0.0.1",
        min_length=1,
        description="The address that the local endpoint listens on; --host. The default is "
        "reached from this machine only.",
    )
    serve_port: int = Field(
        default=10080,
        ge=0,
        le=65535,
        description="The port of the local endpoint; --port. 0 takes any that is free.",
    )
    page_port: int = Field(
        default=10090,
        ge=0,
        le=65535,
        description="The port of the status page that `up --page` serves to this machine. 0 takes "
        "any that is free.",
    )
    serve_https: bool = Field(
        default=False,
        description="Whether the local endpoint speaks https, with a certificate of its own; "
        "--https.",
    )
    serve_onelake: bool = Field(
        default=False,
        description="Whether the local endpoint stands for OneLake, Entra ID and Fabric as well; "
        "--onelake. On loopback only, over https, by default on port 443.",
    )
    serve_map: Mapped = Field(
        default=(),
        description="What publishers call the mirrors in OneLake: WORKSPACE/ITEM=MIRROR, several "
        "with ; between them; --map.",
    )
    serve_region: str | None = Field(
        default=None,
        pattern=r"^[a-z][a-z0-9-]{0,61}[a-z0-9]$",
        description="The region of Azure whose own host names OneLake and Entra ID have as well, "
        "such as westeurope.",
    )
    serve_token_lifetime: Interval = Field(
        default=timedelta(hours=1),
        le=timedelta(days=1),
        description="How long a token of the local endpoint's Entra ID is taken.",
    )
    serve_account: str = Field(
        default="devstoreaccount1",
        pattern=r"^[a-z0-9]{3,24}$",
        description="The account's name on the local endpoint.",
    )
    serve_key: AccountKey = Field(
        default=SecretStr(
            "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
        ),
        description="The account's key on the local endpoint; by default the public one that "
        "every storage emulator has.",
    )
    serve_events: SecretStr | None = Field(
        default=None,
        description="Connection string of the storage account whose queue `landing-events` the "
        "local endpoint sends its events to; --events-to.",
    )
    serve_envelope: Literal["EventGridSchema", "CloudEventSchemaV1_0"] = Field(
        default="EventGridSchema", description="The form of the local endpoint's events."
    )
    serve_most_bytes: ByteSize = Field(
        default=ByteSize(4000 << 20),
        ge=1,
        description="The largest body of one request to the local endpoint, such as 4000MiB.",
    )
    driver_memory: str = Field(
        default="2g",
        pattern=r"^[1-9]\d*[mg]$",
        description="Memory of the Spark driver, which does all work under a local master.",
    )
    spark_master: str = Field(
        default="local[*]", min_length=1, description="Where Spark runs: local[*] is here."
    )
    cache: Path | None = Field(
        default=None,
        description="Where downloaded jars are kept; by default ~/.cache/openmirror.",
    )
    debug: bool = Field(
        default=False, description="Show tracebacks of errors that end a verb or a runner."
    )

    @classmethod
    def load(cls, env: Mapping[str, str], overrides: Mapping[str, object] | None = None) -> Self:
        """Settings from an environment, and what the command line says over it.

        Raises CannotStart naming the variable or option, its value and what is allowed.
        """
        given: dict[str, object] = {
            name: env[variable(name)]
            for name in cls.model_fields
            if name not in _CONNECTIONS and env.get(variable(name))
        }
        options = {name: value for name, value in (overrides or {}).items() if value is not None}
        connections, wrong = _connections(env)
        try:
            settings = cls.model_validate({**given, **connections, **options})
        except ValidationError as error:
            wrong += _in_words(error, options)
        else:
            if not wrong:
                return settings
        raise CannotStart("\n".join(wrong)) from None

    def root_given(self) -> Path | AccountUrl:
        """The root, which most verbs need; raises CannotStart without one."""
        if self.root is None:
            raise CannotStart(
                f"no root was given: add --root FOLDER, or set {variable('root')} to the folder, "
                "or to the https:// URL of the storage account, that holds `landing` and `lake`"
            )
        return self.root

    def port_to_serve(self) -> int:
        """The port of the local endpoint: as OneLake its publishers know 443 and no other."""
        if self.serve_onelake and "serve_port" not in self.model_fields_set:
            return 443
        return self.serve_port

    def root_folder(self) -> Path:
        """The root where it must be a local folder; raises CannotStart otherwise."""
        root = self.root_given()
        if isinstance(root, AccountUrl):
            raise CannotStart(
                f"this needs a local folder, but the root is the storage account {root}. There the "
                "Function App and the Spark runner do the work: docs/OPERATIONS.md"
            )
        return root


def byte_size(text: str, option: str) -> int:
    """Return the bytes of a size such as 20GB. Raises CannotStart, which names the option."""
    try:
        return TypeAdapter(ByteSize).validate_python(text)
    except ValidationError:
        raise CannotStart(f"{option} is {text!r}, but must be {_ALLOWED['byte_size']}") from None


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.upper()


def refuse_unknown(names: Iterable[str]) -> None:
    """Raise CannotStart for a name of no setting, as `--set` has them.

    What follows two underscores belongs to a connection.
    """
    for name in names:
        field = name.partition("__")[0].lower()
        if field in Settings.model_fields:
            continue
        near = get_close_matches(field.removeprefix(PREFIX.lower()), Settings.model_fields, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise CannotStart(f"--set {name}: there is no such setting{hint} (docs/OPERATIONS.md)")


def limits(settings: Settings) -> Limits:
    """What plans need to know of the settings."""
    return Limits(
        batch_files=settings.batch_files,
        batch_rows=settings.batch_rows,
        batch_bytes=int(settings.batch_bytes),
        metadata_grace=settings.metadata_grace,
        incomplete_grace=settings.incomplete_grace,
        quiet_period=settings.quiet_period,
        drop_grace=settings.drop_grace,
    )


_CONNECTIONS = {"queues": "queueServiceUri", "dead_letters": "blobServiceUri"}
"""Settings that the Functions platform reads too, and what names the service's URL to it."""
_SECRET = frozenset({"account_key", "serve_key", "serve_events"})
_OPTIONS = {
    "serve_host": "--host",
    "serve_port": "--port",
    "serve_https": "--https",
    "serve_events": "--events-to",
    "serve_onelake": "--onelake",
    "serve_map": "--map",
}
"""Options that are not called like their setting."""


def _connections(env: Mapping[str, str]) -> tuple[dict[str, object], list[str]]:
    """The connections of an environment, and in words what is wrong with them."""
    found: dict[str, object] = {}
    wrong = []
    for name, service in _CONNECTIONS.items():
        try:
            found[name] = Connection.read(env, variable(name), service)
        except ValueError as error:
            # Its value may be a secret, so it is not repeated.
            about = Settings.model_fields[name].description
            wrong.append(f"{variable(name)} must be {error}. {about}")
    return {name: value for name, value in found.items() if value is not None}, wrong


_ALLOWED = {
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "bool_parsing": "true or false",
    "byte_size": "a number of bytes, or one with a unit: 5000000, 500MB, 1GiB",
    "byte_size_unit": "a number of bytes, or one with a unit: 5000000, 500MB, 1GiB",
}
_OF_A_PATTERN = {
    "driver_memory": "whole megabytes or gigabytes: 800m, 2g",
    "serve_account": "3 to 24 lower-case letters and digits",
    "serve_region": "the name of a region: lower-case letters, digits and hyphens",
}


def _in_words(error: ValidationError, options: Mapping[str, object]) -> list[str]:
    lines = []
    for item in error.errors():
        field = str(item["loc"][0])
        if field not in Settings.model_fields:
            lines.append(f"there is no setting {field}")
            continue
        option = _OPTIONS.get(field, "--" + field.replace("_", "-"))
        where = option if field in options else variable(field)
        given = (
            "not shown"
            if field in _SECRET
            else json.dumps(item["input"], default=str, ensure_ascii=False)
        )
        about = Settings.model_fields[field].description
        lines.append(f"{where} is {given}, but must be {_allowed(item)}. {about}")
    return lines


def _allowed(item: ErrorDetails) -> str:
    context = item.get("ctx", {})
    for bound, words in (("ge", "at least"), ("le", "at most"), ("gt", "more than")):
        if bound in context:
            return f"{words} {context[bound]}"
    if item["type"] == "string_pattern_mismatch":
        return _OF_A_PATTERN[str(item["loc"][0])]
    return _ALLOWED.get(item["type"], item["msg"].removeprefix("Value error, "))
