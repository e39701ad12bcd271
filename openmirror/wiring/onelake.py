"""The local endpoint as OneLake, over a root and its mirrors."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from openmirror.errors import CannotStart
from openmirror.operate.finding import known_mirrors
from openmirror.settings import Settings
from openmirror.table import layout
from openmirror.wiring.fabric import MirrorsOfRoot
from openmirror.wiring.local import local_ports, local_root
from openmirror.wiring.serving import endpoint_options, handed_to

if TYPE_CHECKING:
    from openmirror.emulator.events import Sink
    from openmirror.emulator.onelake.items import Items
    from openmirror.emulator.onelake.serving import OneLake
    from openmirror.emulator.server import FrontOf

_DEPLOYED = ("WEBSITE_INSTANCE_ID", "FUNCTIONS_WORKER_RUNTIME", "DATABRICKS_RUNTIME_VERSION")
"""What Azure's and Databricks' own machines have in their environment."""


@contextmanager
def onelake_served(
    settings: Settings,
    env: Mapping[str, str],
    *sinks: Sink,
    mirrors: Sequence[str] = (),
    any_port: bool = False,
    front: FrontOf | None = None,
) -> Iterator[OneLake]:
    """The endpoint as OneLake, answering until the block ends.

    `mirrors` are made where they are not there. With `any_port` another port is taken where 443 is
    not to be had and none was chosen. `front` puts an application before its storage. Raises
    CannotStart when it may not, or cannot, listen.
    """
    deployed = [name for name in _DEPLOYED if env.get(name)]
    if deployed:
        raise CannotStart(
            f"--onelake is for a developer's machine, and {deployed[0]} says that this is none: "
            "nothing that is deployed may give tokens to whoever asks"
        )
    root = local_root(settings)
    with ExitStack() as parts:
        options = endpoint_options(settings, root)
        try:
            from openmirror.emulator.onelake.serving import serving
        except ModuleNotFoundError as error:
            if error.name != "openmirror.emulator.onelake":
                raise
            raise CannotStart(
                "this is a package that was made to be deployed, and the stand-in for Entra ID is "
                "left out of those: run `openmirror serve --onelake` from a checkout"
            ) from error

        port = settings.port_to_serve()
        if any_port and port == 443 and not _is_free(settings.serve_host, port):
            port = 0
        items = _items(settings, root, mirrors)
        fabric = MirrorsOfRoot(local_ports(settings), root)
        yield parts.enter_context(
            serving(
                replace(options, port=port, certificate=None),
                items,
                fabric,
                token_lifetime=int(settings.serve_token_lifetime.total_seconds()),
                region=settings.serve_region,
                env=env,
                sink=handed_to(settings, sinks, parts),
                before=front,
            )
        )


def _items(settings: Settings, root: Path, made: Sequence[str]) -> Items:
    """What publishers may name, with the zones of `made`; raises CannotStart."""
    from openmirror.emulator.onelake.items import WORKSPACE, Items, NamedMirror, check_mirror_name

    for mirror in made:
        try:
            check_mirror_name(mirror)
        except ValueError as error:
            raise CannotStart(f"--mirror {error}") from error
        (root / layout.landing_zone(mirror)).mkdir(parents=True, exist_ok=True)
    try:
        mapped = [NamedMirror.parse(text) for text in settings.serve_map]
    except ValueError as error:
        raise CannotStart(f"--map {error}") from error
    for one in mapped:
        if not (root / layout.landing_zone(one.mirror)).is_dir():
            raise CannotStart(
                f"there is no mirror {one.mirror}, which --map names: add --mirror {one.mirror} to "
                "make its landing zone"
            )
    known = {one.mirror for one in mapped}
    ports = local_ports(settings)
    wanted = made if mapped else known_mirrors(ports.store)
    others = [NamedMirror(WORKSPACE, name, name) for name in wanted if name not in known]
    if not mapped and not others:
        raise CannotStart(
            f"there is no mirror in {root} to publish into: add --mirror NAME to make one"
        )
    return Items([*mapped, *others])


def _is_free(host: str, port: int) -> bool:
    try:
        with socket.create_server((host, port), reuse_port=False):
            return True
    except OSError:
        return False
