"""`./dev bench soak` in small: two tables, two runs of a runner in this process, days between."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bench.soak.claims import LEAST_KILLS, of_kills, of_lags, of_rows
from bench.soak.course import Course
from bench.soak.lasting import Lasting
from bench.soak.tables import kinds
from openmirror.operate.requests import Operator, maintain
from openmirror.plan.maintenance_steps import MaintenancePolicy
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.runtime.isolation import Reconciler, maintain_isolated
from openmirror.settings import Settings
from openmirror.wiring import local_ports
from tests.zone import EVERY_PATH, forget_logs

TABLES = ("rewritten", "appended")


class Here:
    """A runner that is a thread of this process, with the session of all tests."""

    def __init__(self, spark: SparkSession, root: Path) -> None:
        self._spark = spark
        self._root = root
        self.ports = local_ports(Settings.load({}, {"root": root}))
        self.engine = EVERY_PATH.engine(spark, root, self.ports.store)
        self._ending = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def folders(self) -> list[TableFolder]:
        return [TableFolder("soak", TablePath("", name)) for name in TABLES]

    def start(self) -> None:
        forget_logs(self._spark)
        self.ports = local_ports(Settings.load({}, {"root": self._root}))
        self._ending.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        turn = Reconciler(self.ports, self.engine)
        while not self._ending.wait(0.05):
            for folder in self.folders:
                turn(folder)

    def check(self) -> None:
        assert self._thread is not None
        if not self._thread.is_alive():
            raise RuntimeError("the runner has ended")

    def stop(self) -> None:
        self._ending.set()
        if self._thread is not None:
            self._thread.join()

    def kill(self, *, leaves_jvm: bool) -> None:
        raise NotImplementedError

    def maintain_fully(self) -> None:
        self.start()
        self.stop()
        for folder in self.folders:
            maintain(self.ports, folder, Operator("ann", "a test"), full=True)
            while maintain_isolated(self.ports, self.engine, folder):
                pass


@pytest.mark.spark
def test_tables_under_constant_change_stay_small_and_exact(
    tmp_path: Path, spark: SparkSession
) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "landing").mkdir()
    policy = MaintenancePolicy(every_commits=3, pressing_commits=3, small_files=1)
    runner, lines = Here(spark, tmp_path), list[str]()
    course = Course(
        root=tmp_path,
        lasting=Lasting(runs=2, warm_up=1, phase=3, seed_rows=0, kills=False, policy=policy),
        kinds=[kind for kind in kinds(0) if kind.name in TABLES],
        runner=runner,
        say=lines.append,
        maintain_fully=runner.maintain_fully,
    )
    *claims, lags = course.run()
    assert [claim for claim in claims if not claim.met] == []
    assert len(course.samples) == 2 * len(TABLES)
    assert lags.words.startswith("p95 from landing to commit with maintenance, beside")


def test_claims_are_missed_by_what_was_seen() -> None:
    assert of_rows([], 5).met
    assert not of_rows(["t has 1 row, expected are 2"], 5).met
    assert of_lags([1.0] * 100, [1.2] * 100).met
    assert not of_lags([1.0] * 100, [1.3] * 100).met
    enough = {"compact": LEAST_KILLS - 1, "purge": 1, "vacuum": LEAST_KILLS}
    assert of_kills(enough, 0).met
    assert not of_kills(enough | {"vacuum": LEAST_KILLS - 1}, 9).met
