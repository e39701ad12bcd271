"""A table that its catalog does not get is tried again, and its status says so meanwhile."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

from openmirror.plan.transitions.registered import registered
from openmirror.ports import CommitResult
from openmirror.progress.union import ProgressEvent
from openmirror.protocol.names import TableFolder, TablePath
from openmirror.spark.registering import SECONDS_TO_NEXT, Registering
from openmirror.table.control import ControlDocument, Unregistered
from openmirror.table.layout import StorePath

ORDERS = TableFolder("m", TablePath("", "Orders"))
NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)
BATCH = cast(Any, SimpleNamespace(folder=ORDERS, table=StorePath("lake/m/Tables/dbo/Orders")))


class World:
    """An engine that commits everything, and a catalog that refuses for as long as a test wants."""

    def __init__(self) -> None:
        self.refuses = True
        self.now = 0.0
        self.tries = 0
        self.emitted: list[ProgressEvent] = []
        self.recorded: list[str | None] = []
        engine = SimpleNamespace(commit=lambda *_: CommitResult.DONE)
        self.engine = Registering(
            cast(Any, engine),
            cast(Any, self),
            self.emitted.append,
            lambda _, failure: self.recorded.append(failure),
            lambda: self.now,
        )

    def register(self, mirror: str, table: StorePath) -> None:
        self.tries += 1
        if self.refuses:
            raise ValueError("no right\nand a stack trace")

    def commit(self) -> None:
        nothing = cast(Any, None)
        assert self.engine.commit(BATCH, nothing, nothing, "") is CommitResult.DONE


def test_a_failure_is_recorded_and_tried_again_by_a_later_commit_until_it_is_done() -> None:
    world = World()
    world.commit()
    world.commit()
    assert (world.tries, world.recorded) == (1, ["no right"])
    world.now += SECONDS_TO_NEXT
    world.refuses = False
    world.commit()
    assert (world.tries, world.recorded) == (2, ["no right", None])
    world.now += 10 * SECONDS_TO_NEXT
    world.commit()
    assert world.tries == 2, "what is registered is left alone"


def test_the_document_keeps_since_when_it_fails_in_the_same_words() -> None:
    before = ControlDocument(folder=str(ORDERS))
    failed = registered(before, "no right", NOON)
    assert failed.unregistered == Unregistered(NOON, "no right")
    later = NOON + timedelta(hours=1)
    assert registered(failed, "no right", later) == failed
    assert registered(failed, "no name", later).unregistered == Unregistered(later, "no name")
    assert registered(failed, None, later) == before
