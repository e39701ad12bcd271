"""Workspaces, items and paths in all spellings that publishers send, and those that are wrong."""

from __future__ import annotations

import socket
import ssl
from uuid import uuid4

import pytest
from cryptography import x509

from openmirror.emulator.onelake.hosts import BLOB, CERTIFIED, DFS, HostPart, part_of, regional
from openmirror.emulator.onelake.items import Items, NamedMirror
from openmirror.emulator.onelake.serving import require_loopback
from openmirror.errors import CannotStart
from tests.onelake.conftest import IDS, NAMED, ZONE, Asking

GUIDS = f"/{IDS[0]}/{IDS[1]}/Files/LandingZone"


def table(asking: Asking) -> str:
    """A table folder of its own, with one staged file."""
    name = f"T{uuid4().hex[:8]}"
    assert asking("PUT", f"{ZONE}/{name}?resource=directory").status == 201
    assert asking("PUT", f"{ZONE}/{name}/_1.parquet?resource=file").status == 201
    return name


SPELLINGS = (
    f"{ZONE}/{{}}/_1.parquet",
    f"{GUIDS}/{{}}/_1.parquet",
    f"https://{DFS}{ZONE}/{{}}/_1.parquet",
    f"https://{DFS}{ZONE}/{{}}/_1.parquet?resource=file",
    f"https://{DFS}:10443{ZONE}/{{}}/_1.parquet",
    f"https://{BLOB}{ZONE}/{{}}/_1.parquet?mode=legacy",
    f"https://westeurope-{DFS}{ZONE}/{{}}/_1.parquet",
    "/My Workspace/sales.mirroreddatabase/Files/LandingZone/{}/_1.parquet",
    "My%20Workspace/Sales.MountedRelationalDatabase//Files/LandingZone/{}/%5F1.parquet",
)


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_rename_source_is_understood_in_every_spelling(asking: Asking, spelling: str) -> None:
    name = table(asking)
    answer = asking(
        "PUT",
        f"{GUIDS}/{name}/00000000000000000001.parquet",
        headers={"x-ms-rename-source": spelling.format(name)},
    )
    assert answer.status == 201, answer.body
    folder = asking.root / "landing/sales/Files/LandingZone" / name
    assert [file.name for file in folder.iterdir()] == ["00000000000000000001.parquet"]


@pytest.mark.parametrize(
    ("source", "status"),
    [
        ("https://contoso.dfs.core.windows.net/a/b/Files/LandingZone/x", 400),
        ("/My Workspace", 400),
        ("/Nowhere/Sales.MountedRelationalDatabase/Files/LandingZone/x", 404),
        ("/My Workspace/Sales.Lakehouse/Files/LandingZone/x", 404),
        ("/My Workspace/Sales.MountedRelationalDatabase/Tables/dbo/x", 403),
        ("/My Workspace/Sales.MountedRelationalDatabase/Files/../../lake", 400),
        ("/My Workspace/Sales.MountedRelationalDatabase/Files/LandingZone/none", 404),
        ("/My%FFWorkspace/x/y/z", 400),
        ("https://[x/Files", 400),
    ],
)
def test_a_wrong_rename_source_is_refused(asking: Asking, source: str, status: int) -> None:
    name = table(asking)
    answer = asking("PUT", f"{ZONE}/{name}/1.parquet", headers={"x-ms-rename-source": source})
    assert answer.status == status, answer.body


@pytest.mark.parametrize(
    ("path", "prefix"),
    [
        (
            "/My%20Workspace?resource=filesystem&recursive=false"
            "&directory=Sales.MountedRelationalDatabase/Files/LandingZone/{}",
            "Sales.MountedRelationalDatabase",
        ),
        (f"{ZONE}/{{}}?resource=filesystem&recursive=false", "Sales.MountedRelationalDatabase"),
        (
            f"{ZONE}?resource=filesystem&recursive=true&directory={{}}",
            "Sales.MountedRelationalDatabase",
        ),
        (f"{GUIDS}/{{}}?resource=filesystem&recursive=false&directory=", IDS[1]),
        (
            f"/{IDS[0]}?resource=filesystem&recursive=true&directory=/{IDS[1]}/Files/LandingZone/{{}}",
            IDS[1],
        ),
    ],
)
def test_a_list_names_paths_as_it_was_asked(asking: Asking, path: str, prefix: str) -> None:
    name = table(asking)
    answer = asking("GET", path.format(name))
    assert answer.status == 200, answer.body
    names = [entry["name"] for entry in answer.json()["paths"]]
    assert names == [f"{prefix}/Files/LandingZone/{name}/_1.parquet"]


