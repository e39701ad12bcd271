"""Which columns may lose what is finer than a microsecond, and whether one has (PROTOCOL §6.5)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from openmirror.plan.observed import TablePolicy
from openmirror.plan.read_rules import Fractions
from openmirror.protocol.metadata import TableMetadata
from openmirror.protocol.names import fold_case


@dataclass
class Losing:
    """Of one table; `has_lost` is set by whatever loses something."""

    policy: TablePolicy
    rules: TableMetadata
    has_lost: bool = False

    def lose(self, column: str, what: object) -> None:
        """Something is lost of a value; raises ValueError where it may not be."""
        matched = {fold_case(name) for name in self.rules.key_columns}
        matched.add(fold_case(self.rules.version_column or ""))
        if self.policy.fractions is Fractions.REFUSE or fold_case(column) in matched:
            raise ValueError(what)
        self.has_lost = True

    def text(self, column: str, value: str) -> str:
        """A time in text, with six digits of a fraction at most."""
        if re.search(r"\.\d{6}\d*[1-9]", value):
            self.lose(column, value)
        return re.sub(r"(\.\d{6})\d+", r"\1", value)

    def value(self, column: str, value: Any) -> Any:
        """A moment as pyarrow has it, without its nanoseconds."""
        if getattr(value, "nanosecond", 0):
            self.lose(column, value)
            return value.floor("us")
        return value

    def times(self, table: pa.Table) -> pa.Table:
        """Columns of times of day in microseconds: Python has nothing finer."""
        for number, field in enumerate(table.schema):
            if pa.types.is_time64(field.type):
                column = table.column(number)
                whole = column.cast(pa.time64("us"), safe=False)
                if whole.cast(pa.time64("ns")) != column.cast(pa.time64("ns")):
                    self.lose(field.name, column)
                table = table.set_column(number, field.name, whole)
        return table
