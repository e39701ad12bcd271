"""The sample's whole way: landed by verify, queued, applied by Spark, read, and taken away."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from openmirror.deltalog import LogReplay
from openmirror.deployment.azure.clients import ManagementClients
from openmirror.deployment.rules.sample import FOLDER, MIRROR
from openmirror.deployment.sample_row import ParquetSampleRow
from openmirror.protocol.names import table_name
from openmirror.stores.local.store import LocalStore
from openmirror.table import layout
from openmirror.table.log import TableLog
from tests.chain.mangling import Mangled
from tests.chain.whole import Chain, chain
from tests.contract.azure_stores import azure_store
from tests.databricks_stub import Jobs
from tests.deployment.azure import Azure
from tests.deployment.place import place


@pytest.fixture
def parts(tmp_path: Path) -> Iterator[Chain]:
    (tmp_path / "stand-ins").mkdir()
    events = partial(Mangled, draw=random.Random(1), lost=0.0, twice=0.0)
    with chain(tmp_path / "account", tmp_path / "stand-ins", events, [MIRROR]) as made:
        yield made


@pytest.mark.usefixtures("spark")
def test_a_sample_comes_through_every_part_and_leaves_an_empty_table(
    azure: Azure,
    clients: ManagementClients,
    jobs: Jobs,
    parts: Chain,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def meanwhile() -> None:
        parts.events.flush()
        parts.turn()

    # A verification that gave up waiting: its row came after all.
    sample = ParquetSampleRow(LocalStore(parts.server.root))
    folder = layout.table_folder(FOLDER)
    data = sample.insert("left over", datetime.now(UTC) - timedelta(days=2))
    with azure_store(parts.server) as (account, _):
        account.write(layout.join(folder, "_metadata.json"), b'{"keyColumns": ["id"]}')
        account.write(layout.join(folder, "00000000000000000001.parquet"), data)

    jobs.start("a")
    with place(azure, clients, parts.server, parts.azurite, jobs, monkeypatch) as made:
        made.on_sleep = meanwhile
        # All of it may take less time than the timer's.
        parts.sweep()
        found = made.found()
        assert [one for one in found if one["verdict"] != "ok"] == []
        (reported,) = (one for one in found if one["check"] == "sample")
        assert f"a row was in {MIRROR}/dbo.sample" in reported["what"]
        assert "and gone" in reported["what"]

    table = layout.delta_table(MIRROR, table_name(FOLDER.path, "dbo"))
    assert sample.present(table) == {}
    log = LogReplay(LocalStore(parts.server.root)).read(table)
    assert isinstance(log, TableLog)
    assert log.live is not None
    assert log.live[1] == 3
