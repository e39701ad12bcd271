"""From the bytes of mirroring.json to what it says for each table, or to where it is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any, TypeVar

from pydantic import ValidationError

from openmirror.mirroring.choice import TableChoice
from openmirror.mirroring.document import (
    MirroringDocument,
    Switches,
    TableSwitches,
    TypeProperties,
    table_of,
)
from openmirror.mirroring.mistakes import in_words, too_short
from openmirror.plan.maintenance_steps import MaintenancePolicy
from openmirror.plan.observed import HistoryPolicy, TablePolicy
from openmirror.protocol.json_text import parse_json
from openmirror.protocol.names import TableName
from openmirror.protocol.rules import Broken, Code
from openmirror.topic_address import TopicAddress

_Value = TypeVar("_Value")


@dataclass(frozen=True)
class DeclaredTopic:
    """A topic, or several, whose changes land in a mirror."""

    address: TopicAddress
    every: timedelta
    choice: TableChoice = field(default_factory=TableChoice)
    """Which of its tables land, and under which names."""


@dataclass(frozen=True, kw_only=True)
class Mirroring:
    """What one mirror's settings say."""

    default_schema: str
    policy: TablePolicy
    """What they say of every table."""
    tables: Mapping[TableName, TablePolicy] = field(default_factory=dict)
    """What they say of single ones, by folded name; the mirror's own settings are in it."""
    mounted: frozenset[TableName] | None = None
    """The folded names of the only tables that are mirrored; None where all are."""
    lineage: bool = False
    """Whether those of live databases have columns of their changes' origin."""
    streams: tuple[DeclaredTopic, ...] = ()
    """Streams of databases that land in it."""

    @property
    def keeps_histories(self) -> bool:
        """Whether they ask for the history of any table."""
        policies = (self.policy, *self.tables.values())
        return any(policy.history is HistoryPolicy.SCD2 for policy in policies)

    def policy_of(self, name: TableName) -> TablePolicy:
        """What they say of one table."""
        policy = self.tables.get(name.folded, self.policy)
        is_mounted = self.mounted is None or name.folded in self.mounted
        return policy if is_mounted else replace(policy, mounted=False)


def parse_mirroring(content: bytes) -> Mirroring | Broken:
    """Read mirroring.json, or say where it is wrong and what would be right."""
    try:
        document = MirroringDocument.model_validate(parse_json(content).value)
    except ValidationError as error:
        return Broken(Code.MIRROR_SETTINGS_INVALID, f"mirroring.json: {in_words(error)}")
    except RecursionError:
        return Broken(Code.MIRROR_SETTINGS_INVALID, "mirroring.json is nested too deep")
    except ValueError as error:  # also a number of more digits than Python reads
        return Broken(Code.MIRROR_SETTINGS_INVALID, f"mirroring.json is {error}")
    if mistake := too_short(document):
        return Broken(Code.MIRROR_SETTINGS_INVALID, f"mirroring.json: {mistake}")
    fabric, ours = document.properties.target.type_properties, document.openmirror
    mounted = document.properties.mounted_tables
    return Mirroring(
        default_schema=fabric.default_schema,
        policy=_policy(fabric, ours),
        tables={
            table_of(name): _policy(fabric, ours, table) for name, table in ours.tables.items()
        },
        mounted=None if mounted is None else frozenset(table.name for table in mounted),
        lineage=bool(ours.lineage),
        streams=tuple(DeclaredTopic(one.address, one.trigger, one.choice) for one in ours.streams),
    )


def _policy(
    fabric: TypeProperties, mirror: Switches, table: TableSwitches | None = None
) -> TablePolicy:
    """A table's own settings; where they say nothing the mirror's, else the default."""
    own = table or TableSwitches()
    usual = TablePolicy()
    clustering = _first(own.clustering, mirror.clustering)
    vectors = mirror.deletion_vectors if own.deletion_vectors is None else own.deletion_vectors
    return TablePolicy(
        type_change=_first(own.type_change, mirror.type_change) or usual.type_change,
        insert=_first(own.insert, mirror.insert) or usual.insert,
        delete=_first(own.delete, mirror.delete) or usual.delete,
        deleted_at=_first(own.deleted_at, mirror.deleted_at) or None,
        purge_after=_first(own.purge_after, mirror.purge_after),
        lineage=bool(_first(own.lineage, mirror.lineage)),
        history=_first(own.history, mirror.history) or usual.history,
        zoneless=_first(own.zoneless_timestamps, mirror.zoneless_timestamps) or usual.zoneless,
        binary_text=_first(own.binary_text, mirror.binary_text),
        fractions=_first(own.fractions, mirror.fractions),
        whole_floats=_first(own.whole_floats, mirror.whole_floats) or usual.whole_floats,
        overwritten=_first(own.overwritten_files, mirror.overwritten_files) or usual.overwritten,
        deletion_vectors=vectors,
        change_data_feed=_first(
            own.enable_delta_change_data_feed, fabric.enable_delta_change_data_feed
        ),
        clustering=None if clustering is None else tuple(clustering),
        retention=timedelta(days=own.retention_in_days or fabric.retention_in_days),
        asks_retention=bool(own.retention_in_days)
        or "retention_in_days" in fabric.model_fields_set,
        maintenance=_maintenance(mirror, own),
        drop_grace=_first(own.drop_grace, mirror.drop_grace),
        quiet_period=_first(own.quiet_period, mirror.quiet_period),
    )


def _maintenance(mirror: Switches, own: Switches) -> MaintenancePolicy:
    bounds: dict[str, Any] = {}
    for section in (mirror.maintenance_bounds, own.maintenance_bounds):
        bounds |= section.model_dump(exclude_none=True) if section else {}
    mode = _first(own.maintenance, mirror.maintenance) or MaintenancePolicy().mode
    return MaintenancePolicy(mode=mode, **bounds)


def _first(own: _Value | None, mirror: _Value | None) -> _Value | None:
    return mirror if own is None else own
