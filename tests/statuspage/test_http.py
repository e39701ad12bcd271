"""Status over HTTP as a caller sees it, over a local root: shapes, pages, verbs and refusals."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest
from typer.testing import CliRunner

from functions import status as edge
from openmirror import wiring
from openmirror.cli.app import app as cli
from openmirror.errors import Unavailable
from openmirror.operate import overview
from openmirror.ports import FileStore
from openmirror.ports.dead_letters import DeadLetter
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.documents import Documents
from openmirror.reconcile.reconciliation import reconcile_until_idle
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.sweeping import publish_all
from openmirror.settings import Settings
from openmirror.stores.memory.dead_letters import MemoryDeadLetters, MemoryRequeuer
from openmirror.table import layout
from openmirror.table.layout import join
from openmirror.wiring.functions import function_app_context
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land, table

ORDERS, ITEMS = table("m", "Sales.schema/Orders"), table("m", "items")
BAD = f"{2:020d}.parquet"


class Site:
    """A local root, and the functions that are asked about it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        (root / layout.landing_zone("m")).mkdir(parents=True)
        settings = Settings(root=root, metadata_grace=timedelta(0), drop_grace=timedelta(0))
        self.ports: RootPorts = wiring.local_ports(settings)
        self.dead_letters = MemoryDeadLetters()
        self.requeuer = MemoryRequeuer()

    @property
    def store(self) -> FileStore:
        return self.ports.store

    def run(self, *folders: TableFolder) -> None:
        for folder in folders:
            reconcile_until_idle(self.ports, PaperEngine(self.store), folder)
        publish_all(self.ports, ["m"])

    def ask(
        self,
        name: str,
        method: str = "POST",
        body: object = None,
        headers: dict[str, str] | None = None,
        route: dict[str, str] | None = None,
        **params: str,
    ) -> func.HttpResponse:
        sent = body if isinstance(body, bytes) else json.dumps(body or {}).encode()
        request = func.HttpRequest(
            method,
            f"https://app.azurewebsites.net/api/{name}?code=secret",
            params=params,
            headers=headers or {},
            route_params=route or {"mirror": "m"},
            body=sent,
        )
        return handler(name)(request)

    def operate(self, verb: str, headers: dict[str, str] | None = None, **body: object) -> Any:
        return self.ask("operate", body=body, headers=headers, route={"verb": verb})


def handler(name: str) -> Any:
    app = func.FunctionApp()
    app.register_functions(edge.blueprint)
    found = {one.get_function_name(): one.get_user_function() for one in app.get_functions()}
    return found[name]


def body_of(response: func.HttpResponse) -> Any:
    return json.loads(response.get_body())


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    made = Site(tmp_path)
    monkeypatch.setattr(edge, "built", lambda: made)
    return made


def test_a_mirrors_status_has_fabrics_shape(site: Site) -> None:
    assert body_of(site.ask("getMirroringStatus")) == {"status": "Initialized"}
    site.run()
    assert body_of(site.ask("getMirroringStatus")) == {"status": "Running"}
    site.store.write(layout.mirror_settings("m"), b"no")
    error = body_of(site.ask("getMirroringStatus"))["error"]
    assert error["errorCode"] == "MirrorSettingsInvalid"
    assert "mirroring.json" in error["message"]


def test_the_tables_status_is_what_the_command_prints(site: Site) -> None:
    land(site.store, ORDERS, 1)
    land(site.store, ITEMS, 1, 3)
    site.run(ORDERS, ITEMS)
    reported = body_of(site.ask("getTablesMirroringStatus"))
    printed = CliRunner().invoke(cli, ["status", "--json", "--root", str(site.root)])
    expected = json.loads(printed.stdout)
    for answer in (reported, expected):
        for one in answer["data"]:
            one["openmirror"].pop("lagSeconds")  # grows meanwhile
    assert reported == expected
    assert [one["sourceTableName"] for one in reported["data"]] == ["items", "Orders"]


def test_pages_go_on_where_the_one_before_ended(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"t{number}" for number in range(5)]
    for name in names:
        land(site.store, table("m", name), 1)
    monkeypatch.setattr(overview.table_page, "__defaults__", (None, 2))
    found, params = [], {}
    for _ in range(3):
        page = body_of(site.ask("getTablesMirroringStatus", **params))
        found += [one["sourceTableName"] for one in page["data"]]
        params = {"continuationToken": page.get("continuationToken", "")}
        if params["continuationToken"]:
            assert page["continuationUri"].endswith(
                "/api/getTablesMirroringStatus?continuationToken="
                + params["continuationToken"].replace("=", "%3D")
            )
            assert "secret" not in page["continuationUri"]
    assert found == names
    assert params == {"continuationToken": ""}


