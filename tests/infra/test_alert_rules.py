"""The alert rules: their queries, what a mail says, how urgent they are, the page that helps."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.infra.alert_rules import LOG, METRIC, minutes, rules
from tests.infra.queries import analysed, filled, texts

OPERATIONS = (Path(__file__).parents[2] / "docs" / "OPERATIONS.md").read_text()


def test_every_query_is_a_rule_and_bicep_fills_in_the_minutes() -> None:
    queries = {
        name: rule.properties["criteria"]["allOf"][0]["query"]
        for name, rule in rules().items()
        if rule.type == LOG
    }
    assert queries == {name: filled(text) for name, text in texts("alerts").items()}


@pytest.mark.parametrize("name", texts("alerts"))
def test_a_mail_names_what_it_is_about(name: str) -> None:
    """Dimensions are columns of the answer, each of a type that Azure takes."""
    (criterion,) = rules()[name].properties["criteria"]["allOf"]
    columns = analysed()[f"alerts/{name}"].columns
    named = [one["name"] for one in criterion["dimensions"]]
    assert {columns[one] for one in named} <= {"string"}
    assert ("Table" in columns) == ("Table" in named)
    assert ("Mirror" in columns) == ("Mirror" in named)


def test_every_rule_names_a_heading_that_is_there_and_every_heading_has_a_rule() -> None:
    section = OPERATIONS.partition("\n## Alerts\n")[2].partition("\n## ")[0]
    headings = set(re.findall(r"^### (.+)$", section, re.MULTILINE))
    named = set()
    for rule in rules().values():
        page, _, heading = rule.properties["description"].rpartition(": ")
        assert page.endswith("docs/OPERATIONS.md, Alerts")
        named.add(heading.rstrip("."))
    assert named == headings


def test_the_page_says_the_severity_of_each() -> None:
    rows = re.findall(r"^\| (\[.+?) \| (\d) \|", OPERATIONS, re.MULTILINE)
    reported = {
        heading: int(severity)
        for names, severity in rows
        for heading in re.findall(r"\[([^\]]+)\]", names)
    }
    assert reported == {
        rule.properties["description"].rpartition(": ")[2].rstrip("."): rule.properties["severity"]
        for rule in rules().values()
    }


def test_severity_says_how_urgent_it_is_and_every_alert_ends_by_itself() -> None:
    severities = {name: rule.properties["severity"] for name, rule in rules().items()}
    assert [name for name, one in severities.items() if one == 1] == ["table-paused", "stream-down"]
    assert {name for name, one in severities.items() if one == 3} == {
        "dead-letters-waiting",
        "table-warning",
        "events-not-delivered",
    }
    assert set(severities.values()) == {1, 2, 3}
    for rule in rules().values():
        assert rule.properties["autoMitigate"] is True
        assert rule.properties["enabled"] is True


@pytest.mark.parametrize("name", texts("alerts"))
def test_a_rule_reads_back_as_far_as_its_query(name: str) -> None:
    back = minutes(rules()[name].properties["windowSize"])
    asked = [int(one) for one in re.findall(r"ago\((\d+)m\)", texts("alerts")[name])]
    assert all(one <= back for one in asked)
    assert back <= 2 * 1440
    if "OpenmirrorTableStatus" in texts("alerts")[name]:
        assert back >= 60, "a status that does not change is emitted every 15 to 30 minutes"


def test_metric_rules_watch_what_event_grid_counts() -> None:
    metrics = {
        rule.properties["criteria"]["allOf"][0]["metricName"]
        for rule in rules().values()
        if rule.type == METRIC
    }
    assert metrics == {"DroppedEventCount", "DeadLetteredCount", "DeliveryAttemptFailCount"}
