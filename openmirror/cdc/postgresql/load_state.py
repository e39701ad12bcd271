"""How far the load of one table has come, as its document in the landing zone says. Pure.

The document lies beside the load's staged parts, so that a load goes on where a process ended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from openmirror.cdc.postgresql.definitions import TableDefinition
from openmirror.cdc.postgresql.fingerprints import Fingerprint
from openmirror.cdc.postgresql.places import LogPlace, Lsn

KeyTexts = tuple[bytes, ...]
"""A row's key as the server writes it: one text a key column, in the order of the key's index."""
_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class RowPart:
    """A staged part that holds the rows of one range of keys, in the order of their keys."""

    file: str
    after: KeyTexts | None
    """The key before the range; None for the first range of a table."""
    through: KeyTexts
    """The last key of the range."""
    rows: int


@dataclass(frozen=True, kw_only=True)
class ChangePart:
    """A staged part that holds changes of the table, in the order of the log."""

    file: str
    begins: LogPlace
    """The place of the first change."""
    through: LogPlace
    """The place of the last change."""
    rows: int
    has_partial: bool = False
    """Whether a change leaves values out, so that the part's markers are text."""
    has_truncate: bool = False


@dataclass(frozen=True, kw_only=True)
class RereadPart:
    """A staged part of rows that were read once more, each with the place it stands for.

    A row replaces every change of its key up to and including that place.
    """

    file: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class LoadState:
    """One load of one table."""

    number: str
    definition: Mapping[str, Any]
    """The definition that every range must find, as `definition_facts` gives it."""
    fingerprint: Fingerprint
    """The table's fingerprint when the load was begun. Its rows count as read under it."""
    first_mark: LogPlace | None = None
    """The place of the first mark. None until every transaction before the mark is visible."""
    high: KeyTexts | None = None
    """The highest key of the first snapshot. None before that, and for a table without rows."""
    storage: int = 0
    """The table's file node at the first snapshot: another number once all rows are rewritten."""
    ranges: tuple[RowPart, ...] = ()
    """Confirmed ranges, in the order of their keys and without gaps."""
    changes: tuple[ChangePart, ...] = ()
    """Staged changes, in the order of the log."""
    changes_through: LogPlace | None = None
    """Every change of the table up to here is staged, or came before the first mark."""
    rereads: tuple[RereadPart, ...] = ()

    @property
    def is_begun(self) -> bool:
        """Whether rows may be read."""
        return self.first_mark is not None

    @property
    def read_through(self) -> KeyTexts | None:
        """The last key of the confirmed ranges; None before the first range."""
        return self.ranges[-1].through if self.ranges else None

    @property
    def has_all_rows(self) -> bool:
        """Whether every row up to the highest key is confirmed."""
        return self.is_begun and self.read_through == self.high

    @property
    def files(self) -> frozenset[str]:
        """The names of all parts."""
        parts: Sequence[RowPart | ChangePart | RereadPart]
        parts = (*self.ranges, *self.changes, *self.rereads)
        return frozenset(part.file for part in parts)

    @property
    def needed_changes(self) -> tuple[ChangePart, ...]:
        """The change parts that hold changes behind the first mark."""
        mark = self.first_mark
        return self.changes if mark is None else tuple(c for c in self.changes if c.through > mark)

    def begun(self, mark: LogPlace, high: KeyTexts | None, storage: int) -> Self:
        """Return the state once the first snapshot was taken: no range is read."""
        begun = replace(self, first_mark=mark, high=high, storage=storage, ranges=(), rereads=())
        return replace(begun, changes=begun.needed_changes)

    def with_ranges(self, *parts: RowPart) -> Self:
        """Return the state with confirmed ranges that follow those before.

        Raises:
            ValueError: A range does not begin where the one before it ends.
        """
        at = self.read_through
        for part in parts:
            if part.after != at:
                raise ValueError(f"a range after {part.after} does not follow {at}")
            at = part.through
        return replace(self, ranges=(*self.ranges, *parts))

    def with_changes(self, through: LogPlace, *parts: ChangePart) -> Self:
        """Return the state once all changes up to `through` are staged."""
        return replace(self, changes=(*self.changes, *parts), changes_through=through)

    def with_rereads(self, *parts: RereadPart) -> Self:
        """Return the state with rows that were read once more."""
        return replace(self, rereads=(*self.rereads, *parts))

    def as_json(self) -> bytes:
        """Return the document's content."""
        document = {
            "version": _VERSION,
            "number": self.number,
            "definition": self.definition,
            "fingerprint": self.fingerprint,
            "firstMark": self.first_mark,
            "high": _key_json(self.high),
            "storage": self.storage,
            "ranges": [_range_json(part) for part in self.ranges],
            "changes": [_change_json(part) for part in self.changes],
            "changesThrough": self.changes_through,
            "rereads": [{"file": part.file, "rows": part.rows} for part in self.rereads],
        }
        # ASCII only: bytes of a key that are no UTF-8 are surrogates, which UTF-8 cannot say.
        return json.dumps(document, indent=2, ensure_ascii=True).encode()

    @classmethod
    def from_json(cls, content: bytes) -> Self:
        """Read a document.

        Raises:
            ValueError: This version does not know the content.
        """
        try:
            return cls._read(json.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(
                f"it is no state of a load that this version reads ({error})"
            ) from None

    @classmethod
    def _read(cls, document: Mapping[str, Any]) -> Self:
        if _whole(document["version"]) != _VERSION:
            raise ValueError(f"version {document['version']!r}")
        definition = document["definition"]
        if not isinstance(definition, dict):
            raise TypeError("definition")
        state = cls(
            number=_text(document["number"]),
            definition=definition,
            fingerprint=Fingerprint(_text(document["fingerprint"])),
            first_mark=_maybe_place(document["firstMark"]),
            high=_key(document["high"]),
            storage=_whole(document["storage"]),
            changes=tuple(map(_change_part, _list(document["changes"]))),
            changes_through=_maybe_place(document["changesThrough"]),
            rereads=tuple(map(_reread_part, _list(document["rereads"]))),
        )
        return state.with_ranges(*map(_row_part, _list(document["ranges"])))


def definition_facts(definition: TableDefinition) -> Mapping[str, Any]:
    """Return what of a table must stay as it is while its rows are read, as JSON has it."""
    return {
        "oid": definition.oid,
        "schema": definition.schema,
        "name": definition.name,
        "keys": list(definition.keys),
        "keyIndex": definition.key_index,
        "columns": [
            [one.number, one.name, one.type, one.modifier, one.is_generated]
            for one in definition.columns
        ],
    }


def _key_json(key: KeyTexts | None) -> list[str] | None:
    return None if key is None else [text.decode("utf-8", "surrogateescape") for text in key]


def _key(texts: Sequence[str] | None) -> KeyTexts | None:
    if texts is None:
        return None
    if not isinstance(texts, list) or not texts:
        raise TypeError(f"key {texts!r}")
    return tuple(_text(text).encode("utf-8", "surrogateescape") for text in texts)


def _range_json(part: RowPart) -> dict[str, object]:
    return {
        "file": part.file,
        "after": _key_json(part.after),
        "through": _key_json(part.through),
        "rows": part.rows,
    }


def _row_part(document: Mapping[str, Any]) -> RowPart:
    through = _key(document["through"])
    if through is None:
        raise TypeError("a range without an end")
    return RowPart(
        file=_text(document["file"]),
        after=_key(document["after"]),
        through=through,
        rows=_whole(document["rows"]),
    )


def _change_json(part: ChangePart) -> dict[str, object]:
    return {
        "file": part.file,
        "begins": part.begins,
        "through": part.through,
        "rows": part.rows,
        "partial": part.has_partial,
        "truncate": part.has_truncate,
    }


def _change_part(document: Mapping[str, Any]) -> ChangePart:
    return ChangePart(
        file=_text(document["file"]),
        begins=_place(document["begins"]),
        through=_place(document["through"]),
        rows=_whole(document["rows"]),
        has_partial=_truth(document["partial"]),
        has_truncate=_truth(document["truncate"]),
    )


def _reread_part(document: Mapping[str, Any]) -> RereadPart:
    return RereadPart(file=_text(document["file"]), rows=_whole(document["rows"]))


def _maybe_place(document: Sequence[int] | None) -> LogPlace | None:
    return None if document is None else _place(document)


def _place(document: Sequence[int]) -> LogPlace:
    commit, number = document
    return LogPlace(Lsn(_whole(commit)), _whole(number))


def _list(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is no whole number from 0")
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{value!r} is neither true nor false")
    return value
