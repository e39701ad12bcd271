"""`check`: a publisher's zone wherever it lies, and an observed account for it to write to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from openmirror.errors import CannotStart, Malformed
from openmirror.operate.landing_place import TablePlace
from openmirror.ports import FileStore
from openmirror.ports.storage_account import AccountUrl
from openmirror.ports.zone_url import ZoneUrl
from openmirror.protocol.names import METADATA_FILE, TableFolder
from openmirror.reconcile.discovery import mirrors
from openmirror.settings import Settings, limits
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.layout import StorePath
from openmirror.wiring.azure import account_store
from openmirror.wiring.onelake import onelake_served
from openmirror.wiring.packages import optional_packages
from openmirror.wiring.serving import served
from openmirror.wiring.validating import mirror_observed

if TYPE_CHECKING:
    from openmirror.conformance.contents import Known
    from openmirror.conformance.evidence import ZoneContents
    from openmirror.conformance.exchanges import Exchange, InjectedFault
    from openmirror.conformance.observing import Recorder
    from openmirror.emulator.account import Account
    from openmirror.emulator.app import Endpoint
    from openmirror.emulator.onelake.serving import OneLake
    from openmirror.emulator.server import FrontOf
    from openmirror.operate.validate import FolderFinding
    from openmirror.plan import ObservedState

_EXTRAS = {
    "azure": "openmirror[azure]",
    **dict.fromkeys(("cryptography", "pyarrow", "starlette", "uvicorn"), "openmirror[cli]"),
}


def zone_in_folder(settings: Settings, folder: Path) -> ZoneContents:
    """What lies in a landing zone on disk, anywhere; raises Malformed for a table folder."""
    place = folder.resolve()
    if (place / METADATA_FILE).is_file():
        raise Malformed(
            f"{folder} is a table folder. `openmirror validate` checks one; `check` takes the "
            f"landing zone that it lies in: {place.parent}"
        )
    store = LocalStore(place.parent)
    return _read(store, StorePath(place.name), place.name, settings, _known(settings, place))


def zone_at(settings: Settings, url: str) -> ZoneContents:
    """What lies in the landing zone at a URL; raises Malformed for what is none."""
    try:
        zone = ZoneUrl.parse(url)
    except ValueError as error:
        raise Malformed(str(error)) from None
    store = account_store(settings.model_copy(update={"root": zone.account}))
    try:
        return _read(store, zone.path, layout.name_of(zone.path), settings, None)
    finally:
        store.close()


def zones_of(settings: Settings, chosen: Sequence[str]) -> tuple[ZoneContents, ...]:
    """What lies in the landing zones of a local root: of these mirrors, or of all."""
    root = settings.root_folder()
    store = LocalStore(root)
    return tuple(
        _read(
            store,
            layout.landing_zone(name),
            name,
            settings,
            _known(settings, root.resolve() / layout.landing_zone(name)),
        )
        for name in chosen or mirrors(store)
    )


@dataclass(frozen=True)
class ObservedAccount:
    """An account that a publisher can write to, and what was seen of it."""

    url: str
    """With the account's name."""
    certificate: Path | None
    recorder: Recorder
    before: frozenset[StorePath] | None
    """What lay in its landing zones at first; None where that is not known."""

    @property
    def exchanges(self) -> tuple[Exchange, ...]:
        """Every request so far."""
        return self.recorder.exchanges


@contextmanager
def observed_account(
    settings: Settings,
    faults: Sequence[InjectedFault],
    restart: Callable[[InjectedFault], None],
    heard: Callable[[Exchange], None] | None = None,
) -> Iterator[ObservedAccount]:
    """A local root as an account, or in front of the remote account that the root is.

    Faults are never injected in front of a remote account: raises CannotStart.
    """
    with optional_packages("observing a publisher needs", **_EXTRAS):
        from openmirror.conformance.observing import Recorder

    recorder = Recorder(heard)
    root = settings.root_given()
    if isinstance(root, AccountUrl):
        if faults:
            raise CannotStart("faults are never injected in front of a remote account")
        with _proxied(settings, root, recorder) as url:
            yield ObservedAccount(url, None, recorder, None)
        return

    before = frozenset(_files(root))
    with served(settings, front=_observer(root, recorder, faults, restart)) as server:
        url = f"{server.url}/{settings.serve_account}"
        yield ObservedAccount(url, server.certificate, recorder, before)


