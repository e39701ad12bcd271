"""`_metadata.json`, written once and merged with what is there (PROTOCOL §4)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from openmirror.errors import NotThere, PublishRefused
from openmirror.ports import FileStore
from openmirror.protocol.json_text import JsonValue, parse_json, rewritten
from openmirror.protocol.metadata import Detection, TableMetadata, parse_metadata
from openmirror.protocol.names import (
    METADATA_FILE,
    fold_case,
    is_reserved,
    is_unicode,
)
from openmirror.protocol.rules import Broken, Code
from openmirror.publishing.documents import bring_to
from openmirror.table.layout import StorePath, join

_ANEW = "Publish the table anew: drop it, and begin with `recreate=True` and its initial load."


def usable_keys(keys: Sequence[str] | None) -> tuple[str, ...] | None:
    """Key columns as a document may declare them; None for those that it has.

    Raises PublishRefused for what no document may, before anything is written or deleted.
    """
    if keys is None:
        return None
    wrong = None
    if isinstance(keys, str) or not all(is_unicode(str(k)) for k in keys):
        wrong = f"{keys!r} is no list of column names"
    # Empty ones are passed over, as in the document itself (PROTOCOL §4.2).
    given = () if wrong else tuple(key for key in keys if key != "")
    read = parse_metadata(_encoded({"keyColumns": list(given)})) if wrong is None else None
    if isinstance(read, Broken):
        wrong = read.detail
    if wrong is not None:
        remedy = "Name each key column once, in a list: key=['id']."
        raise PublishRefused(Broken(Code.METADATA_INVALID, f"key: {wrong}", remedy), "4.2")
    return given


def declared(store: FileStore, folder: StorePath, keys: Sequence[str] | None) -> TableMetadata:
    """Make sure that the table's `_metadata.json` declares these keys, and answer all it says.

    Makes the folder, by the file in it, where there is none. A file that is there is never
    written over, but for keys that it lacks; what else it says is kept. `keys` of None are those
    that it has. Raises PublishRefused for what it does not allow, and what `bring_to` raises.
    """
    keys = usable_keys(keys)
    metadata = TableMetadata()

    def wanted(there: bytes) -> bytes | None:
        nonlocal metadata
        if not there.strip():
            _need_no_other_format(store, folder)
            return _encoded({"keyColumns": list(keys or ()), "FileFormat": "Parquet"})
        read = parse_metadata(there)
        if isinstance(read, Broken):
            raise PublishRefused(read, "4.1")
        _need_ours(read)
        metadata = read
        return _with_keys(there, read, keys)

    bring_to(store, join(folder, METADATA_FILE), wanted)
    return metadata


def _encoded(document: dict[str, object]) -> bytes:
    return json.dumps(document, indent=2, ensure_ascii=False).encode()


def _need_no_other_format(store: FileStore, folder: StorePath) -> None:
    """Refuse a folder of text that nobody declared: as Parquet it would never be read (§4.3)."""
    try:
        names = [entry.name for entry in store.list_folder(folder).entries]
    except NotThere:
        return
    text = next((n for n in names if not is_reserved(n) and fold_case(n).endswith(".csv")), None)
    if text is not None:
        detail = f"{text} lies in the folder: the table has delimited text, and no {METADATA_FILE}"
        raise PublishRefused(Broken(Code.FILE_FORMAT_UNDECLARED, detail, _ANEW), "4.3")


def _need_ours(metadata: TableMetadata) -> None:
    """Refuse tables whose files this library does not write."""
    why = None
    if metadata.text is not None:
        why = "declares delimited text", "4.6"
    elif metadata.detection is not Detection.SEQUENTIAL:
        why = "has files found by their time", "3.1"
    elif metadata.partitioned:
        why = "has partition folders", "3.2"
    if why is not None:
        detail = f"{METADATA_FILE} {why[0]}, and numbered Parquet files are what is published here"
        raise PublishRefused(Broken(Code.PINNED_OPTION_CHANGED, detail, _ANEW), why[1])


def _with_keys(content: bytes, metadata: TableMetadata, keys: Sequence[str] | None) -> bytes | None:
    """The document with the keys that it lacks; None when it is right as it is (§4.4)."""
    if keys is None:
        return None
    wanted = {fold_case(key) for key in keys}
    there = {fold_case(key) for key in metadata.key_columns}
    if wanted == there:
        return None
    if there:
        detail = f"keyColumns are {list(metadata.key_columns)} and cannot become {list(keys)}"
        raise PublishRefused(Broken(Code.KEY_COLUMNS_CHANGED, detail, _ANEW), "4.4")

    def declare(document: dict[str, JsonValue]) -> dict[str, JsonValue]:
        kept = {name: value for name, value in document.items() if fold_case(name) != "keycolumns"}
        return {"keyColumns": list(keys), **kept}

    return rewritten(parse_json(content), declare)
