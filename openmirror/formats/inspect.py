"""The Inspector port: Parquet by its footer, delimited text by its header."""

from __future__ import annotations

from openmirror.formats.parquet.inspecting import ParquetInspector
from openmirror.formats.text.inspecting import TextInspector
from openmirror.plan.facts import FileFacts
from openmirror.ports import Entry, FileStore
from openmirror.protocol.text_format import TextFormat
from openmirror.table.layout import StorePath


class ChangeFileInspector:
    """Inspector for change files of any format; safe to share between threads."""

    def __init__(self, store: FileStore) -> None:
        self._parquet = ParquetInspector(store)
        self._text = TextInspector(store)

    def inspect(self, path: StorePath, entry: Entry, text: TextFormat | None = None) -> FileFacts:
        """What this file is; raises ConditionFailed when it keeps changing while it is read."""
        if text is None:
            return self._parquet.inspect(path, entry)
        return self._text.inspect(path, entry, text)
