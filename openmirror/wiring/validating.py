"""`validate`: a table folder on disk, and its mirror where it lies in one."""

from __future__ import annotations

from pathlib import Path

from openmirror.deltalog import LogReplay
from openmirror.errors import SOLUTIONS, ConditionFailed, DocumentUnreadable, Malformed, NotThere
from openmirror.formats.checking import ChangeFileRows
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.landing_place import OtherPlace, TablePlace, landing_place
from openmirror.operate.validate import FolderFinding, Validated, validate_folder
from openmirror.plan import ObservedState
from openmirror.ports import ABSENT
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.settings import Settings, limits
from openmirror.stores.local.store import LocalStore
from openmirror.table.layout import StorePath
from openmirror.wiring.local import utc_now


def validate_on_disk(settings: Settings, folder: Path) -> Validated:
    """Check a table folder that may lie anywhere, read only.

    Raises Malformed for a folder that is none of a table, which says what it is.
    """
    place = folder.resolve()
    inside = [entry.name for entry in place.iterdir() if entry.is_dir()]
    found = landing_place(place.parts[1:], inside)
    if isinstance(found, OtherPlace):
        raise Malformed(f"{folder} is {found.what}, not a table folder{_tables_in(place)}")
    seen = mirror_observed(settings, found)
    store = LocalStore(place.parent)
    findings = validate_folder(
        store,
        ChangeFileInspector(store),
        ChangeFileRows(store),
        StorePath(place.name),
        limits(settings),
        seen if isinstance(seen, ObservedState) else None,
    )
    if isinstance(seen, FolderFinding):
        return Validated((seen, *findings), found.folder)
    return Validated(tuple(findings), found.folder, seen)


def _tables_in(place: Path) -> str:
    """Which table folders there are below a folder, for who meant one of them."""
    named = {path.parent for path in place.glob("**/*") if _is_of_table(path)}
    tables = sorted(str(path.relative_to(place)) for path in named if path != place)
    if not tables:
        return ""
    more = f" and {len(tables) - 10} more" if len(tables) > 10 else ""
    return f". Table folders in it: {', '.join(tables[:10])}{more}"


def _is_of_table(path: Path) -> bool:
    return path.name == "_metadata.json" or (path.stem.isdigit() and len(path.stem) == 20)


def mirror_observed(settings: Settings, found: TablePlace) -> ObservedState | FolderFinding | None:
    """What the mirror of this folder knows of it; None where none was ever at work on it.

    A finding where its control document cannot be read: then the table stands still.
    """
    if found.folder is None:
        return None
    store = LocalStore(Path("/", *found.root))
    ports = RootPorts(
        store=store,
        inspector=ChangeFileInspector(store),
        logs=LogReplay(store),
        clock=utc_now,
        limits=limits(settings),
    )
    try:
        if Documents(store).table(found.folder).etag is ABSENT:
            return None
        return observe(ports, found.folder).observed
    except (NotThere, ConditionFailed):
        return None
    except DocumentUnreadable as error:
        return FolderFinding(error.code, str(error), SOLUTIONS[error.code])