def test_the_blob_twin_lists_by_prefix(asking: Asking) -> None:
    name = table(asking)
    prefix = f"Sales.MountedRelationalDatabase/Files/LandingZone/{name}/"
    path = f"/My%20Workspace?restype=container&comp=list&prefix={prefix}"
    text = asking("GET", path, host=BLOB).body.decode()
    assert f"<Name>{prefix}_1.parquet</Name>" in text
    assert 'ContainerName="My Workspace"' in text
    assert f"<Prefix>{prefix}</Prefix>" in text


def test_workspaces_and_items_are_listed(asking: Asking) -> None:
    listed = asking("GET", "/?resource=account").json()["filesystems"]
    assert [one["name"] for one in listed] == ["My Workspace", IDS[0]]
    path = "/My%20Workspace?resource=filesystem&recursive=false"
    items = asking("GET", path).json()["paths"]
    assert [one["name"] for one in items] == [
        "Sales.MountedRelationalDatabase",
        "Stock.MountedRelationalDatabase",
    ]
    assert asking("HEAD", "/My%20Workspace?resource=filesystem").status == 200
    assert asking("HEAD", NAMED).headers["x-ms-resource-type"] == "directory"


def test_tables_are_read_where_the_mirror_makes_them(asking: Asking) -> None:
    made = asking.root / "lake/sales/Tables/dbo/orders/_delta_log"
    made.mkdir(parents=True, exist_ok=True)
    (made / "0.json").write_bytes(b"{}")
    log = f"{NAMED}/Tables/dbo/orders/_delta_log"
    assert asking("GET", f"{log}/0.json").body == b"{}"
    names = asking("GET", f"{log}?resource=filesystem&recursive=false").json()["paths"]
    assert names[0]["name"].startswith("Sales.MountedRelationalDatabase/Tables/dbo/")
    assert asking("PUT", f"{log}/1.json?resource=file").status == 403
    assert asking("DELETE", f"{NAMED}/Tables/dbo?recursive=true").status == 403


@pytest.mark.parametrize(
    ("method", "path", "status", "says"),
    [
        ("HEAD", "/Nowhere/x/Files", 404, ""),
        ("GET", "/Nowhere?resource=filesystem&recursive=false", 404, "no workspace 'Nowhere'"),
        ("GET", f"/{uuid4()}/{uuid4()}/Files/x", 404, "no workspace"),
        ("GET", f"/{IDS[0]}/{uuid4()}/Files/x", 404, "no item"),
        ("GET", "/My%20Workspace/Sales.Lakehouse/Files/x", 404, "no item 'Sales.Lakehouse'"),
        ("GET", "/My%20Workspace/Sales/Files/x", 404, "ends with its type"),
        ("PUT", "/My%20Workspace/new?resource=directory", 404, "no item 'new'"),
        ("PUT", f"{NAMED}/Other/x?resource=file", 403, "nothing beside them"),
        ("GET", f"{NAMED}/Other/x", 404, "nothing beside them"),
        ("DELETE", f"{NAMED}/Files?recursive=true", 403, "Fabric manages"),
        ("DELETE", f"{NAMED}?recursive=true", 403, "Fabric manages"),
        ("PUT", "/New?resource=filesystem", 404, "no workspace"),
        ("PUT", "/My%20Workspace?resource=filesystem", 403, "made and deleted in Fabric"),
        ("DELETE", "/My%20Workspace?resource=filesystem", 403, "made and deleted in Fabric"),
        ("DELETE", f"{ZONE}?resource=filesystem", 403, "Fabric manages"),
        ("PUT", f"{ZONE}?resource=filesystem", 409, ""),
        ("GET", "/My%20Workspace?resource=filesystem&recursive=true", 501, "one item"),
        ("GET", f"{NAMED}/Files/%2e%2e/x", 400, ""),
        ("GET", "/My%FF", 400, "UTF-8"),
        ("GET", f"{ZONE}?resource=filesystem&recursive=false&directory=%00", 400, "NUL"),
        ("GET", f"{ZONE}?resource=filesystem&recursive=false&directory=../x", 400, ".."),
    ],
)
def test_a_wrong_place_is_refused_in_words(
    asking: Asking, method: str, path: str, status: int, says: str
) -> None:
    answer = asking(method, path)
    assert answer.status == status, answer.body
    if method != "HEAD":
        assert says in answer.json()["error"]["message"]


