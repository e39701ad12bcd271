"""The workbook is what its template and queries say, and its items fit their queries."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from infra.monitoring.compose import TEMPLATE, WORKBOOK, QueryMissing, compose, main
from tests.infra.bicep.expansion import expand
from tests.infra.bicep.folder import Folder
from tests.infra.queries import analysed, texts

COMPOSED: dict[str, Any] = json.loads(WORKBOOK.read_text())
QUERIES = {one["name"]: one["content"] for one in COMPOSED["items"] if one["type"] == 3}


# --- Composed


def test_the_workbook_is_up_to_date() -> None:
    assert WORKBOOK.read_text() == compose()
    assert main(["--check"]) == 0


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    shutil.copytree(TEMPLATE.parent, tmp_path / "monitoring")
    return tmp_path / "monitoring" / TEMPLATE.name


def test_a_query_without_a_file_is_reported(copied: Path) -> None:
    (copied.parent / "queries" / "latency.kql").unlink()
    with pytest.raises(QueryMissing, match=r"names @queries/latency\.kql"):
        compose(copied)


def test_a_file_that_no_item_uses_is_reported(copied: Path) -> None:
    (copied.parent / "queries" / "left.kql").write_text("AppEvents")
    with pytest.raises(QueryMissing, match=r"uses no left\.kql"):
        compose(copied)


def test_a_changed_query_changes_the_workbook(copied: Path) -> None:
    query = copied.parent / "queries" / "latency.kql"
    query.write_text(query.read_text().replace("percentile(Latency, 95)", "max(Latency)"))
    assert compose(copied) != compose()


def test_bicep_gives_azure_this_workbook_and_its_workspace() -> None:
    workspace = "/subscriptions/s/resourceGroups/g/providers/p/workspaces/log-openmirror"
    given = {"name": "mirrors", "location": "westeurope", "tags": {}, "workspaceId": workspace}
    (made,) = expand(Folder.at(), given, template="workbook.bicep").resources
    reported = json.loads(made.properties["serializedData"])
    assert reported["fallbackResourceIds"] == [workspace]
    assert reported["items"] == COMPOSED["items"]
    assert made.properties["sourceId"] == workspace


# --- Its shape


def test_it_has_pickers_that_every_query_obeys() -> None:
    (pickers,) = (one["content"] for one in COMPOSED["items"] if one["type"] == 9)
    assert [one["name"] for one in pickers["parameters"]] == ["TimeRange", "Mirror", "Table"]
    by_table = ("figures", "table-grid", "tables-by-state", "throughput", "latency", "problems")
    for name in (*by_table, "operations"):
        text = texts("queries")[name]
        assert "in ({Mirror})" in text, name
        assert "in ({Table})" in text, name
    for name, item in QUERIES.items():
        fixed = item["timeContext"]["durationMs"]
        assert item.get("timeContextFromParameter") == "TimeRange" or fixed == 86_400_000, name


def columns_named(item: Any) -> Iterator[str]:
    """Every column that an item's settings name."""
    for one in item.get("gridSettings", {}).get("formatters", ()):
        yield one["columnMatch"]
    for one in item.get("gridSettings", {}).get("labelSettings", ()):
        yield one["columnId"]
    tiles = item.get("tileSettings", {})
    yield from (part["columnMatch"] for part in tiles.values() if isinstance(part, dict))
    chart = item.get("chartSettings", {})
    yield from (chart[axis] for axis in ("xAxis", "group") if axis in chart)
    yield from chart.get("yAxis", ())


@pytest.mark.parametrize("name", QUERIES)
def test_an_item_names_only_columns_that_its_query_answers_with(name: str) -> None:
    known = {text.strip(): f"queries/{query}" for query, text in texts("queries").items()}
    answered = analysed()[known[QUERIES[name]["query"]]].columns.keys()
    named = set(columns_named(QUERIES[name]))
    assert named <= answered
    if QUERIES[name]["visualization"] == "table":
        assert named == answered, "a column without a format is drawn as the portal likes"


def test_every_item_has_a_name_of_its_own() -> None:
    names = [one["name"] for one in COMPOSED["items"]]
    assert len(names) == len(set(names))
