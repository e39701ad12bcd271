"""`_partnerEvents.json`: who publishes, for people to see (PROTOCOL §4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from openmirror.errors import WrongRequest
from openmirror.ports import FileStore
from openmirror.protocol.json_text import JsonError, JsonText, JsonValue, parse_json, rewritten
from openmirror.protocol.names import PARTNER_EVENTS_FILE, fold_case, is_unicode
from openmirror.protocol.partner import Partner
from openmirror.publishing.documents import bring_to
from openmirror.table.layout import StorePath, join

_NOTHING = JsonText({}, text="{}")


def introduced(store: FileStore, zone: StorePath, partner: Partner) -> None:
    """Say who publishes, and keep whatever else the file says; writes nothing if that is there.

    A file that cannot be read as JSON is written over: nothing depends on it. Raises
    WrongRequest for what is no Unicode text, and what `bring_to` raises.
    """
    texts = (partner.name, partner.source_type, partner.source_version)
    if wrong := next((text for text in texts if not is_unicode(text)), None):
        raise WrongRequest(f"{wrong!r} is no Unicode text")

    def wanted(content: bytes) -> bytes | None:
        there = _read(content)
        assert isinstance(there.value, dict)
        is_there = _naming(partner, there.value) == there.value
        return None if is_there else rewritten(there, partial(_naming, partner))

    bring_to(store, join(zone, PARTNER_EVENTS_FILE), wanted)


def _read(content: bytes) -> JsonText:
    try:
        read = parse_json(content)
    except JsonError:
        return _NOTHING
    return read if isinstance(read.value, dict) else _NOTHING


def _naming(partner: Partner, there: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    source = next((v for k, v in there.items() if fold_case(k) == "sourceinfo"), None)
    about = {"sourceType": partner.source_type, "sourceVersion": partner.source_version}
    return {
        **_without(there, "partnerName", "sourceInfo"),
        "partnerName": partner.name,
        "sourceInfo": {**_without(source if isinstance(source, dict) else {}, *about), **about},
    }


def _without(document: Mapping[str, JsonValue], *names: str) -> dict[str, JsonValue]:
    folded = {fold_case(name) for name in names}
    return {key: value for key, value in document.items() if fold_case(key) not in folded}
