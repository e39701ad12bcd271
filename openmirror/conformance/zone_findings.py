"""From what lies in a landing zone to the breaches of one rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from openmirror.conformance.evidence import Evidence, TableContents
from openmirror.conformance.rules import Assess, Breach, Untried
from openmirror.conformance.tried import TriedBy
from openmirror.operate.validate import FolderFinding


def by_codes(
    by: TriedBy, *codes: str, only: Callable[[FolderFinding], bool] | None = None
) -> Assess:
    """Breaches are the findings of a folder with these codes; `by` says where that was tried."""

    def assess(evidence: Evidence) -> Iterable[Breach] | Untried:
        found = [
            Breach(
                what=finding.detail,
                place=evidence.place(zone, table, finding.file),
                remedy=finding.remedy,
            )
            for zone, table in evidence.tables
            for finding in table.findings
            if finding.rule in codes and (only is None or only(finding))
        ]
        return found or by.missing(evidence) or ()

    return assess


def by_tables(
    by: TriedBy, found: Callable[[TableContents], Iterable[tuple[str | None, str]]]
) -> Assess:
    """Breaches come as a file, or None for the table folder, with what is wrong there."""

    def assess(evidence: Evidence) -> Iterable[Breach] | Untried:
        return by.missing(evidence) or [
            Breach(what=what, place=evidence.place(zone, table, name))
            for zone, table in evidence.tables
            for name, what in found(table)
        ]

    return assess


def of_text(assess: Assess, *, text: bool) -> Assess:
    """The same, of the tables of delimited text alone, or of the others."""

    def assess_those(evidence: Evidence) -> Iterable[Breach] | Untried:
        zones = tuple(
            replace(zone, tables=tuple(one for one in zone.tables if one.is_text == text))
            for zone in evidence.zones
        )
        return assess(replace(evidence, zones=zones))

    return assess_those
