"""The catalogue of rules: whole, by the protocol, and as the page for publishers has it."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.conformance.catalogue import CATALOGUE
from openmirror.conformance.report import as_json, as_junit, worst
from openmirror.conformance.rules import (
    Assessed,
    Basis,
    Breach,
    ConformanceRule,
    RuleSeverity,
    RuleState,
)
from openmirror.conformance.zone_rules import NOT_OF_PUBLISHERS, ZONE_RULES
from openmirror.protocol.rules import Code

ROOT = Path(__file__).parents[2]
PROTOCOL = (ROOT / "docs" / "PROTOCOL.md").read_text()
PAGE = (ROOT / "docs" / "PUBLISHERS.md").read_text()


def test_every_code_of_a_publishers_mistake_belongs_to_a_rule() -> None:
    folder = ROOT / "openmirror" / "conformance"
    used = "".join((folder / f"{name}_rules.py").read_text() for name in ("folder", "content"))
    named = {Code[name] for name in re.findall(r"\bCode\.([A-Z_]+)", used)}
    assert named == set(Code) - NOT_OF_PUBLISHERS
    assert len(ZONE_RULES) < len(CATALOGUE)


def test_ids_are_unique_and_sections_are_there() -> None:
    ids = [rule.id for rule in CATALOGUE]
    assert len(set(ids)) == len(ids)
    for rule in CATALOGUE:
        section = re.escape(rule.section)
        is_heading = re.search(rf"^#+ {section}[. ]", PROTOCOL, re.MULTILINE)
        chapter, _, number = rule.section.partition(".")
        parts = re.split(r"^## ", PROTOCOL, flags=re.MULTILINE)
        inside = next(part for part in parts if part.startswith(f"{chapter}. "))
        is_rule = number and re.search(rf"^{number}\. ", inside, re.MULTILINE)
        assert is_heading or is_rule, f"{rule.id} cites §{rule.section}"


@pytest.mark.parametrize("rule", CATALOGUE, ids=lambda rule: rule.id)
def test_every_rule_stands_on_the_page_for_publishers(rule: ConformanceRule) -> None:
    row = f"| `{rule.id}` | {rule.severity} | §{rule.section} | {rule.says} |"
    assert row in PAGE


def _assessed(severity: RuleSeverity, state: RuleState) -> Assessed:
    rule = ConformanceRule(
        id=f"{severity}-{state}",
        section="3",
        says="It is so.",
        severity=severity,
        basis=Basis.ZONE,
        remedy="Do it.",
        assess=lambda evidence: (),
    )
    breaches = (Breach(what="a \x00 there", place="T/1"),) if state is RuleState.BROKEN else ()
    return Assessed(rule, state, breaches, "no file" if state is RuleState.UNTRIED else "")


def test_junit_fails_what_is_severe_enough_and_skips_what_was_not_tried() -> None:
    every = [_assessed(severity, state) for severity in RuleSeverity for state in RuleState]
    suite = ElementTree.fromstring(as_junit(every, RuleSeverity.WARNING, 1.5))[0]
    counts = {name: suite.attrib[name] for name in ("tests", "failures", "skipped", "time")}
    assert counts == {"tests": "9", "failures": "2", "skipped": "3", "time": "1.500"}
    cases = {case.attrib["name"]: case for case in suite}
    failure = cases["error-broken"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "T/1: a ? there"
    assert "Do it." in (failure.text or "")
    assert cases["advice-broken"].find("failure") is None
    assert "T/1" in (cases["advice-broken"].findtext("system-out") or "")
    assert len(cases["error-kept"]) == 0


def test_the_worst_of_what_is_broken_counts_and_what_is_kept_or_untried_does_not() -> None:
    kept = _assessed(RuleSeverity.ERROR, RuleState.KEPT)
    untried = _assessed(RuleSeverity.ERROR, RuleState.UNTRIED)
    advice = _assessed(RuleSeverity.ADVICE, RuleState.BROKEN)
    warning = _assessed(RuleSeverity.WARNING, RuleState.BROKEN)
    assert worst([kept, untried]) is None
    assert worst([kept, advice, warning]) is RuleSeverity.WARNING
    shown = as_json([untried, advice])["data"]
    assert isinstance(shown, list)
    assert [(one["state"], one["why"]) for one in shown] == [
        ("untried", "no file"),
        ("broken", None),
    ]


def test_a_folder_is_checked_by_the_command_line_and_a_table_folder_refused(
    tmp_path: Path,
) -> None:
    table = tmp_path / "zone" / "Orders"
    table.mkdir(parents=True)
    (table / "_metadata.json").write_text('{"keyColumns": ["id"]}')
    (table / f"{2:020d}.parquet").write_bytes(b"")
    result = CliRunner().invoke(app, ["check", str(table.parent)], env={"COLUMNS": "200"})
    assert result.exit_code == 3
    assert "begins-with-1" in result.stdout
    assert "no-empty-promises" in result.stdout
    assert "untried" in result.stdout
    refused = CliRunner().invoke(app, ["check", str(table)])
    assert refused.exit_code == 2
    for wrong in (["--faults"], ["a", "b"], ["https://contoso.dfs.core.windows.net"], ["nowhere"]):
        assert CliRunner().invoke(app, ["check", *wrong]).exit_code == 2, wrong
