"""`_partnerEvents.json`: who publishes, for people to see; never a rule (PROTOCOL §4.5)."""

from __future__ import annotations

from dataclasses import dataclass

from openmirror.protocol.json_text import JsonError, parse_json
from openmirror.protocol.names import fold_case


@dataclass(frozen=True)
class Partner:
    """The publisher's own words about itself; empty where it says nothing."""

    name: str = ""
    source_type: str = ""
    source_version: str = ""


def parse_partner_events(content: bytes) -> Partner | None:
    """Read what is there; None when nothing can be read, since nothing depends on it."""
    try:
        value = parse_json(content).value
    except JsonError:
        return None
    if not isinstance(value, dict):
        return None
    given = {fold_case(key): item for key, item in value.items()}
    source = given.get("sourceinfo")
    about = (
        {fold_case(key): item for key, item in source.items()} if isinstance(source, dict) else {}
    )
    return Partner(
        name=str(given.get("partnername") or ""),
        source_type=str(about.get("sourcetype") or ""),
        source_version=str(about.get("sourceversion") or ""),
    )
