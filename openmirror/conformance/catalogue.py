"""Every rule that a publisher is checked by, in the order in which reports have them."""

from __future__ import annotations

from openmirror.conformance.fault_rules import FAULT_RULES
from openmirror.conformance.request_rules import REQUEST_RULES
from openmirror.conformance.rules import ConformanceRule
from openmirror.conformance.zone_rules import ZONE_RULES

CATALOGUE: tuple[ConformanceRule, ...] = (*ZONE_RULES, *REQUEST_RULES, *FAULT_RULES)