def test_a_zone_that_cannot_be_listed_is_an_entry_and_never_an_empty_list(site: Site) -> None:
    land(site.store, ITEMS, 1)
    site.run(ITEMS)
    (site.root / layout.landing_zone("m")).rename(site.root / "elsewhere")
    (entry,) = body_of(site.ask("getTablesMirroringStatus"))["data"]
    assert (entry["status"], entry["error"]["errorCode"]) == ("Failed", "LandingZoneUnreadable")


def test_the_page_has_who_publishes_what_is_misplaced_and_what_is_never_read(site: Site) -> None:
    land(site.store, ITEMS, 1)
    zone, lost = layout.landing_zone("m"), f"{1:020d}.parquet"
    site.store.write(layout.join(zone, lost), b"x")
    site.store.write(layout.join(layout.table_folder(ITEMS), "2.parquet"), b"x")
    about = b'{"partnerName": "Contoso <b>", "sourceInfo": {"sourceType": "SQL"}}'
    site.store.write(layout.join(zone, "_partnerEvents.json"), about)
    (site.root / "landing" / "other" / "files" / "LandingZone").mkdir(parents=True)
    site.run(ITEMS)
    text = site.ask("status", "GET", code="secret").get_body().decode()
    assert "published by Contoso &lt;b&gt; (SQL)" in text
    assert f"{zone}/{lost}" in text
    assert "landing/other/files/LandingZone" in text
    assert text.count("FileMisplaced") == 2
    assert "FileNeverRead" in text
    (mirror,) = body_of(site.ask("getTablesMirroringStatus"))["mirrors"]
    assert mirror["publisher"]["name"] == "Contoso <b>"


def test_the_page_is_html_that_no_cache_keeps(site: Site) -> None:
    land(site.store, ITEMS, 1)
    site.run(ITEMS)
    response = site.ask("status", "GET", code="secret")
    text = response.get_body().decode()
    assert response.headers["Content-Type"].startswith("text/html")
    assert response.headers["Cache-Control"] == "no-store"
    assert "dbo.items" in text
    assert 'content="15"' in text
    still = site.ask("status", "GET", code="secret", refresh="0").get_body().decode()
    assert "http-equiv" not in still
    assert "?code=secret&amp;refresh=1" in still


def test_partitions_that_wait_are_on_the_page_and_in_the_answer_and_can_be_given_up(
    site: Site,
) -> None:
    north, south = "Region=North", "Region=<b>South"
    land(site.store, ORDERS, 1)
    good = site.store.read(join(layout.table_folder(ORDERS), f"{1:020d}.parquet")).data
    place = layout.table_folder(ITEMS)
    options = b'{"keyColumns": ["id"], "isPartitionEnabled": true}'
    site.store.write(join(place, "_metadata.json"), options)
    for partition, number in ((north, 1), (north, 3), (south, 2)):
        site.store.write(join(place, partition, f"{number:020d}.parquet"), good)
    site.run(ITEMS)

    def items() -> dict[str, Any]:
        data = body_of(site.ask("getTablesMirroringStatus"))["data"]
        return next(one["openmirror"] for one in data if one["sourceTableName"] == "items")

    applied = [(p["partition"], p["appliedSequence"]) for p in items()["partitions"]]
    assert applied == [(south, "0"), (north, "1")]
    page = site.ask("status", "GET", code="secret").get_body().decode()
    assert f"gap at 2 in {north}" in page
    assert "gap at 1 in Region=&lt;b&gt;South" in page
    assert f"skip m/dbo.items --through {north}/2 --why" in page
    assert "<b>South" not in page

    refused = site.operate("skip", table="dbo.items", through="Region/2", why="x")
    assert refused.status_code == 400
    for through in (f"{north}/2", f"{south}/1"):
        assert site.operate("skip", table="dbo.items", through=through, why="x").status_code == 202
    site.run(ITEMS)
    assert [p["waitingFor"] for p in items()["partitions"]] == [None, None]
    assert items()["appliedSequence"] == "3"


