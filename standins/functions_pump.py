"""The host's queue listener: hands messages of real queues to the functions that they trigger."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from typing import Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueServiceClient

from standins.functions_host import ROOT, FunctionsHost, Result

POISON = "-poison"


@dataclass(kw_only=True)
class Pump:
    """Hands over messages, repeats failures, gives up in the end."""

    host: FunctionsHost
    service: QueueServiceClient
    visibility: int = 0
    """Seconds that a message which failed stays hidden; host.json says 30, tests do not wait."""
    hidden: int = 60
    """Seconds for which a taken message is nobody else's; the host says 600 and renews."""
    most: int = 5
    encoded: bool = False
    """Whether the host takes the base64 off, by messageEncoding."""
    results: list[tuple[str, Result]] = field(default_factory=list)
    """Every invocation: the function and how it ended."""

    @classmethod
    def of(cls, host: FunctionsHost, connection_string: str) -> Pump:
        """A pump as host.json describes it."""
        queues = json.loads((ROOT / "host.json").read_text())["extensions"]["queues"]
        return cls(
            host=host,
            service=QueueServiceClient.from_connection_string(connection_string),
            most=queues["maxDequeueCount"],
            encoded=queues["messageEncoding"] == "base64",
        )

    def turn(self) -> int:
        """Take what is there for every function that a queue triggers; says how much that was."""
        count = 0
        for function in self.host.functions:
            trigger = self.host.trigger(function)
            if trigger["type"] == "queueTrigger":
                count += self._listen(function, trigger["queueName"])
        return count

    def until_idle(self) -> None:
        """Go on until every queue that a function listens to is empty."""
        while self.turn():
            pass

    def _listen(self, function: str, name: str) -> int:
        queue = self.service.get_queue_client(name)
        try:
            messages = list(queue.receive_messages(max_messages=32, visibility_timeout=self.hidden))
        except ResourceNotFoundError:
            return 0
        for message in messages:
            attempts = message.dequeue_count or 1
            if attempts > self.most:
                continue  # only in a poison queue, where it stays hidden again and again
            body = message.content
            if self.encoded:
                body = base64.b64decode(body).decode()
            result = self.host.queue(function, body, message.id, attempts)
            self.results.append((function, result))
            if result.error is None:
                queue.delete_message(message)
            elif name.endswith(POISON):
                pass  # a poison queue has none of its own: the message is left hidden
            elif attempts >= self.most:
                self._give_up(name, message)
            else:
                queue.update_message(message, visibility_timeout=self.visibility)
        return len(messages)

    def _give_up(self, name: str, message: Any) -> None:
        poison = self.service.get_queue_client(name + POISON)
        try:
            poison.send_message(message.content)
        except ResourceNotFoundError:
            poison.create_queue()
            poison.send_message(message.content)
        self.service.get_queue_client(name).delete_message(message)
