"""Which subscription `az` works with."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from azure.core import AzureClouds

CLOUDS = {
    "AzureCloud": AzureClouds.AZURE_PUBLIC_CLOUD,
    "AzureUSGovernment": AzureClouds.AZURE_US_GOVERNMENT,
    "AzureChinaCloud": AzureClouds.AZURE_CHINA_CLOUD,
}
"""As `az cloud` calls them."""


@dataclass(frozen=True)
class Chosen:
    """A subscription, and the cloud that it is in."""

    subscription: str
    cloud: AzureClouds


def chosen(env: Mapping[str, str], wanted: str | None) -> Chosen | None:
    """The subscription of this id or name, or the one that `az account set` chose.

    An id that `az` does not know is taken for one of the public cloud. None when nothing is known.
    """
    known = _known(env)
    for one in known:
        is_meant = one.get("isDefault") if wanted is None else wanted in (one["id"], one["name"])
        if is_meant:
            cloud = CLOUDS.get(str(one.get("environmentName")), AzureClouds.AZURE_PUBLIC_CLOUD)
            return Chosen(str(one["id"]), cloud)
    return Chosen(wanted, AzureClouds.AZURE_PUBLIC_CLOUD) if wanted else None


def _known(env: Mapping[str, str]) -> list[dict[str, object]]:
    folder = env.get("AZURE_CONFIG_DIR") or str(Path.home() / ".azure")
    try:
        profile = json.loads((Path(folder) / "azureProfile.json").read_text("utf-8-sig"))
        return [one for one in profile["subscriptions"] if "id" in one and "name" in one]
    except (OSError, ValueError, KeyError, TypeError):
        return []
