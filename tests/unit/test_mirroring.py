"""mirroring.json: what it says of each table, where it is wrong, and the schema that teaches it."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from openmirror.mirroring import Mirroring, parse_mirroring
from openmirror.mirroring.document import MirroringDocument
from openmirror.mirroring.schema import schema_text
from openmirror.plan.maintenance_steps import MaintenanceMode, MaintenancePolicy
from openmirror.plan.observed import (
    DeletePolicy,
    InsertPolicy,
    Limits,
    OverwrittenFiles,
    TablePolicy,
    TypeChange,
    WholeFloats,
    ZonelessTimestamps,
    limits_of,
)
from openmirror.plan.read_rules import BinaryText, Fractions
from openmirror.protocol.names import TableName
from openmirror.protocol.rules import Broken, Code

DOCS = Path(__file__).parents[2] / "docs"
ORDERS = TableName("dbo", "Orders")


def settings_of(document: object) -> Mirroring:
    parsed = parse_mirroring(json.dumps(document).encode())
    assert isinstance(parsed, Mirroring), parsed
    return parsed


def wrong(document: object) -> str:
    data = document if isinstance(document, bytes) else json.dumps(document).encode()
    parsed = parse_mirroring(data)
    assert isinstance(parsed, Broken), parsed
    assert parsed.code is Code.MIRROR_SETTINGS_INVALID
    return parsed.detail


def fabric(**properties: object) -> dict[str, Any]:
    return {"properties": {"target": {"typeProperties": properties}}}


@pytest.mark.parametrize("document", [{}, {"properties": {}, "openmirror": {"tables": {}}}])
def test_what_is_not_set_is_the_default(document: object) -> None:
    settings = settings_of(document)
    assert settings.default_schema == "dbo"
    assert settings.policy_of(ORDERS) == TablePolicy()


def test_every_switch_is_set_for_the_mirror_and_for_a_table_over_it() -> None:
    settings = settings_of(
        {
            **fabric(retentionInDays=3, enableDeltaChangeDataFeed=True, defaultSchema="raw"),
            "openmirror": {
                "insert": "upsert",
                "delete": "soft",
                "deletedAt": "at",
                "purgeAfter": "90d",
                "typeChange": "stop",
                "zonelessTimestamps": "ntz",
                "binaryText": "hex",
                "fractions": "refuse",
                "wholeFloats": "integer",
                "overwrittenFiles": "ignore",
                "deletionVectors": True,
                "clustering": ["id"],
                "dropGrace": "2h",
                "quietPeriod": 30,
                "lineage": True,
                "shortRetention": True,
                "maintenance": "off",
                "maintenanceBounds": {"smallFiles": 3, "deletedRows": 0.5},
                "tables": {
                    "DBO.orders": {
                        "shortRetention": False,
                        "maintenance": "auto",
                        "maintenanceBounds": {
                            "everyCommits": 1,
                            "pressingCommits": 2,
                            "smallFiles": 4,
                            "smallBytes": 1 << 20,
                            "stepBytes": 1 << 21,
                            "stepRows": 8,
                            "stepFiles": 7,
                        },
                        "insert": "as-is",
                        "delete": "hard",
                        "deletedAt": "",
                        "purgeAfter": 3600,
                        "lineage": False,
                        "typeChange": "feature",
                        "zonelessTimestamps": "utc",
                        "binaryText": "base64",
                        "fractions": "truncate",
                        "wholeFloats": "as-is",
                        "overwrittenFiles": "pause",
                        "deletionVectors": False,
                        "clustering": [],
                        "dropGrace": "0",
                        "quietPeriod": 0.5,
                        "enableDeltaChangeDataFeed": False,
                        "retentionInDays": 30,
                    },
                    "dbo.`a.b`": {"quietPeriod": "1m"},
                },
            },
        }
    )
    everywhere = TablePolicy(
        type_change=TypeChange.STOP,
        insert=InsertPolicy.UPSERT,
        delete=DeletePolicy.SOFT,
        deleted_at="at",
        purge_after=timedelta(days=90),
        lineage=True,
        zoneless=ZonelessTimestamps.NTZ,
        binary_text=BinaryText.HEX,
        fractions=Fractions.REFUSE,
        whole_floats=WholeFloats.INTEGER,
        overwritten=OverwrittenFiles.IGNORE,
        deletion_vectors=True,
        change_data_feed=True,
        clustering=("id",),
        retention=timedelta(days=3),
        asks_retention=True,
        maintenance=MaintenancePolicy(mode=MaintenanceMode.OFF, small_files=3, deleted_rows=0.5),
        drop_grace=timedelta(hours=2),
        quiet_period=timedelta(seconds=30),
    )
    assert settings.default_schema == "raw"
    assert settings.policy_of(TableName("dbo", "others")) == everywhere
    assert settings.policy_of(ORDERS) == TablePolicy(
        type_change=TypeChange.FEATURE,
        insert=InsertPolicy.AS_IS,
        purge_after=timedelta(hours=1),
        zoneless=ZonelessTimestamps.UTC,
        binary_text=BinaryText.BASE64,
        fractions=Fractions.TRUNCATE,
        whole_floats=WholeFloats.AS_IS,
        overwritten=OverwrittenFiles.PAUSE,
        deletion_vectors=False,
        change_data_feed=False,
        clustering=(),
        retention=timedelta(days=30),
        asks_retention=True,
        maintenance=MaintenancePolicy(
            every_commits=1,
            pressing_commits=2,
            small_files=4,
            small_bytes=1 << 20,
            deleted_rows=0.5,
            step_bytes=1 << 21,
            step_rows=8,
            step_files=7,
        ),
        drop_grace=timedelta(0),
        quiet_period=timedelta(seconds=0.5),
    )
    dotted = settings.policy_of(TableName("dbo", "A.B"))
    assert dotted.quiet_period == timedelta(minutes=1)
    assert dotted.type_change is TypeChange.STOP


def test_what_fabric_writes_besides_is_passed_over_and_null_says_nothing() -> None:
    document = fabric(format="Delta", compactionFrequency=0, enableDeltaChangeDataFeed=None)
    document["properties"]["source"] = {"type": "GenericMirror"}
    document |= {"$schema": "mirroring.schema.json", "openmirror": {"typeChange": None}}
    assert settings_of(document).policy_of(ORDERS) == TablePolicy()


def test_waits_of_a_table_win_over_those_of_the_run() -> None:
    limits = Limits(quiet_period=timedelta(seconds=5), drop_grace=timedelta(seconds=60))
    assert limits_of(TablePolicy(), limits) == limits
    assert limits_of(Broken(Code.MIRROR_SETTINGS_INVALID, ""), limits) == limits
    own = TablePolicy(quiet_period=timedelta(0), drop_grace=timedelta(days=1))
    assert limits_of(own, limits).quiet_period == timedelta(0)
    assert limits_of(own, limits).drop_grace == timedelta(days=1)
    assert limits_of(own, limits).batch_files == limits.batch_files


DURATION = "a number of seconds, or one with a unit: 30, 30s, 10m, 2h, 7d"
SWITCHES = (
    "insert, delete, deletedAt, purgeAfter, lineage, history, typeChange, zonelessTimestamps, "
    "binaryText, "
    "fractions, wholeFloats, overwrittenFiles, deletionVectors, clustering, dropGrace, "
    "quietPeriod, maintenance, maintenanceBounds, shortRetention"
)
MIRRORS = f"{SWITCHES}, streams, tables"


@pytest.mark.parametrize(
    ("section", "detail"),
    [
        ({"typeChange": "x"}, "typeChange is \"x\", but must be 'rewrite', 'feature' or 'stop'"),
        ({"insert": 4}, "insert is 4, but must be 'as-is' or 'upsert'"),
        ({"history": True}, "history is true, but must be 'none' or 'scd2'"),
        ({"delete": True}, "delete is true, but must be 'hard' or 'soft'"),
        ({"deletedAt": ["at"]}, 'deletedAt is ["at"], but must be text in quotes'),
        ({"purgeAfter": "59m"}, 'purgeAfter is "59m", but must be at least 1h'),
        ({"purgeAfter": -1}, f"purgeAfter is -1, but must be {DURATION}"),
        (
            {"zonelessTimestamps": "UTC"},
            "zonelessTimestamps is \"UTC\", but must be 'utc' or 'ntz'",
        ),
        (
            {"deletionVectors": "yes"},
            "deletionVectors is \"yes\", but must be true, false or 'auto'",
        ),
        ({"clustering": "id"}, 'clustering is "id", but must be a list: ["…"]'),
        ({"clustering": [1]}, "clustering[0] is 1, but must be text in quotes"),
        ({"clustering": [""]}, 'clustering[0] is "", but must be a name that is not empty'),
        ({"clustering": list("abcde")}, "but must be at most 4 of them"),
        ({"clustering": ["a", "A"]}, "must be column names that differ by more than their case"),
        ({"quietPeriod": -1}, f"quietPeriod is -1, but must be {DURATION}"),
        ({"quietPeriod": True}, f"quietPeriod is true, but must be {DURATION}"),
        ({"quietPeriod": [3]}, f"quietPeriod is [3], but must be {DURATION}"),
        ({"dropGrace": "soon"}, f'dropGrace is "soon", but must be {DURATION}'),
        ({"dropGrace": "99999d"}, 'dropGrace is "99999d", but must be at most 3650d'),
        ({"dropGrace": 1e300}, "but must be at most 3650d"),
        ({"deletes": "soft"}, f"deletes is no setting; there are {MIRRORS}"),
        ({"retentionInDays": 3}, f"retentionInDays is no setting; there are {MIRRORS}"),
        ({"streams": [{"topic": "shop"}]}, 'streams[0].topic is "shop", but must be the URL of'),
        ({"streams": [{}]}, "streams[0].topic is missing"),
        ({"streams": [{"topic": "kafka://a/t", "retry": 1}]}, "there are topic, trigger"),
        ({"streams": [{"topic": "kafka://a/t", "trigger": "0.1s"}]}, "between 0.2s and 60s"),
        ({"streams": [{"topic": "kafka://a/t", "include": ["orders"]}]}, "'orders' is no table"),
        ({"streams": [{"topic": "kafka://a/t", "exclude": ["[a].b"]}]}, "is no pattern"),
        (
            {"streams": [{"topic": "kafka://a/t", "names": {"a.*": "b.c"}}]},
            "both have one *, or none",
        ),
        ({"streams": [{"topic": "kafka://me:secret@a/t"}]}, 'is "kafka://…@a/t", but'),
        (
            {"streams": [{"topic": "kafka://a/t"}, {"topic": "kafka://b/t"}]},
            "must be topics that differ by more than their brokers",
        ),
        (
            {"maintenance": "weekly"},
            "maintenance is \"weekly\", but must be 'auto' or 'off'",
        ),
        (
            {"maintenanceBounds": {"files": 1}},
            "maintenanceBounds.files is no setting; there are everyCommits, pressingCommits,",
        ),
        (
            {"tables": {"a.b": {"maintenanceBounds": {"files": 1}}}},
            "maintenanceBounds.files is no setting; there are everyCommits, pressingCommits,",
        ),
        ({"maintenanceBounds": {"stepFiles": 0}}, "stepFiles is 0, but must be at least 1"),
        ({"maintenanceBounds": {"stepBytes": -1}}, "stepBytes is -1, but must be at least 1048576"),
        ({"maintenanceBounds": {"deletedRows": 2}}, "deletedRows is 2, but must be at most 1"),
        ({"maintenanceBounds": 3}, "maintenanceBounds is 3, but must be an object: {…}"),
        (
            {"tables": {"a.b": {"retentionInDays": 6}}},
            'tables["a.b"].retentionInDays is 6, but must be at least 7, or shortRetention true',
        ),
        (
            {
                "shortRetention": True,
                "tables": {"a.b": {"shortRetention": False, "retentionInDays": 1}},
            },
            'tables["a.b"].retentionInDays is 1, but must be at least 7, or shortRetention true',
        ),
        ({"tables": []}, "tables is [], but must be an object: {…}"),
        ({"tables": {"Orders": {}}}, "tables.Orders must be a table of this mirror: schema"),
        ({"tables": {"m/a.b": {}}}, 'tables["m/a.b"] must be a table of this mirror'),
        ({"tables": {"a.b": {}, "A.B": {}}}, "must be table names that differ by more than"),
        ({"tables": {"a.b": 1}}, 'tables["a.b"] is 1, but must be an object: {…}'),
        (
            {"tables": {"a.b": {"past": "kept"}}},
            f'tables["a.b"].past is no setting; there are {SWITCHES}, '
            "enableDeltaChangeDataFeed, retentionInDays",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_what_is_allowed(
    section: dict[str, Any], detail: str
) -> None:
    reported = wrong({"openmirror": section})
    assert reported.startswith("mirroring.json: openmirror.")
    assert detail in reported


@pytest.mark.parametrize(
    ("document", "detail"),
    [
        (
            fabric(retentionInDays=31),
            "typeProperties.retentionInDays is 31, but must be at most 30",
        ),
        (
            fabric(retentionInDays=6),
            "properties.target.typeProperties.retentionInDays is 6, but must be at least 7, or "
            "shortRetention true",
        ),
        (fabric(retentionInDays=0), "typeProperties.retentionInDays is 0, but must be at least 1"),
        (fabric(retentionInDays=1.5), "is 1.5, but must be a whole number"),
        (fabric(defaultSchema="a/b"), 'defaultSchema is "a/b", but must be a name without a slash'),
        (fabric(defaultSchema=""), 'defaultSchema is "", but must be a name that is not empty'),
        (fabric(enableDeltaChangeDataFeed="on"), 'is "on", but must be true or false'),
        ({"openmirror": 3}, "openmirror is 3, but must be an object: {…}"),
        (b"[]", "the document is [], but must be an object: {…}"),
        (b"{", "mirroring.json is not JSON at line 1, column 2"),
        (b"", "mirroring.json is not JSON at line 1, column 1"),
        (b"\xff{}", "mirroring.json is not UTF-8 text"),
        (b"[" * 100_000, "mirroring.json is nested too deep"),
        (b'{"openmirror": {"quietPeriod": 1' + b"0" * 5000 + b"}}", "mirroring.json"),
        (b'{"openmirror": {"quietPeriod": NaN}}', f"quietPeriod is NaN, but must be {DURATION}"),
    ],
)
def test_no_content_gets_through_or_stops_the_program(document: object, detail: str) -> None:
    assert detail in wrong(document)


def test_all_mistakes_are_reported_at_once_and_from_the_sixth_on_counted() -> None:
    reported = wrong({"openmirror": {"typeChange": 1, "insert": 1, "quietPeriod": "x"}})
    assert [part.split()[0] for part in reported.removeprefix("mirroring.json: ").split("; ")] == [
        "openmirror.insert",
        "openmirror.typeChange",
        "openmirror.quietPeriod",
    ]
    many = wrong({"openmirror": {"tables": {f"a.t{n}": {"insert": 1} for n in range(9)}}})
    assert many.endswith("; and 4 more")


# --- The published schema -------------------------------------------------------------------------


def test_the_published_schema_is_what_the_model_says() -> None:
    """To write it anew: python -m openmirror.mirroring.schema > docs/mirroring.schema.json"""
    assert (DOCS / "mirroring.schema.json").read_text() == schema_text()


def test_the_schema_describes_every_setting_and_refuses_unknown_ones_in_our_section() -> None:
    schema = json.loads(schema_text())
    sections = {name: one for name, one in schema["$defs"].items() if "properties" in one}
    for name in ("MirrorSwitches", "TableSwitches"):
        assert sections[name]["additionalProperties"] is False
        for key, field in sections[name]["properties"].items():
            assert len(field["description"]) > 40, key
    assert "additionalProperties" not in schema
    assert "additionalProperties" not in sections["TypeProperties"]


def _properties(schema: dict[str, Any], section: str) -> set[str]:
    return set(schema["$defs"][section]["properties"])


def test_what_can_be_set_for_a_table_is_what_can_be_set_for_a_mirror_and_two_keys_of_fabric() -> (
    None
):
    schema = MirroringDocument.model_json_schema()
    table, mirror = _properties(schema, "TableSwitches"), _properties(schema, "MirrorSwitches")
    of_fabric = _properties(schema, "TypeProperties") - {"defaultSchema"}
    assert table == mirror - {"tables", "streams"} | of_fabric


# --- What the documents say -----------------------------------------------------------------------

OPERATIONS = (DOCS / "OPERATIONS.md").read_text()
SECTION = OPERATIONS.partition("\n## Settings of a mirror")[2].partition("\n## ")[0]


def test_every_example_in_the_docs_is_accepted() -> None:
    examples = [
        body
        for path in sorted(DOCS.rglob("*.md"))
        for body in re.findall(r"^```json\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)
        if '"typeProperties"' in body
    ]
    assert examples
    for body in examples:
        settings = parse_mirroring(body.encode())
        assert isinstance(settings, Mirroring), body
        assert settings.tables, body


def test_every_setting_is_in_operations_with_what_it_may_be() -> None:
    schema = json.loads(schema_text())
    keys = {"TypeProperties": "typeProperties", "MirrorSwitches": "openmirror"}
    for name, words in keys.items():
        assert words in SECTION
        for key, field in schema["$defs"][name]["properties"].items():
            row = next((one for one in SECTION.splitlines() if one.startswith(f"| `{key}`")), None)
            assert row or key == "tables", key
            of = field.get("$ref", "").rpartition("/")[2]
            for value in schema["$defs"].get(of, {}).get("enum", ()):
                assert f"`{value}`" in (row or ""), (key, value)
