"""Control documents as JSON, read with their ETag and written only under it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from openmirror.errors import DocumentUnreadable, NameRefused, NotThere
from openmirror.ports import ABSENT, Absent, FileStore
from openmirror.protocol.names import ETag, TableFolder, name_refused
from openmirror.table import layout
from openmirror.table.control import VERSION, ControlDocument, MirrorDocument
from openmirror.table.layout import StorePath

Document = TypeVar("Document", ControlDocument, MirrorDocument)


# Building a codec takes as long as a thousand reads, and every observation makes a Documents.
@cache
def _table_codec() -> TypeAdapter[ControlDocument]:
    return TypeAdapter(ControlDocument)


@cache
def _mirror_codec() -> TypeAdapter[MirrorDocument]:
    return TypeAdapter(MirrorDocument)


@dataclass(frozen=True)
class Stored(Generic[Document]):
    """A document, and the condition under which it may be written again."""

    value: Document
    etag: ETag | Absent


class Documents:
    """Reads and writes the control documents of one root."""

    def __init__(self, store: FileStore) -> None:
        self._store = store

    def table(self, folder: TableFolder) -> Stored[ControlDocument]:
        """A table's document; an empty one, with ABSENT as its ETag, where there is none.

        Raises DocumentUnreadable for one that is damaged or from a newer version, NameRefused for
        a folder that can have none.
        """
        if refused := name_refused(folder.path, folder.facet):
            raise NameRefused(refused)
        empty = ControlDocument(folder=str(folder))
        return self._read(layout.control_document(folder), _table_codec(), empty)

    def save_table(
        self, folder: TableFolder, value: ControlDocument, only_if: ETag | Absent
    ) -> Stored[ControlDocument]:
        """Write a table's document; raises ConditionFailed when another writer came first."""
        return self._write(layout.control_document(folder), _table_codec(), value, only_if)

    def mirror(self, mirror: str) -> Stored[MirrorDocument]:
        """A mirror's document, or an empty one."""
        return self._read(layout.mirror_document(mirror), _mirror_codec(), MirrorDocument())

    def save_mirror(
        self, mirror: str, value: MirrorDocument, only_if: ETag | Absent
    ) -> Stored[MirrorDocument]:
        """Write a mirror's document; raises ConditionFailed when another writer came first."""
        return self._write(layout.mirror_document(mirror), _mirror_codec(), value, only_if)

    def _read(
        self, path: StorePath, codec: TypeAdapter[Document], empty: Document
    ) -> Stored[Document]:
        try:
            content = self._store.read(path)
        except NotThere:
            return Stored(empty, ABSENT)
        try:
            _refuse_newer(path, content.data)
            return Stored(codec.validate_json(content.data), content.etag)
        except (ValidationError, ValueError) as error:
            raise DocumentUnreadable(f"{path} cannot be read: {error}") from error

    def _write(
        self,
        path: StorePath,
        codec: TypeAdapter[Document],
        value: Document,
        only_if: ETag | Absent,
    ) -> Stored[Document]:
        data = codec.dump_json(value, indent=1, exclude_none=True)
        return Stored(value, self._store.write(path, data, only_if=only_if))


def _refuse_newer(path: StorePath, data: bytes) -> None:
    document = json.loads(data)
    version = document.get("version") if isinstance(document, dict) else None
    if not isinstance(version, int) or version > VERSION:
        raise DocumentUnreadable(
            f"{path} has version {version!r}; this openmirror reads up to {VERSION}: upgrade it"
        )
