"""What tables are called where they are shown side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from openmirror.protocol.names import TableFolder
from openmirror.status.table_status import TableStatus


def shown_names(tables: Iterable[TableStatus]) -> Mapping[TableFolder, str]:
    """What an operator would type for each of these: `mirror/schema.table`.

    Two folders that map to one table are called by their folders, `mirror/Orders` and
    `mirror/dbo.schema/Orders`: nothing else differs. A mirror that cannot be read has no
    table to name.
    """
    listed = list(tables)
    counts = Counter((table.folder.mirror, table.name) for table in listed)
    return {
        table.folder: _name(table, is_twice=counts[table.folder.mirror, table.name] > 1)
        for table in listed
    }


def _name(table: TableStatus, *, is_twice: bool) -> str:
    if not table.name.table:
        return f"{table.folder.mirror}/"
    return str(table.folder) if is_twice else f"{table.folder.mirror}/{table.name}"
