"""The rules that alerts.bicep makes, as they would stand in Azure."""

from __future__ import annotations

import re
from functools import cache

from tests.infra.bicep.expansion import Deployed, expand
from tests.infra.bicep.folder import Folder
from tests.infra.queries import GAP_MINUTES, LAG_MINUTES

LOG = "Microsoft.Insights/scheduledQueryRules"
METRIC = "Microsoft.Insights/metricAlerts"


@cache
def rules() -> dict[str, Deployed]:
    """Every rule that alerts.bicep makes, by the last part of its name."""
    given = {
        "name": "openmirror",
        "location": "westeurope",
        "tags": {},
        "workspaceId": "/subscriptions/s/resourceGroups/g/providers/p/workspaces/log-openmirror",
        "systemTopicId": "/subscriptions/s/resourceGroups/g/providers/p/systemTopics/egst",
        "alertEmail": "ops@contoso.com",
        "lagAlertMinutes": LAG_MINUTES,
        "gapAlertMinutes": GAP_MINUTES,
    }
    made = expand(Folder.at(), given, template="alerts.bicep").resources
    return {
        one.name.removeprefix("alert-openmirror-"): one for one in made if one.type in (LOG, METRIC)
    }


def minutes(iso: str) -> int:
    """A duration as Azure writes it."""
    amount, unit = re.fullmatch(r"PT?(\d+)([MHD])", iso).groups()  # type: ignore[union-attr]
    return int(amount) * {"M": 1, "H": 60, "D": 1440}[unit]
