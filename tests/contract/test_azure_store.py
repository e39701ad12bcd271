"""What the store over a storage account adds: what it asks for, and what it makes of answers."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from azure.core.exceptions import HttpResponseError, IncompleteReadError
from azure.core.pipeline.transport import (
    HttpRequest,
    HttpTransport,
    RequestsTransportResponse,
)
from azure.storage.blob import _download
from requests import Response

from openmirror.deltalog import LogReplay
from openmirror.emulator import dfs_filesystems
from openmirror.emulator.walking import page
from openmirror.errors import (
    AccessDenied,
    AlreadyThere,
    CannotStart,
    ConditionFailed,
    Disposition,
    NotThere,
    OpenmirrorError,
    Unavailable,
    WrongRequest,
    disposition_of,
)
from openmirror.formats.inspect import ChangeFileInspector
from openmirror.operate.report import statuses
from openmirror.plan import Limits
from openmirror.plan.decisions import Pause
from openmirror.plan.facts import Completeness
from openmirror.ports import ABSENT, Entry
from openmirror.ports.storage_account import AccountUrl
from openmirror.protocol.rules import Code
from openmirror.reconcile.observing import observe
from openmirror.reconcile.root_ports import RootPorts
from openmirror.runtime.draining import drain
from openmirror.runtime.sweeping import clean
from openmirror.settings import Settings
from openmirror.stores.azure import clients as azure_clients_module
from openmirror.stores.azure.clients import RETRIES, Clients
from openmirror.stores.azure.credentials import account_credential
from openmirror.stores.azure.failures import in_our_words
from openmirror.stores.azure.paths import container_path
from openmirror.stores.azure.store import AzureStore
from openmirror.table import layout
from openmirror.table.layout import StorePath, join
from openmirror.wiring.azure import azure_ports, leases, work_queue
from tests.contract.azure_stores import account_of, azure_clients, make_folder
from tests.contract.stores import DOCUMENT, FILE, TABLE
from tests.contract.wires import Counted, LostAnswer, Refusal, Wire, refusing_server
from tests.emulator_server import EndpointServer, endpoint_server
from tests.harness.paper import PaperEngine
from tests.harness.publishing import land, table

ORDERS = table("m", "Orders")


@dataclass
class Rig:
    """A store over the endpoint, and its wire."""

    server: EndpointServer
    store: AzureStore
    clients: Clients
    wire: Wire

    def cost(self) -> Counted:
        """What was asked since this was asked last."""
        counted, self.wire.counted = self.wire.counted, Counted()
        return counted


@pytest.fixture(scope="module")
def refusing() -> Iterator[str]:
    with refusing_server() as url:
        yield url


@pytest.fixture
def rig(tmp_path: Path, refusing: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rig]:
    wire = Wire(Counted(), refusing)
    # What the SDK waits between tries is counted, not waited for.
    monkeypatch.setattr(HttpTransport, "sleep", lambda _, wait: wire.counted.slept.append(wait))
    with (
        endpoint_server(tmp_path) as server,
        azure_clients(server, transport=wire) as clients,
    ):
        yield Rig(server, AzureStore(clients), clients, wire)


# What it costs


def parquet(size: int = 0) -> tuple[bytes, bytes]:
    """The head and the footer of a change file, between which any number of bytes may lie."""
    buffer = io.BytesIO()
    pq.write_table(pa.table({"id": [1, 2], "name": ["a", "b"]}), buffer)
    data = buffer.getvalue()
    footer = int.from_bytes(data[-8:-4], "little") + 8
    return data[:-footer], data[-footer:]


@pytest.mark.parametrize("size", [8 << 10, 100 << 10, 200 << 20])
def test_the_shape_of_a_file_costs_few_bytes_whatever_its_size(rig: Rig, size: int) -> None:
    head, footer = parquet()
    where = rig.server.root / FILE
    where.parent.mkdir(parents=True)
    with where.open("wb") as file:
        file.write(head)
        file.truncate(len(head) + size)
        file.seek(0, io.SEEK_END)
        file.write(footer)
    (entry,) = rig.store.list_folder(TABLE).entries
    rig.cost()
    facts = ChangeFileInspector(rig.store).inspect(FILE, entry)
    cost = rig.cost()
    assert (facts.completeness, facts.rows) == (Completeness.COMPLETE, 2)
    assert facts.etag == entry.etag
    # Head and footer, and a file that is no longer than that by one request.
    is_small = size < 64 << 10
    assert [request.split()[0] for request in cost.requests] == ["GET"] * (1 if is_small else 2)
    assert cost.received == (entry.size if is_small else 64 + (64 << 10))


def test_a_read_is_one_request_and_so_is_a_write_in_a_new_folder(rig: Rig) -> None:
    rig.store.write(DOCUMENT, b"{}", only_if=ABSENT)
    assert len(rig.cost().requests) == 1
    rig.store.read(DOCUMENT)
    assert len(rig.cost().requests) == 1


def test_as_many_connections_are_kept_as_threads_ask_at_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with endpoint_server(tmp_path) as server, azure_clients(server) as clients:
        store = AzureStore(clients)
        store.write(DOCUMENT, b"{}")
        with ThreadPoolExecutor(40) as pool:
            at_once = threading.Barrier(40)

            def read(_: int) -> None:
                at_once.wait()
                store.read(DOCUMENT)

            list(pool.map(read, range(40)))
    assert [record.getMessage() for record in caplog.records if "pool" in record.getMessage()] == []


def test_an_incarnation_is_one_request_among_any_number_of_siblings(rig: Rig) -> None:
    zone = layout.landing_zone("m")
    for number in range(30):
        make_folder(rig.clients, join(zone, f"t{number:02}"))
    for _ in range(3):
        rig.cost()
        assert rig.store.incarnation(join(zone, "t17"))
        cost = rig.cost()
        assert len(cost.requests) == 1
        assert cost.received < 1000


def test_an_incarnation_is_found_where_the_service_cannot_list_from_a_name_on(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = layout.landing_zone("m")
    for number in range(30):
        make_folder(rig.clients, join(zone, f"t{number:02}"))
    rightly = rig.store.incarnation(join(zone, "t17"))
    monkeypatch.setattr(
        dfs_filesystems, "page", lambda *of, **how: page(*of, **{**how, "start": ""})
    )
    other = AzureStore(rig.clients)
    assert other.incarnation(join(zone, "t17")) == rightly
    assert other.incarnation(join(zone, "t170")) is None


def test_a_remembered_incarnation_does_not_outlive_the_folder(rig: Rig) -> None:
    records = []
    for _ in range(10):
        make_folder(rig.clients, TABLE)
        record = rig.store.incarnation(TABLE)
        assert rig.store.incarnation(TABLE) == record
        records.append(record)
        # By others, so that the store hears nothing of it.
        rig.clients.files.get_directory_client(*container_path(TABLE)).delete_directory()
    assert len(set(records)) == 10


def test_an_incarnation_is_the_time_of_creation_in_ticks(rig: Rig) -> None:
    before = datetime.now(UTC) - timedelta(seconds=2)
    make_folder(rig.clients, TABLE)
    ticks = rig.store.incarnation(TABLE)
    assert ticks is not None
    created = datetime(1601, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(ticks) // 10)
    assert before < created < datetime.now(UTC) + timedelta(seconds=2)


def parts_of(rig: Rig) -> RootPorts:
    return RootPorts(
        store=rig.store,
        inspector=ChangeFileInspector(rig.store),
        logs=LogReplay(rig.store),
        clock=lambda: datetime.now(UTC),
        limits=Limits(metadata_grace=timedelta(0)),
    )


MOST_REQUESTS_OF_AN_OBSERVATION = 8
"""Incarnation twice, control document, mirroring.json, mirror.json, folder, its metadata, log."""


def test_a_table_is_drained_and_cleaned_and_an_observation_has_its_price(rig: Rig) -> None:
    land(rig.store, ORDERS, 1, 2, 3)
    ports = parts_of(rig)
    engine = PaperEngine(rig.store)
    assert not drain(ports, engine, ["m"], workers=1).has_failed
    log = LogReplay(rig.store).read(StorePath("lake/m/Tables/dbo/Orders"))
    assert log is not None
    rig.cost()
    observed = observe(ports, ORDERS).observed
    cost = rig.cost()
    assert observed.applied == 3
    assert len(cost.requests) <= MOST_REQUESTS_OF_AN_OBSERVATION, "\n".join(cost.requests)
    done = clean(ports, ["m"], dry_run=False)
    assert [len(cleaned.moved) for cleaned in done.cleaned] == [2]
    assert observe(ports, ORDERS).observed.applied == 3


def test_an_observation_costs_the_same_whatever_the_number_of_applied_files_and_commits(
    rig: Rig,
) -> None:
    costs = []
    for first, last in ((1, 5), (6, 25)):
        land(rig.store, ORDERS, *range(first, last + 1))
        ports = parts_of(rig)
        assert not drain(ports, PaperEngine(rig.store), ["m"], workers=1).has_failed
        observe(ports, ORDERS)
        rig.cost()
        observe(ports, ORDERS)
        costs.append(rig.cost().requests)
    assert len(costs[0]) == len(costs[1]), "\n".join(costs[1])


def test_a_streamed_file_sends_each_part_once_and_another_tail_alone(rig: Rig) -> None:
    file = rig.store.stream(FILE)
    for _ in range(5):
        file.append(b"x" * 100_000)
    file.finish(b"tail")
    assert [request.split()[0] for request in rig.cost().requests] == ["PUT"] * (5 + 1 + 1)
    file.finish(b"other")
    assert len(rig.cost().requests) == 2
    file.finish(b"")
    assert len(rig.cost().requests) == 1
    assert rig.store.read(FILE).data == b"x" * 500_000


@pytest.mark.parametrize("fault", [LostAnswer(), Refusal(503, "ServerBusy")])
def test_a_streamed_file_bears_a_fault_at_each_of_its_requests(
    rig: Rig, fault: LostAnswer | Refusal
) -> None:
    for at in range(9):
        rig.wire.faults = [None] * at + [fault]
        file = rig.store.stream(FILE)
        for number in range(3):
            file.append(b"%d" % number * 1000)
        assert file.finish(b"tail") != file.finish(b"other")
        file.finish(b"last")
        assert not rig.wire.faults
        assert rig.store.read(FILE).data == b"0" * 1000 + b"1" * 1000 + b"2" * 1000 + b"last"
        file.discard()
        assert rig.store.list_folder(TABLE).entries == ()


def test_a_streamed_part_that_was_refused_for_good_may_be_sent_again(rig: Rig) -> None:
    file = rig.store.stream(FILE)
    file.append(b"a")
    for ask in (lambda: file.append(b"b"), lambda: file.finish(b"c")):
        rig.wire.faults = [Refusal(503, "ServerBusy")] * (RETRIES + 1)
        with pytest.raises(Unavailable):
            ask()
        ask()
    assert rig.store.read(FILE).data == b"abc"


def test_nothing_is_streamed_into_a_missing_container(rig: Rig) -> None:
    with pytest.raises(NotThere):
        rig.store.stream(StorePath("nowhere/file")).append(b"x")
    with pytest.raises(NotThere):
        rig.store.stream(StorePath("nowhere/file")).finish(b"")
    with pytest.raises(AlreadyThere):
        rig.store.stream(StorePath("landing"))


# Long reads


def pieces(rig: Rig) -> AzureStore:
    """A store that reads in pieces of 100 bytes."""
    account = account_of(rig.server)
    clients = Clients(
        account,
        account_credential(account, rig.server.key),
        transport=rig.wire,
        max_single_get_size=100,
        max_chunk_get_size=100,
    )
    return AzureStore(clients)


def test_a_long_read_comes_in_pieces_of_one_content(rig: Rig) -> None:
    store = pieces(rig)
    rig.store.write(FILE, b"old" * 200)
    rig.cost()
    assert store.read(FILE).data == b"old" * 200
    assert len(rig.cost().requests) == 6
    # Replaced after the first piece: the next one is refused, and the read begins anew.
    rig.wire.faults = [None, lambda: put(rig, b"new" * 300)]
    content = store.read(FILE)
    assert content.data == b"new" * 300
    assert content == rig.store.read(FILE)
    assert store.read(FILE, 150, 300).data == (b"new" * 300)[150:450]


def test_a_file_that_does_not_stop_changing_cannot_be_read_in_pieces(rig: Rig) -> None:
    store = pieces(rig)
    rig.store.write(FILE, b"old" * 200)
    rig.wire.faults = [None, lambda: put(rig, b"new" * 200)] * 20
    with pytest.raises(ConditionFailed):
        store.read(FILE)


def put(rig: Rig, data: bytes) -> None:
    with azure_clients(rig.server) as clients:
        AzureStore(clients).write(FILE, data)


# What a service answers


def test_a_busy_service_is_asked_again_a_little_later(rig: Rig) -> None:
    rig.store.write(DOCUMENT, b"1")
    rig.cost()
    rig.wire.faults = [Refusal(503, "ServerBusy"), Refusal(500, "InternalError")]
    assert rig.store.read(DOCUMENT).data == b"1"
    cost = rig.cost()
    assert len(cost.requests) == 3
    assert len(cost.slept) == 2
    assert 0 < sum(cost.slept) < 15


@pytest.mark.parametrize(
    ("status", "growing"), [("pending", True), ("success", False), ("failed", False), (None, False)]
)
@pytest.mark.parametrize("length", [0, 2, None])
def test_a_file_that_the_service_still_copies_into_is_known(
    rig: Rig, status: str | None, growing: bool, length: int | None
) -> None:
    rig.store.write(DOCUMENT, b"12345")
    rig.wire.also = {"x-ms-copy-status": status} if status else {}
    assert rig.store.read(DOCUMENT, 0, length).growing is growing


@pytest.mark.parametrize("fault", [Refusal(503, "ServerBusy"), Refusal(429), LostAnswer()])
def test_a_service_that_stays_away_is_named_and_tried_again_for_ever(
    rig: Rig, fault: Refusal | LostAnswer
) -> None:
    rig.store.write(DOCUMENT, b"1")
    rig.cost()
    rig.wire.faults = [fault] * 20
    with pytest.raises(Unavailable) as raised:
        rig.store.read(DOCUMENT)
    assert len(rig.cost().requests) <= 1 + RETRIES
    assert DOCUMENT in str(raised.value)
    assert disposition_of(raised.value, attempts=100) is Disposition.RETRY


def test_a_read_that_breaks_off_each_time_is_a_service_that_is_away(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(answer: Iterable[bytes], *_: object) -> bytes:
        raise IncompleteReadError(f"3 of {len(b''.join(answer))} bytes")

    rig.store.write(DOCUMENT, b"12345")
    monkeypatch.setattr(_download, "process_content", broken)
    monkeypatch.setattr(_download.time, "sleep", lambda _: None)
    with pytest.raises(Unavailable, match="3 of 5 bytes"):
        rig.store.read(DOCUMENT)


def test_a_write_whose_answer_was_lost_is_a_lost_race_at_worst(rig: Rig) -> None:
    first = rig.store.write(DOCUMENT, b"1", only_if=ABSENT)
    rig.wire.faults = [LostAnswer()]
    with pytest.raises(ConditionFailed):
        rig.store.write(DOCUMENT, b"2", only_if=first)
    # It was written: whoever reads again sees it.
    assert rig.store.read(DOCUMENT).data == b"2"
    rig.wire.faults = [LostAnswer()]
    with pytest.raises(ConditionFailed):
        rig.store.write(FILE, b"1", only_if=ABSENT)


def test_a_move_whose_answer_was_lost_has_been_made(rig: Rig) -> None:
    etag = rig.store.write(FILE, b"1")
    archived = join(TABLE, "_ProcessedFiles", "1")
    make_folder(rig.clients, join(TABLE, "_ProcessedFiles"))
    rig.wire.faults = [LostAnswer()]
    with pytest.raises(NotThere):
        rig.store.move_file(FILE, archived, etag)
    assert rig.store.read(archived).data == b"1"


@pytest.mark.parametrize(
    ("fault", "named", "follows"),
    [
        (Refusal(403, "AuthorizationPermissionMismatch"), "lacks the role", Disposition.RETRY),
        (Refusal(403, "AuthorizationFailure"), "firewall", Disposition.RETRY),
        (Refusal(403, "AuthenticationFailed"), "key or token is wrong", Disposition.FAIL),
        (Refusal(401, "InvalidAuthenticationInfo"), "key or token is wrong", Disposition.FAIL),
    ],
)
def test_a_missing_right_names_the_role_and_a_wrong_key_stops_the_program(
    rig: Rig, fault: Refusal, named: str, follows: Disposition
) -> None:
    for ask in (
        lambda: rig.store.list_folder(TABLE),
        lambda: rig.store.read(FILE),
        lambda: rig.store.read(FILE, 0, 0),
        lambda: rig.store.incarnation(TABLE),
        lambda: rig.store.write(DOCUMENT, b"", only_if=ABSENT),
        lambda: rig.store.delete_file(FILE),
    ):
        rig.wire.faults = [fault] * 9
        with pytest.raises(AccessDenied) as raised:
            ask()
        assert named in str(raised.value)
        assert "'Storage Blob Data Contributor'" in str(raised.value)
        assert disposition_of(raised.value, attempts=1) is follows
        assert (raised.value.place is None) is (follows is Disposition.FAIL)


def test_one_path_that_an_account_refuses_is_its_tables_problem_alone(rig: Rig) -> None:
    items, lines = table("m", "Items"), table("m", "Lines")
    for folder in (ORDERS, items, lines):
        land(rig.store, folder, 1)
    ports = parts_of(rig)
    drain(ports, PaperEngine(rig.store), ["m"], workers=1)
    for folder in (ORDERS, items, lines):
        land(rig.store, folder, 2)
    rig.wire.refused = f"LandingZone/Orders/{2:020d}.parquet"
    result = drain(ports, PaperEngine(rig.store), ["m"], workers=1)
    paused = result.stopped[ORDERS]
    assert isinstance(paused, Pause)
    assert paused.problem.code is Code.ACCESS_DENIED
    assert paused.problem.file == f"{2:020d}.parquet"
    assert f"The key of account {account_of(rig.server).account} lacks" in paused.problem.detail
    shown = {str(one.folder.path): one for one in statuses(ports, ["m"])}
    assert {name: one.applied for name, one in shown.items()} == {
        "Items": 2,
        "Lines": 2,
        "Orders": 1,
    }
    rig.wire.refused = None
    assert not drain(ports, PaperEngine(rig.store), ["m"], workers=1).stopped


def test_a_refusal_says_whose_token_it_was_and_shows_no_part_of_it(rig: Rig) -> None:
    claims = {"oid": "7f0c", "appid": "a1b2", "secret": "hush"}
    body = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    token = f"head.{body}.signature"
    request = HttpRequest("GET", "https://a.dfs.core.windows.net/x")
    request.headers["Authorization"] = f"Bearer {token}"
    response = RequestsTransportResponse(request, _forbidden())
    with pytest.raises(AccessDenied) as raised, in_our_words("landing/x"):
        raise HttpResponseError("no", response)
    text = str(raised.value)
    assert "The identity (object id 7f0c, application a1b2) lacks the role" in text
    assert not any(part in text for part in ("hush", "signature", body))


def _forbidden() -> Response:
    answer = Response()
    answer.status_code, answer.reason = 403, "Forbidden"
    return answer


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (Refusal(412, "ConditionNotMet"), ConditionFailed),
        (Refusal(409, "DestinationPathIsBeingDeleted"), Unavailable),
        (Refusal(409, "FilesystemBeingDeleted"), Unavailable),
        (Refusal(400, "InvalidResourceName"), WrongRequest),
        (Refusal(404, "FilesystemNotFound"), NotThere),
    ],
)
def test_answers_mean_what_the_port_says(
    rig: Rig, fault: Refusal, error: type[OpenmirrorError]
) -> None:
    rig.wire.faults = [fault] * 9
    with pytest.raises(error):
        rig.store.write(DOCUMENT, b"")


def test_a_missing_container_is_not_there_and_never_an_empty_one(rig: Rig) -> None:
    where = StorePath("nowhere/m/x")
    for ask in (
        lambda: rig.store.list_folder(StorePath("nowhere")),
        lambda: rig.store.list_folder(where),
        lambda: rig.store.read(where),
        lambda: rig.store.write(where, b""),
        lambda: rig.store.delete_file(where),
        lambda: rig.store.move_file(where, FILE, rig.store.write(DOCUMENT, b"")),
        lambda: rig.store.move_file(DOCUMENT, where, rig.store.write(DOCUMENT, b"")),
    ):
        with pytest.raises(NotThere):
            ask()
    assert rig.store.incarnation(where) is None


@pytest.mark.parametrize(
    "fault", [Refusal(409, "FilesystemBeingDeleted"), Refusal(409, "SomethingNew"), Refusal(503)]
)
def test_a_folder_that_cannot_be_listed_now_is_never_one_that_is_missing(
    rig: Rig, fault: Refusal
) -> None:
    rig.store.write(FILE, b"1")
    for most in (1, 9):
        rig.wire.faults = [fault] * most
        with suppress(Unavailable, AlreadyThere):
            assert rig.store.list_folder(TABLE).entries
        rig.wire.faults = [fault] * most
        with suppress(Unavailable, AlreadyThere):
            assert rig.store.incarnation(TABLE)


def test_a_wrong_key_is_denied(rig: Rig) -> None:
    wrong = Clients.of(account_of(rig.server), "d3Jvbmc=")
    with pytest.raises(AccessDenied, match="AuthenticationFailed"):
        AzureStore(wrong).read(FILE)
    wrong.close()


def test_a_listing_of_many_pages_is_complete(rig: Rig) -> None:
    folder = rig.server.root / TABLE
    folder.mkdir(parents=True)
    for number in range(5200):
        (folder / f"{number:020}.parquet").touch()
    rig.cost()
    listing = rig.store.list_folder(TABLE)
    assert [entry.name for entry in listing.entries] == [f"{n:020}.parquet" for n in range(5200)]
    assert len(rig.cost().requests) == 2
    assert isinstance(listing.entries[0], Entry)


def test_a_listing_is_dated_by_the_services_clock(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    rig.store.write(FILE, b"1")

    class WrongClock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
            return datetime(1999, 1, 1, tzinfo=tz)

    monkeypatch.setattr(azure_clients_module, "datetime", WrongClock)
    assert abs(rig.store.list_folder(TABLE).at - datetime.now(UTC)) < timedelta(minutes=1)


def test_a_destination_that_the_sdk_would_cut_is_refused(rig: Rig) -> None:
    etag = rig.store.write(FILE, b"1")
    with pytest.raises(WrongRequest):
        rig.store.move_file(FILE, StorePath("lake/x?sv=2024-01-01&sig=y"), etag)
    assert rig.store.read(FILE).data == b"1"


# Wiring


def test_a_token_is_never_sent_over_http() -> None:
    settings = Settings.load(
        {
            "OPENMIRROR_ROOT": "http://127.0.0.1:1/dev",
            "OPENMIRROR_QUEUES__queueServiceUri": "http://127.0.0.1:1/dev",
        }
    )
    for make in (azure_ports, leases, work_queue):
        with pytest.raises(CannotStart, match="only sent over https"):
            make(settings)


def test_queues_that_were_not_given_or_are_wrong_are_named() -> None:
    with pytest.raises(CannotStart, match="OPENMIRROR_QUEUES__queueServiceUri"):
        work_queue(Settings.load({}))
    with pytest.raises(CannotStart, match="connection string of the queues is wrong"):
        work_queue(Settings.load({"OPENMIRROR_QUEUES": "AccountName=x"}))


def run(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout + done.stderr


def test_local_verbs_import_no_azure_sdk(tmp_path: Path) -> None:
    code = (
        "import sys; from openmirror import wiring; from openmirror.settings import Settings\n"
        f"wiring.root_ports(Settings.load({{}}, {{'root': {str(tmp_path)!r}}}))\n"
        "print([name for name in sys.modules if name.split('.')[0] == 'azure'])"
    )
    assert run(code).strip() == "[]"


def test_missing_packages_are_named_with_how_to_install_them() -> None:
    code = (
        "import sys; sys.modules['azure.storage'] = sys.modules['azure.core'] = None\n"
        "from openmirror import wiring; from openmirror.settings import Settings\n"
        "wiring.root_ports(Settings.load({}, {'root': 'https://contoso.dfs.core.windows.net'}))"
    )
    assert "pip install 'openmirror[azure]'" in run(code)


def test_an_account_is_used_by_its_own_urls() -> None:
    clients = Clients.of(AccountUrl.parse("https://contoso.dfs.core.chinacloudapi.cn"), "a2V5")
    assert clients.files.primary_hostname == "contoso.dfs.core.chinacloudapi.cn"
    assert clients.blobs.primary_hostname == "contoso.blob.core.chinacloudapi.cn"
    clients.close()