@contextmanager
def observed_onelake(
    settings: Settings,
    env: Mapping[str, str],
    faults: Sequence[InjectedFault],
    restart: Callable[[InjectedFault], None],
    mirrors: Sequence[str],
) -> Iterator[tuple[ObservedAccount, OneLake]]:
    """A local root as OneLake, with these mirrors: all that `onelake_served` says holds here."""
    with optional_packages("observing a publisher needs", **_EXTRAS):
        from openmirror.conformance.observing import Recorder

    recorder = Recorder()
    root = settings.root_folder()
    before = frozenset(_files(root))
    front = _observer(root, recorder, faults, restart)
    with onelake_served(settings, env, mirrors=mirrors, any_port=True, front=front) as onelake:
        observed = ObservedAccount(onelake.server.url, onelake.trust.certificate, recorder, before)
        yield observed, onelake


def _observer(
    root: Path,
    recorder: Recorder,
    faults: Sequence[InjectedFault],
    restart: Callable[[InjectedFault], None],
) -> FrontOf:
    from openmirror.conformance.faults import FaultSchedule
    from openmirror.conformance.observing import Observer
    from openmirror.conformance.row_hashes import rows_hash

    schedule = FaultSchedule(faults)

    def in_front(account: Account, endpoint: Endpoint) -> Observer:
        del account
        return Observer(
            inner=endpoint,
            naming=endpoint.naming,
            recorder=recorder,
            faults=schedule,
            rows_of=lambda path: rows_hash(root / path),
            restart=restart,
        )

    return in_front


@contextmanager
def _proxied(settings: Settings, account: AccountUrl, recorder: Recorder) -> Iterator[str]:
    from openmirror.conformance.forwarding import Forwarder
    from openmirror.conformance.observing import Observer
    from openmirror.emulator.listening import Listening, listen
    from openmirror.emulator.places import AccountNaming

    listening = listen(settings.serve_host, settings.serve_port)
    port = listening.getsockname()[1]
    naming = AccountNaming(account.account)
    observer = Observer(inner=Forwarder(account), naming=naming, recorder=recorder)
    with Listening(observer, listening):
        # In the path only where the account has it there too, or signatures would not fit.
        name = f"/{account.account}" if account.in_path else ""
        yield f"http://{settings.serve_host}:{port}{name}"


def _files(root: Path) -> Iterator[StorePath]:
    for path in (root / layout.LANDING).rglob("*"):
        if path.is_file():
            yield StorePath(path.relative_to(root).as_posix())


def _known(settings: Settings, zone: Path) -> Known | None:
    """What the mirror of a zone observes of its tables, where the zone lies in a root."""
    place = layout.path_in_zone(zone.parts[1:])
    if place is None or place.below:
        return None

    def known(folder: TableFolder) -> ObservedState | FolderFinding | None:
        of_mirror = TableFolder(place.mirror, folder.path)
        return mirror_observed(settings, TablePlace(of_mirror, place.root))

    return known


def _read(
    store: FileStore, zone: StorePath, name: str, settings: Settings, known: Known | None
) -> ZoneContents:
    with optional_packages("a check needs", **_EXTRAS):
        from openmirror.conformance.contents import nobody_knows, read_zone
        from openmirror.conformance.zone_view import ZoneView
        from openmirror.formats.checking import ChangeFileRows
        from openmirror.formats.inspect import ChangeFileInspector

    view = ZoneView(store, zone, name)
    return read_zone(
        view,
        ChangeFileInspector(view),
        ChangeFileRows(view),
        name,
        limits(settings),
        known or nobody_knows,
    )