@pytest.mark.parametrize("host", ["contoso.dfs.core.windows.net", "fabric.microsoft.com", "x"])
def test_a_host_that_nobody_stands_for_is_refused(asking: Asking, host: str) -> None:
    plain = socket.create_connection(("127.0.0.1", asking.onelake.port), timeout=20)
    context = ssl.create_default_context(cafile=str(asking.onelake.trust.certificate))
    with context.wrap_socket(plain, server_hostname=DFS) as connection:
        sent = f"GET /a HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n"
        connection.sendall(sent.encode())
        answer = connection.makefile("rb").read()
    assert answer.startswith(b"HTTP/1.1 421 ")
    assert b"nobody here stands for" in answer


def test_what_a_publisher_writes_raises_the_events_of_the_mirror(asking: Asking) -> None:
    name = table(asking)
    subject = f"/containers/landing/blobs/sales/Files/LandingZone/{name}/_1.parquet"
    assert any(event["subject"].endswith(subject) for event in asking.events)


def test_the_certificate_is_of_its_names_and_no_authority(asking: Asking) -> None:
    file = asking.onelake.trust.certificate
    made = x509.load_pem_x509_certificate(file.read_bytes())
    assert made.extensions.get_extension_for_class(x509.BasicConstraints).value.ca is False
    usage = made.extensions.get_extension_for_class(x509.KeyUsage).value
    assert not usage.key_cert_sign
    names = made.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert set(CERTIFIED) <= set(names.get_values_for_type(x509.DNSName))
    assert file.with_suffix(".key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("host", "part"),
    [
        (DFS, HostPart.STORAGE),
        (f"{DFS.upper()}:443", HostPart.STORAGE),
        (regional("westeurope")[1], HostPart.STORAGE),
        ("login.microsoftonline.com:10443", HostPart.LOGIN),
        ("sts.windows.net", HostPart.LOGIN),
        ("westus2.login.microsoft.com", HostPart.LOGIN),
        ("a.b.login.microsoft.com", None),
        ("api.fabric.microsoft.com", HostPart.FABRIC),
        ("127.0.0.1:10443", HostPart.HERE),
        ("[::1]:10443", HostPart.HERE),
        ("evil.localhost.com", None),
        ("", None),
    ],
)
def test_each_host_has_its_part(host: str, part: HostPart | None) -> None:
    assert part_of(host) is part


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sales", "is not WORKSPACE/ITEM=MIRROR"),
        ("ws=sales", "is not WORKSPACE/ITEM=MIRROR"),
        ("/item=sales", "is not WORKSPACE/ITEM=MIRROR"),
        ("ws/.MirroredDatabase=sales", "is not WORKSPACE/ITEM=MIRROR"),
        ("ws/it/em=sales", "named by its GUID"),
        ("ws/item=a/b", "no mirror's name"),
        ("ws/item=_a", "no mirror's name"),
        (f"{IDS[0]}/item=sales", "mixes a name and a GUID"),
        (f"ws/{IDS[0]}=sales", "mixes a name and a GUID"),
    ],
)
def test_a_wrong_map_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        NamedMirror.parse(text)


def test_an_item_is_one_mirror_whatever_its_case() -> None:
    with pytest.raises(CannotStart, match="stands for two mirrors, a and b"):
        Items([NamedMirror.parse("W/Item=a"), NamedMirror.parse("w/item.MirroredDatabase=b")])
    assert len(list(Items([NamedMirror.parse("W/Item=a"), NamedMirror.parse("w/ITEM=a")]))) == 1


def test_a_name_may_hold_an_equals_sign_and_ids_stay_the_same() -> None:
    first, again = (next(iter(Items([NamedMirror.parse("a=b/c=d=m")]))) for _ in range(2))
    assert (first.workspace.name, first.name, first.mirror) == ("a=b", "c=d", "m")
    assert (first.workspace.id, first.id) == (again.workspace.id, again.id)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3"])
def test_only_loopback_is_listened_on(host: str) -> None:
    with pytest.raises(CannotStart, match="listens on loopback only"):
        require_loopback(host)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_every_loopback_will_do(host: str) -> None:
    require_loopback(host)
