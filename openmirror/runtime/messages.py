"""The work items that a runner has taken, until each is deleted, given back or dead-lettered."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from openmirror.errors import is_of_one_place, words_of
from openmirror.ports import Taken, WorkItem, WorkQueue
from openmirror.progress.runner import MessageDeadLettered, QueueOperation, QueueOperationFailed
from openmirror.protocol.names import TableFolder
from openmirror.reconcile.root_ports import RootPorts

_RENEWALS = 3
"""How often a message is renewed within the time that it would stay hidden."""


@dataclass(eq=False)
class Message:
    """One message that was taken; its receipt changes whenever it is renewed."""

    taken: Taken
    work_item: WorkItem
    renewed: datetime
    lock: threading.Lock = field(default_factory=threading.Lock)


class Messages:
    """Taken messages by table; safe to share between threads.

    A failure of the queue is emitted as an event, and nothing more: a message that could not be
    deleted comes back, and one that could not be renewed as well.
    """

    def __init__(self, ports: RootPorts, queue: WorkQueue) -> None:
        self._ports = ports
        self._queue = queue
        self._lock = threading.Lock()
        self._here: defaultdict[TableFolder, dict[str, Message]] = defaultdict(dict)

    def add(self, taken: Taken, work_item: WorkItem) -> None:
        """Keep a message for its table; one that came back although it is here gets a new receipt.

        It stays the older message then: a reconciliation that began before it came back may still
        delete it.
        """
        with self._lock:
            there = self._here[work_item.folder].get(taken.identity)
            if there is None:
                message = Message(taken, work_item, self._ports.clock())
                self._here[work_item.folder][taken.identity] = message
                return
        with there.lock:
            there.taken, there.renewed = taken, self._ports.clock()

    def of(self, folder: TableFolder) -> tuple[Message, ...]:
        """The messages of one table that are here now."""
        with self._lock:
            return tuple(self._here.get(folder, {}).values())

    def tables(self) -> tuple[TableFolder, ...]:
        """Every table that has a message here."""
        with self._lock:
            return tuple(folder for folder, messages in self._here.items() if messages)

    def count(self) -> int:
        """How many messages are here."""
        with self._lock:
            return sum(len(messages) for messages in self._here.values())

    def renew(self) -> None:
        """Keep every message hidden from others; one that was lost to them is forgotten."""
        due = self._ports.clock() - self._queue.hidden_for / _RENEWALS
        for folder in self.tables():
            for message in self.of(folder):
                with self._reported(QueueOperation.RENEW, folder), message.lock:
                    if message.renewed <= due and self._is_here(message):
                        fresh = self._queue.renew(message.taken)
                        message.renewed = self._ports.clock()
                        if fresh is None:
                            self._remove(message)
                        else:
                            message.taken = fresh

    def delete(self, messages: Iterable[Message]) -> None:
        """Delete messages whose work is done."""
        for message in messages:
            with (
                self._ending(message) as taken,
                self._reported(QueueOperation.DELETE, message.work_item.folder),
            ):
                if taken:
                    self._queue.delete(taken)

    def give_back(
        self, messages: Iterable[Message], delay: timedelta, most_takes: int, why: str
    ) -> None:
        """Requeue them after a delay; those taken `most_takes` times are dead-lettered."""
        for message in messages:
            with (
                self._ending(message) as taken,
                self._reported(QueueOperation.RETURN, message.work_item.folder),
            ):
                if taken and taken.times < most_takes:
                    self._queue.give_back(taken, delay)
                elif taken:
                    self.dead_letter(taken, f"taken {taken.times} times, at last in vain: {why}")

    def dead_letter(self, taken: Taken, why: str) -> None:
        """Give a message up: keep it where a person finds it, and emit an event."""
        folder = taken.work_item.folder if taken.work_item else None
        with self._reported(QueueOperation.DEAD_LETTER, folder):
            self._queue.dead_letter(taken, why)
            self._ports.emit(MessageDeadLettered(folder, why, taken.body[:500]))

    def hand_over(self, work_item: WorkItem, messages: Iterable[Message], delay: timedelta) -> None:
        """Leave a table to others: send a new work item, so that no failure counts, delete these.

        When the new message cannot be sent the old ones are given back as they are.
        """
        sent = False
        with self._reported(QueueOperation.SEND, work_item.folder):
            self._queue.send(work_item, delay)
            sent = True
        for message in messages:
            with (
                self._ending(message) as taken,
                self._reported(QueueOperation.RETURN, message.work_item.folder),
            ):
                if taken and sent:
                    self._queue.delete(taken)
                elif taken:
                    self._queue.give_back(taken, delay)

    @contextmanager
    def _ending(self, message: Message) -> Iterator[Taken | None]:
        """Hold a message with its newest receipt; it is forgotten before anything is done to it.

        None when it is not here any more.
        """
        with message.lock:
            yield message.taken if self._remove(message) else None

    def _is_here(self, message: Message) -> bool:
        with self._lock:
            here = self._here.get(message.work_item.folder, {})
            return here.get(message.taken.identity) is message

    def _remove(self, message: Message) -> bool:
        with self._lock:
            here = self._here.get(message.work_item.folder, {})
            if here.get(message.taken.identity) is not message:
                return False
            del here[message.taken.identity]
            if not here:
                del self._here[message.work_item.folder]
            return True

    @contextmanager
    def _reported(self, operation: QueueOperation, folder: TableFolder | None) -> Iterator[None]:
        """Report a failure of the queue, unless nothing else can go on either."""
        try:
            yield
        except Exception as error:
            if not is_of_one_place(error):
                raise
            self._ports.emit(QueueOperationFailed(operation, words_of(error), folder))
