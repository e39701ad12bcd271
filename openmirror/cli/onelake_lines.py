"""What `serve --onelake` prints: how publishers find it, trust it and what to call mirrors."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openmirror.emulator.onelake.items import Item
    from openmirror.emulator.onelake.serving import OneLake

_DFS = "onelake.dfs.fabric.microsoft.com"
_LOGIN = "login.microsoftonline.com"

WARNING = (
    "Entra ID is a stand-in: it gives a token to whoever asks. A publisher that is configured with "
    "a real client secret sends it here. It is neither kept nor shown; use another all the same"
)


def how_to_reach_onelake(onelake: OneLake, root: object) -> str:
    """Everything that a publisher needs, in lines to copy; nothing of it is done for it."""
    port = "" if onelake.port == 443 else f":{onelake.port}"
    address = "127.0.0.1" if onelake.host == "localhost" else onelake.host
    lines = [f"OneLake over {root}, at {address} port {onelake.port}"]
    for item in onelake.items:
        lines += _item(item, port)
    lines += [
        "",
        "1. lead these names here: add the lines to /etc/hosts, and remove them when you are done",
        *(f"  {address} {name}" for name in onelake.names),
    ]
    if port:
        lines += [
            f"  They know port 443, and this is {onelake.port}: write it into the publisher's URL, "
            "and",
            f"  export AZURE_AUTHORITY_HOST=https://{_LOGIN}{port}",
            "  or, with curl, which then needs no line in /etc/hosts:",
            f"  curl --connect-to {_DFS}:443:{address}:{onelake.port} ... https://{_DFS}/...",
            f"  curl --resolve {_DFS}:{onelake.port}:{address} ... https://{_DFS}{port}/...",
        ]
    lines += ["", "2. trust its certificate, and what you trusted before"]
    lines += [f"  {name + ':':10} {line}" for name, line in onelake.trust.lines]
    lines += [
        "",
        "Managed identity (over http, in place of 169.254.169.254):",
        *(
            f"  export {name}={shlex.quote(value)}"
            for name, value in onelake.identity.environment(onelake.identity_address).items()
        ),
        "",
        "Both steps for one command alone, and without root: openmirror serve --onelake --run -- "
        "COMMAND",
    ]
    return "\n".join(lines)


def _item(item: Item, port: str) -> list[str]:
    from urllib.parse import quote

    base = f"https://{_DFS}{port}"
    zone = "Files/LandingZone"
    return [
        f"  mirror {item.mirror}: item {item.name!r} in workspace {item.workspace.name!r}",
        f"    {base}/{quote(item.workspace.name)}/{quote(item.folder)}/{zone}",
        f"    {base}/{item.workspace.id}/{item.id}/{zone}",
    ]
