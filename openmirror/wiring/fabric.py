"""The mirrors of a root, as Fabric's REST of the local OneLake shows them and acts on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import cast

from openmirror.errors import NotThere, WrongRequest
from openmirror.mirroring import parse_mirroring
from openmirror.operate.report import mirror_trouble, statuses
from openmirror.operate.requests import Operator, hold_mirror, resume_mirror
from openmirror.ports import ABSENT
from openmirror.protocol.rules import Broken
from openmirror.reconcile.discovery import explore, has_zone
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.root_ports import RootPorts
from openmirror.status import WasDropped, to_json
from openmirror.table import layout

_PUBLISHER = Operator("a publisher", "asked through Fabric's REST of `serve --onelake`")


@dataclass(frozen=True)
class MirrorsOfRoot:
    """What publishers ask Fabric about mirrored databases, answered by the mirrors of a root."""

    ports: RootPorts
    root: Path
    """The folder that the ports see."""

    def tables(self, mirror: str) -> list[dict[str, object]]:
        """Each table that can be named, in the form of getTablesMirroringStatus."""
        found = [
            table
            for table in statuses(self.ports, [mirror])
            if table.name.table and not isinstance(table.stage, WasDropped)
        ]
        shown = cast("list[dict[str, object]]", to_json(found)["data"])
        return [{name: one[name] for name in one if name != "openmirror"} for one in shown]

    def is_stopped(self, mirror: str) -> bool:
        """Whether the whole mirror is held."""
        return Documents(self.ports.store).mirror(mirror).value.hold is not None

    def trouble(self, mirror: str) -> tuple[str, str] | None:
        """Code and words of what is wrong with the mirror itself."""
        try:
            found = mirror_trouble(self.ports.store, mirror, explore(self.ports.store, mirror))
        except NotThere as error:
            return "LandingZoneUnreadable", str(error)
        return (found.code, f"{found.detail}. {found.solution}") if found else None

    def start(self, mirror: str) -> None:
        """Resume the mirror, if it is held."""
        if self.is_stopped(mirror):
            resume_mirror(self.ports, mirror, _PUBLISHER)

    def stop(self, mirror: str) -> None:
        """Hold the mirror: unlike Fabric's stop, no table loses anything."""
        if not self.is_stopped(mirror):
            hold_mirror(self.ports, mirror, _PUBLISHER)

    def make(self, mirror: str, definition: bytes | None) -> bool:
        """Make its landing zone, and its mirroring.json; answers False if it is there.

        Raises WrongRequest for a mirroring.json that breaks a rule.
        """
        if has_zone(self.ports.store, mirror):
            return False
        if definition is not None:
            parsed = parse_mirroring(definition)
            if isinstance(parsed, Broken):
                raise WrongRequest(f"the definition's mirroring.json: {parsed.detail}")
            self.ports.store.write(layout.mirror_settings(mirror), definition, ABSENT)
        (self.root / layout.landing_zone(mirror)).mkdir(parents=True)
        return True

    def definition(self, mirror: str) -> bytes | None:
        """Its mirroring.json; None without one."""
        try:
            return self.ports.store.read(layout.mirror_settings(mirror)).data
        except NotThere:
            return None
