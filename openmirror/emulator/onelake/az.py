"""A program called `az` that gives out access tokens, and does nothing else."""

from __future__ import annotations

import sys
from pathlib import Path

_PROGRAM = '''#!{python} -IS
"""Takes the place of the Azure CLI while a publisher runs against `openmirror serve --onelake`."""
import sys, urllib.error, urllib.parse, urllib.request
words = sys.argv[1:]
if words[:2] == ["account", "get-access-token"]:
    given = dict(zip(words[2:], words[3:]))
    names = {{"--resource": "resource", "--scope": "scope", "--tenant": "tenant", "-t": "tenant"}}
    query = {{names[word]: value for word, value in given.items() if word in names}}
    query.setdefault("resource", query.pop("scope", "https://management.azure.com/"))
    url = "{address}/az/account/get-access-token?" + urllib.parse.urlencode(query)
    request = urllib.request.Request(url, headers={{"Metadata": "true"}})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({{}}))
    try:
        print(opener.open(request).read().decode())
    except urllib.error.HTTPError as error:
        sys.exit("ERROR: " + error.read().decode())
elif words[:1] in (["version"], ["--version"]):
    print('{{"azure-cli": "2.80.0"}}')
else:
    sys.exit("ERROR: this program stands for the Azure CLI beside openmirror, and knows nothing "
             "but account get-access-token")
'''


def write_az(folder: Path, address: str) -> Path:
    """The folder that goes before others in PATH; `address` is where managed identity answers."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "az"
    program.write_text(_PROGRAM.format(python=sys.executable, address=address))
    program.chmod(0o755)
    return folder
