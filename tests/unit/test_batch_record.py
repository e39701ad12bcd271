"""The note that a commit carries survives its way through Delta's userMetadata."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmirror.table.log import AppId, BatchRecord, Totals
from openmirror.table.phases import Phase
from openmirror.table.user_metadata import decode, encode

BATCH_RECORD = BatchRecord(
    operation="9b1d",
    folder="sales/dbo.schema/Orders",
    kind="merge",
    first=7,
    last=9,
    files=3,
    rows={"inserts": 5, "updates": 2, "deletes": 1},
    bytes=4711,
    totals=Totals(operations=88, bytes=123456),
    landed_at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
)

# All that JSON, a path or a decoder may stumble over, without Unicode's whole table of characters.
some_text = st.text(
    'az09 /._-{}[]"\\:,\0\n\r\t\x1f\x7f\u0085ßéÅ\u0301日\u2028\ufeff\uffff😀\U0010ffff'
)
whole = st.integers(min_value=0, max_value=2**63 - 1)
batch_records = st.builds(
    BatchRecord,
    operation=some_text,
    folder=some_text,
    kind=some_text,
    first=whole,
    last=whole,
    files=whole,
    rows=st.dictionaries(some_text, whole, max_size=4),
    bytes=whole,
    totals=st.builds(Totals, operations=whole, bytes=whole),
    landed_at=st.none() | st.datetimes(timezones=st.just(UTC)),
    app_id=some_text.map(AppId),
    started_at=st.none() | st.datetimes(timezones=st.just(UTC)),
    schema_changed=st.booleans(),
    begun_at=st.none() | st.datetimes(timezones=st.just(UTC)),
    phases=st.dictionaries(st.sampled_from(Phase), st.floats(0, 1e6), max_size=6),
)


@settings(max_examples=20, deadline=None)
@given(batch_records)
def test_every_batch_record_comes_back_as_it_was(batch_record: BatchRecord) -> None:
    assert decode(encode(batch_record)) == batch_record


def test_a_batch_record_of_the_version_before_is_read_without_its_epoch() -> None:
    value = json.loads(encode(BATCH_RECORD))
    for later in ("epoch", "startedAt", "schemaChanged", "begunAt", "seconds"):
        del value[later]
    assert decode(json.dumps(value)) == BATCH_RECORD


def test_a_phase_of_a_later_version_is_passed_over() -> None:
    value = json.loads(encode(replace(BATCH_RECORD, phases={Phase.READ: 0.5})))
    value["seconds"]["dream"] = 7
    decoded = decode(json.dumps(value))
    assert decoded is not None
    assert decoded.phases == {Phase.READ: 0.5}


def test_what_a_commit_took_is_left_to_the_time_in_the_log() -> None:
    begun = datetime(2026, 1, 2, 3, 4, 10, tzinfo=UTC)
    known = replace(BATCH_RECORD, begun_at=begun, phases={Phase.LIST: 0.25, Phase.COMMIT: 0.5})
    assert known.all_phases == known.phases
    assert BATCH_RECORD.all_phases == {}
    whole = replace(known, committed_at=begun + timedelta(seconds=3))
    assert whole.all_phases == {Phase.LIST: 0.25, Phase.COMMIT: 2.75}
    early = replace(known, committed_at=begun - timedelta(seconds=3))  # a clock behind ours
    assert early.all_phases == known.phases


def test_the_commit_time_is_left_to_the_log() -> None:
    committed = replace(BATCH_RECORD, committed_at=datetime(2026, 1, 2, tzinfo=UTC))
    assert encode(committed) == encode(BATCH_RECORD)


@pytest.mark.parametrize(
    "landed",
    [
        datetime(2026, 1, 2, 5, 4, 5, tzinfo=timezone(timedelta(hours=2))),  # another zone
        datetime(2026, 1, 2, 3, 4, 5),  # noqa: DTZ001 - no zone means UTC
    ],
)
def test_times_are_written_in_utc(landed: datetime) -> None:
    text = encode(replace(BATCH_RECORD, landed_at=landed))
    assert json.loads(text)["landedAt"] == "2026-01-02T03:04:05+00:00"


def without(key: str) -> str:
    value = json.loads(encode(BATCH_RECORD))
    del value[key]
    return json.dumps(value)


def having(**changes: object) -> str:
    return json.dumps({**json.loads(encode(BATCH_RECORD)), **changes})


@pytest.mark.parametrize(
    "text",
    [
        "",  # no metadata at all
        "nightly load",  # a person's words
        "17",  # JSON, but no object
        "[]",
        "null",
        '{"engine": "other"}',  # a stranger's JSON
        '{"openmirror": 1}',  # our key, and nothing else of ours
        without("first"),
        having(openmirror=2),  # a format that is yet to come
        having(openmirror=True),  # True equals 1 in Python
        having(first="7"),  # a number as text
        having(rows=[1]),
        having(rows={"inserts": 1.5}),
        having(totals=None),
        having(landedAt="yesterday"),
        "[" * 100_000,  # deeper than Python can follow
    ],
)
def test_what_is_not_a_batch_record_of_ours_is_none(text: str) -> None:
    assert decode(text) is None


@given(some_text)
def test_no_text_makes_decode_raise(text: str) -> None:
    decode(text)


@pytest.mark.parametrize("key", ["rows", "bytes", "totals", "landedAt"])
def test_what_a_batch_record_may_lack_has_a_default(key: str) -> None:
    assert decode(without(key)) is not None
