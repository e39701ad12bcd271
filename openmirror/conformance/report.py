"""What came of a check, for programs: JSON, and JUnit's XML for pipelines."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from openmirror.conformance.rules import Assessed, Breach, RuleSeverity, RuleState

_ORDER = (RuleSeverity.ADVICE, RuleSeverity.WARNING, RuleSeverity.ERROR)
_PROTOCOL = "PROTOCOL §"


def worst(assessed: Iterable[Assessed]) -> RuleSeverity | None:
    """The severest of the rules that are broken; None when none is."""
    broken = [one.rule.severity for one in assessed if one.state is RuleState.BROKEN]
    return max(broken, key=_ORDER.index, default=None)


def is_at_least(found: RuleSeverity | None, least: RuleSeverity) -> bool:
    """Whether what was found is as severe as this, or more."""
    return found is not None and _ORDER.index(found) >= _ORDER.index(least)


def section(one: Assessed) -> str:
    """Where the rule stands, in words."""
    return f"{_PROTOCOL}{one.rule.section}"


def remedies(one: Assessed) -> list[str]:
    """What ends the breaches of a rule, each once."""
    return list(dict.fromkeys(breach.remedy or one.rule.remedy for breach in one.breaches))


def located(breach: Breach) -> str:
    """A breach in one line: where, when and what."""
    when = f" (request {breach.request})" if breach.request is not None else ""
    return f"{breach.place}{when}: {breach.what}" if breach.place else breach.what


def as_json(assessed: Iterable[Assessed]) -> dict[str, object]:
    """The report as JSON has it; times in UTC."""
    return {
        "data": [
            {
                "rule": one.rule.id,
                "section": one.rule.section,
                "says": one.rule.says,
                "severity": one.rule.severity,
                "basis": one.rule.basis,
                "state": one.state,
                "why": one.why or None,
                "breaches": [
                    {
                        "place": breach.place,
                        "what": breach.what,
                        "request": breach.request,
                        "at": breach.at.isoformat() if breach.at else None,
                        "remedy": breach.remedy or one.rule.remedy,
                    }
                    for breach in one.breaches
                ],
            }
            for one in assessed
        ]
    }


def as_junit(assessed: Iterable[Assessed], least: RuleSeverity, seconds: float) -> bytes:
    """The report as JUnit's XML: a test case for each rule.

    A broken rule is a failure; one that is less severe than `least` passes, with its breaches as
    the case's output. A rule that was not tried is skipped.
    """
    cases = list(assessed)
    failed = [one for one in cases if _fails(one, least)]
    skipped = [one for one in cases if one.state is RuleState.UNTRIED]
    suite = Element(
        "testsuite",
        name="openmirror check",
        tests=str(len(cases)),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
        time=f"{seconds:.3f}",
    )
    for one in cases:
        _case(suite, one, least)
    root = Element("testsuites")
    root.append(suite)
    indent(root)
    return bytes(tostring(root, encoding="utf-8", xml_declaration=True))


def _fails(one: Assessed, least: RuleSeverity) -> bool:
    return one.state is RuleState.BROKEN and is_at_least(one.rule.severity, least)


def _case(suite: Element, one: Assessed, least: RuleSeverity) -> None:
    case = SubElement(
        suite, "testcase", classname=f"openmirror.{one.rule.basis}", name=one.rule.id, time="0"
    )
    if one.state is RuleState.UNTRIED:
        SubElement(case, "skipped", message=_xml(one.why))
        return
    if one.state is RuleState.KEPT:
        return
    text = "\n".join(
        [f"{section(one)}: {one.rule.says}", *map(located, one.breaches), *remedies(one)]
    )
    if _fails(one, least):
        failure = SubElement(case, "failure", type=one.rule.severity)
        failure.set("message", _xml(located(one.breaches[0])))
        failure.text = _xml(text)
    else:
        SubElement(case, "system-out").text = _xml(f"{one.rule.severity}: {text}")


def _xml(text: str) -> str:
    """Text without the control characters that XML cannot hold."""
    allowed = "\t\n\r"
    return "".join(
        c
        if c in allowed or (c >= " " and not "\ud800" <= c <= "\udfff" and c not in "\ufffe\uffff")
        else "?"
        for c in text
    )