def test_an_operator_holds_and_resumes_a_table(site: Site) -> None:
    land(site.store, ITEMS, 1)
    site.run(ITEMS)
    who = {"x-ms-client-principal-name": "ann@contoso.com"}
    held = site.operate("pause", who, table="m/dbo.items", why="nightly load")
    assert (held.status_code, body_of(held)) == (
        202,
        {"data": [{"table": "m/dbo.items", "done": "held"}]},
    )
    control = Documents(site.store).table(ITEMS).value
    assert control.hold is not None
    assert (control.hold.by, control.hold.why) == ("ann@contoso.com", "nightly load")
    assert site.operate("resume", table="dbo.items").status_code == 202
    last = Documents(site.store).table(ITEMS).value.acts[-1]
    assert (last.what, last.by) == ("resume", "the master key")


def _broken_file(site: Site) -> None:
    land(site.store, ITEMS, 1)
    site.store.write(join(layout.table_folder(ITEMS), BAD), b"this is no Parquet file")
    site.run(ITEMS)


def test_a_bad_file_is_skipped_and_a_problem_tried_again(site: Site) -> None:
    _broken_file(site)
    assert site.operate("retry", table="dbo.items").status_code == 202
    skipped = site.operate("skip", table="dbo.items", file=BAD, why="test data")
    assert skipped.status_code == 202
    land(site.store, ITEMS, 3)
    site.run(ITEMS)
    (one,) = body_of(site.ask("getTablesMirroringStatus"))["data"]
    assert one["openmirror"]["appliedSequence"] == "3"


def test_a_gap_is_given_up_through_a_number(site: Site) -> None:
    land(site.store, ITEMS, 1, 3)
    site.run(ITEMS)
    through = site.operate("skip", table="dbo.items", through="2", why="lost in May")
    assert through.status_code == 202
    site.run(ITEMS)
    (one,) = body_of(site.ask("getTablesMirroringStatus"))["data"]
    assert one["openmirror"]["appliedSequence"] == "3"


def test_reseed_undrop_adopt_and_confirm_drops_reach_their_tables(site: Site) -> None:
    folders = [table("m", f"t{number}") for number in range(5)]
    for folder in folders:
        land(site.store, folder, 1)
    site.run(*folders)
    assert site.operate("reseed", table="dbo.t0").status_code == 202
    adopted = body_of(site.operate("adopt", mirror="m", all=True))["data"]
    assert [one["table"] for one in adopted] == [f"m/dbo.t{number}" for number in range(5)]
    site.run(*folders)
    for folder in folders[:4]:
        site.store.delete_folder(layout.table_folder(folder))
    site.run(*folders, *folders)
    confirmed = body_of(site.operate("confirm-drops", mirror="m"))["data"]
    assert [one["table"] for one in confirmed] == [f"m/dbo.t{number}" for number in range(4)]
    site.run(*folders)
    back = site.operate("undrop", table="dbo.t1")
    assert body_of(back)["data"] == [{"table": "m/dbo.t1", "done": "will come back, held"}]


