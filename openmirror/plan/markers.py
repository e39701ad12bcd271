"""Row markers that a file's own statistics show to be wrong, without reading a row."""

from __future__ import annotations

from openmirror.plan.facts import FileFacts, MarkerSpan
from openmirror.protocol.rows import Marker
from openmirror.protocol.rules import Broken, Code

_MARKERS = frozenset(marker.value for marker in Marker)


def marker_problem(facts: FileFacts, *, has_keys: bool) -> Broken | None:
    """The rule that reading the rows would find broken first (PROTOCOL §5.1).

    None when all may be well, and when only the rows tell which rule is broken first.
    """
    for span in facts.marker_spans:
        wrong = _wrong(span)
        where = f"{_rows(span)} {facts.marker}"
        refused = Broken(
            Code.ROW_MARKER_INVALID,
            f"{where} = {'NULL' if wrong is None else wrong}; allowed are 0, 1, 2 and 4",
        )
        is_wrong = wrong is not None or span.has_null
        if has_keys and is_wrong:
            return refused
        if has_keys or (span.lowest == span.highest == 0 and not span.has_null):
            continue
        if is_wrong and span.lowest == span.highest and (span.lowest == 0 or not span.has_null):
            return refused
        if _are_known(span):
            detail = f"{where} = {span.highest}, but no keyColumns are declared"
            return Broken(Code.KEY_COLUMNS_UNDECLARED, detail)
        return None
    return None


def _wrong(span: MarkerSpan) -> int | None:
    ends = (span.lowest, span.highest)
    return next((end for end in ends if end is not None and end not in _MARKERS), None)


def _are_known(span: MarkerSpan) -> bool:
    """Whether every value is one of the markers: between 2 and 4 there may be a 3."""
    if span.has_null or span.lowest is None or span.highest is None or _wrong(span) is not None:
        return False
    return span.lowest == span.highest or span.highest <= Marker.DELETE


def _rows(span: MarkerSpan) -> str:
    if span.first_row == span.last_row:
        return f"row {span.first_row} has"
    return f"one of rows {span.first_row} to {span.last_row} has"
