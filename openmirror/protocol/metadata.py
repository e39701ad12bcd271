"""`_metadata.json`: what a publisher declares about a table (PROTOCOL §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from openmirror.protocol.json_text import JsonError, JsonValue, parse_json
from openmirror.protocol.misspelt import misspelt
from openmirror.protocol.names import ROW_MARKER_COLUMN, fold_case
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken, Code
from openmirror.protocol.text_format import TextFormat
from openmirror.protocol.text_keys import TEXT_KEYS, parse_text_format


class Detection(StrEnum):
    """How change files are found and ordered."""

    SEQUENTIAL = "SequentialFileName"
    LAST_UPDATE_TIME = "LastUpdateTimeFileDetection"


@dataclass(frozen=True, kw_only=True)
class TableMetadata:
    """One table's declaration; the defaults are those of a folder without the file."""

    key_columns: tuple[str, ...] = ()
    detection: Detection = Detection.SEQUENTIAL
    default_marker: Marker = Marker.INSERT
    partitioned: bool = False
    declares_format: bool = False
    """Whether it says which format files have: by FileFormat, or by a key that text alone has."""
    file_format: str = "Parquet"
    text: TextFormat | None = None
    """How delimited text is written; None for Parquet."""
    version_column: str | None = None
    """The ConditionalUpdateColumn (PROTOCOL §5.6)."""
    unknown: Mapping[str, JsonValue] = field(default_factory=dict)
    repairs: tuple[str, ...] = ()
    misspelt: tuple[str, ...] = ()
    """Keys that mean nothing and are close to one that does, in words."""


_PARQUET = "parquet"


def parse_metadata(content: bytes) -> TableMetadata | Broken:
    """Read `_metadata.json` in any casing, keeping what is not known (PROTOCOL §4.2)."""
    try:
        text = parse_json(content)
    except JsonError as error:
        return Broken(Code.METADATA_INVALID, str(error))
    if not isinstance(text.value, dict):
        return Broken(Code.METADATA_INVALID, "the file must hold one JSON object: {…}")
    given: dict[str, JsonValue] = {}
    for key, value in text.value.items():
        if fold_case(key) in given:
            return Broken(Code.METADATA_INVALID, f"{key} is given twice, in different casing")
        given[fold_case(key)] = value
    keys = _key_columns(given.pop("keycolumns", None))
    if isinstance(keys, Broken):
        return keys
    detection = given.pop("filedetectionstrategy", None) or Detection.SEQUENTIAL
    strategy = next((d for d in Detection if fold_case(d) == fold_case(str(detection))), None)
    if strategy is None:
        allowed = " or ".join(Detection)
        return Broken(
            Code.METADATA_INVALID, f"fileDetectionStrategy is {detection!r}; it must be {allowed}"
        )
    upsert = _flag("isUpsertDefaultRowMarker", given.pop("isupsertdefaultrowmarker", False))
    partitioned = _flag("isPartitionEnabled", given.pop("ispartitionenabled", False))
    if isinstance(upsert, Broken):
        return upsert
    if isinstance(partitioned, Broken):
        return partitioned
    version_column = _version_column(given.pop("conditionalupdatecolumn", None))
    if isinstance(version_column, Broken):
        return version_column
    file_format = given.pop("fileformat", None)
    has_text_keys = any(key in given for key in TEXT_KEYS)
    declares_format = file_format is not None or has_text_keys
    if file_format is None:
        # Without any of these keys the files themselves decide (PROTOCOL §4.3).
        file_format = "CSV" if has_text_keys else "Parquet"
    if not isinstance(file_format, str):
        return Broken(Code.METADATA_INVALID, f"FileFormat must be text, not {file_format!r}")
    is_parquet = fold_case(file_format) == _PARQUET
    described = None if is_parquet else parse_text_format(file_format, given)
    if isinstance(described, Broken):
        return described
    return TableMetadata(
        key_columns=keys,
        detection=strategy,
        default_marker=Marker.UPSERT if upsert else Marker.INSERT,
        partitioned=partitioned,
        declares_format=declares_format,
        file_format="Parquet" if is_parquet else file_format,
        text=described,
        version_column=version_column,
        unknown=given,
        repairs=text.repairs,
        misspelt=misspelt(text.value),
    )


def _key_columns(value: JsonValue) -> tuple[str, ...] | Broken:
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        return Broken(Code.METADATA_INVALID, f"keyColumns must be a list of names, not {value!r}")
    names = tuple(str(name) for name in value if name)  # [""] is how one publisher writes "none"
    if len({fold_case(name) for name in names}) < len(names):
        return Broken(Code.METADATA_INVALID, f"keyColumns names a column twice: {value!r}")
    if any(fold_case(name) == fold_case(ROW_MARKER_COLUMN) for name in names):
        return Broken(Code.METADATA_INVALID, f"{ROW_MARKER_COLUMN} cannot be a key column")
    return names


def _version_column(value: JsonValue) -> str | Broken | None:
    """An empty name is none, as an empty key column is."""
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        detail = f"ConditionalUpdateColumn must be the name of one column, not {value!r}"
        return Broken(Code.METADATA_INVALID, detail)
    if fold_case(value) == fold_case(ROW_MARKER_COLUMN):
        detail = f"{ROW_MARKER_COLUMN} cannot be the ConditionalUpdateColumn"
        return Broken(Code.METADATA_INVALID, detail)
    return value


def _flag(name: str, value: JsonValue) -> bool | Broken:
    """Publishers write true, "true" and null."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str) and fold_case(value) in ("true", "false", ""):
        return fold_case(value) == "true"
    return Broken(Code.METADATA_INVALID, f"{name} must be true or false, not {value!r}")