@pytest.mark.parametrize(
    ("verb", "body", "status", "code", "words"),
    [
        ("pause", b"no", 400, "InvalidRequest", "JSON"),
        ("pause", b"[]", 400, "InvalidRequest", "object"),
        ("pause", b'{"tabel": "dbo.items"}', 400, "InvalidRequest", "tabel"),
        ("pause", b'{"table": 7}', 400, "InvalidRequest", "table"),
        ("pause", b"", 400, "InvalidRequest", "[mirror/]schema.table"),
        ("pause", b'{"table": "items"}', 409, "RequestRefused", "schema.table"),
        ("pause", b'{"table": "dbo.itms"}', 404, "ItemNotFound", "dbo.items"),
        ("pause", b'{"table": "dbo.items", "mirror": "n"}', 404, "ItemNotFound", "no mirror n"),
        ("resume", b'{"table": "dbo.items"}', 409, "RequestRefused", "not held"),
        ("undrop", b'{"table": "dbo.items"}', 409, "RequestRefused", "in its place"),
        ("skip", b'{"table": "dbo.items", "why": "x"}', 400, "InvalidRequest", "file or through"),
        ("skip", b'{"table": "dbo.items", "through": 2}', 400, "InvalidRequest", "why"),
        (
            "skip",
            b'{"table": "dbo.items", "through": 99999999999999999999, "why": "x"}',
            400,
            "InvalidRequest",
            "through",
        ),
        ("explode", b"{}", 404, "ItemNotFound", "pause"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words_and_changes_nothing(
    site: Site, verb: str, body: bytes, status: int, code: str, words: str
) -> None:
    land(site.store, ITEMS, 1)
    site.run(ITEMS)
    before = Documents(site.store).table(ITEMS)
    response = site.ask("operate", body=body, route={"verb": verb})
    refused = body_of(response)
    assert (response.status_code, refused["errorCode"]) == (status, code)
    assert words in refused["message"]
    assert Documents(site.store).table(ITEMS) == before


def test_reading_what_is_not_there_is_refused_in_words(site: Site) -> None:
    land(site.store, ITEMS, 1)
    site.run(ITEMS)
    for name in ("getMirroringStatus", "getTablesMirroringStatus"):
        response = site.ask(name, route={"mirror": "nowhere"})
        assert (response.status_code, body_of(response)["errorCode"]) == (404, "ItemNotFound")
    wrong = site.ask("getTablesMirroringStatus", continuationToken="%%%")
    assert (wrong.status_code, body_of(wrong)["errorCode"]) == (400, "InvalidRequest")


def test_a_document_that_cannot_be_read_is_named(site: Site) -> None:
    land(site.store, ITEMS, 1)
    site.run(ITEMS)
    path = layout.control_document(ITEMS)
    site.store.write(path, b'{"version": 99}')
    response = site.operate("pause", table="dbo.items")
    assert (response.status_code, body_of(response)["errorCode"]) == (500, "ControlDocumentInvalid")
    assert "version 99" in body_of(response)["message"]


def test_settings_that_are_missing_are_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edge, "built", lambda: function_app_context({}))
    for name in ("getMirroringStatus", "status"):
        response = site.ask(name)
        assert (response.status_code, body_of(response)["errorCode"]) == (500, "NotConfigured")
        assert "OPENMIRROR_ROOT" in body_of(response)["message"]


def _dead_letter(identity: str) -> DeadLetter:
    return DeadLetter(
        source="table-work",
        identity=identity,
        at=datetime.now(UTC),
        reason="<b>it</b> is no work item",
        body=b"no",
    )


def test_what_was_given_up_is_on_the_page_and_can_be_put_back(site: Site) -> None:
    for identity in ("one", "two", "three"):
        site.dead_letters.keep(_dead_letter(identity))
    text = site.ask("status", "GET").get_body().decode()
    assert "3 messages were given up" in text
    assert "&lt;b&gt;it&lt;/b&gt; is no work item" in text
    name = _dead_letter("two").name
    assert name in text
    back = site.ask("requeue", body={"dead_letter": name})
    assert (back.status_code, body_of(back)) == (
        202,
        {"data": [{"dead_letter": name, "done": "put back"}]},
    )
    assert site.requeuer.sent == [("table-work", b"no")]
    gone = site.ask("requeue", body={"dead_letter": name})
    assert (gone.status_code, body_of(gone)["errorCode"]) == (404, "ItemNotFound")
    assert site.ask("requeue", body={}).status_code == 400
    assert site.ask("requeue", body={"dead_letter": name, "all": True}).status_code == 400
    assert len(body_of(site.ask("requeue", body={"all": True}))["data"]) == 2
    assert "given up" not in site.ask("status", "GET").get_body().decode()


def test_dead_letters_that_cannot_be_read_do_not_hide_the_tables(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> list[str]:
        raise Unavailable("dead-letters cannot be reached")

    land(site.store, ITEMS, 1)
    site.run(ITEMS)
    monkeypatch.setattr(site.dead_letters, "names", away)
    text = site.ask("status", "GET").get_body().decode()
    assert "dead-letters cannot be reached" in text
    assert "dbo.items" in text


def test_reads_take_a_function_key_and_verbs_the_master_key() -> None:
    app = func.FunctionApp()
    app.register_functions(edge.blueprint)
    levels = {
        one.get_function_name(): one.get_bindings_dict()["bindings"][0]["authLevel"].value
        for one in app.get_functions()
    }
    assert levels == {
        "getMirroringStatus": "function",
        "getTablesMirroringStatus": "function",
        "status": "function",
        "operate": "admin",
        "requeue": "admin",
    }
