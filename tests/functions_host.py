"""A Functions host: indexes an app with the real runtime library, and pumps real queues into it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from azure.core.exceptions import ResourceNotFoundError
from azure.storage.queue import QueueServiceClient

ROOT = Path(__file__).parents[1]
WORKER = Path(__file__).parent / "functions_worker.py"
POISON = "-poison"


class IndexingFailed(Exception):
    """The runtime refused the app; the platform would show no function at all."""


class Died(Exception):
    """The worker process ended underway."""


@dataclass(frozen=True)
class Result:
    """How one invocation ended."""

    error: str | None
    value: Any = None
    trace: str = ""


class FunctionsHost:
    """One app in one process; start it by `host`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._asks: IO[str] = process.stdin
        self._answers: IO[str] = process.stdout
        found = self._ask(call="index")
        if "error" in found:
            raise IndexingFailed(found["error"])
        self.functions: Mapping[str, list[dict[str, Any]]] = found["functions"]
        """Each function's bindings, as the host is told of them."""

    def trigger(self, function: str) -> dict[str, Any]:
        """What starts a function."""
        return next(b for b in self.functions[function] if b["type"].endswith("Trigger"))

    def queue(self, function: str, body: str, identity: str = "", times: int = 1) -> Result:
        """Hand a queue message to a function."""
        now = json.dumps(datetime.now(UTC).isoformat())
        metadata = {
            "Id": ("string", identity or str(uuid.uuid4())),
            "DequeueCount": ("json", str(times)),
            "PopReceipt": ("string", "receipt"),
            **dict.fromkeys(("InsertionTime", "ExpirationTime", "NextVisibleTime"), ("json", now)),
        }
        return self._invoke(function, ("string", body), metadata)

    def timer(self, function: str, *, past_due: bool = False) -> Result:
        """Let a timer go off."""
        said = {"Schedule": {"AdjustForDST": True}, "IsPastDue": past_due}
        return self._invoke(function, ("json", json.dumps(said)))

    def event_grid(self, function: str, event: Mapping[str, Any]) -> Result:
        """Deliver one event as the Event Grid extension does."""
        return self._invoke(function, ("json", json.dumps(event)))

    def http(
        self,
        function: str,
        method: str = "GET",
        *,
        route: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: str = "",
    ) -> Result:
        """Send a request; the value is `{status, headers, body}`."""
        request = {
            "method": method,
            "url": f"http://localhost:7071/api/{function}",
            "headers": dict(headers or {}),
            "params": dict(route or {}),
            "query": dict(query or {}),
            "body": body,
        }
        return self._invoke(function, ("http", request))

    def _invoke(
        self, function: str, data: tuple[str, Any], metadata: Mapping[str, Any] | None = None
    ) -> Result:
        answer = self._ask(call="invoke", function=function, data=data, metadata=metadata or {})
        return Result(answer.get("error"), answer.get("value"), answer.get("trace", ""))

    def _ask(self, **call: Any) -> Any:
        try:
            self._asks.write(json.dumps(call) + "\n")
            self._asks.flush()
            line = self._answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise Died(f"the worker ended with {self._process.wait(30)}")
        return json.loads(line)


@contextmanager
def host(env: Mapping[str, str], app: Path = ROOT) -> Iterator[FunctionsHost]:
    """An app that runs with these settings and no others; raises IndexingFailed."""
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(app)],
        env={**kept, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield FunctionsHost(process)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


@dataclass
class Pump:
    """The host's queue listener: hands over messages, repeats failures, gives up in the end."""

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
        said = json.loads((ROOT / "host.json").read_text())["extensions"]["queues"]
        return cls(
            host,
            QueueServiceClient.from_connection_string(connection_string),
            most=said["maxDequeueCount"],
            encoded=said["messageEncoding"] == "base64",
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
            body = message.content
            if self.encoded:
                body = base64.b64decode(body).decode()
            result = self.host.queue(function, body, message.id, message.dequeue_count or 1)
            self.results.append((function, result))
            if result.error is None:
                queue.delete_message(message)
            elif (message.dequeue_count or 1) >= self.most:
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
