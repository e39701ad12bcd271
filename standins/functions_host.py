"""A Functions host: indexes an app with the real runtime library, and invokes its functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).parents[1]
WORKER = Path(__file__).parent / "functions_worker.py"


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
    """One app in one process; start it by `host`. From any thread, one invocation at a time."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._lock = threading.Lock()
        assert process.stdin is not None
        assert process.stdout is not None
        self._asks: IO[str] = process.stdin
        self._answers: IO[str] = process.stdout
        found = self._ask(call="index")
        if "error" in found:
            raise IndexingFailed(found["error"])
        self.functions: Mapping[str, list[dict[str, Any]]] = found["functions"]
        """Each function's bindings, as the host gets them."""

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
        info = {"Schedule": {"AdjustForDST": True}, "IsPastDue": past_due}
        return self._invoke(function, ("json", json.dumps(info)))

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
        with self._lock:
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
def host(
    env: Mapping[str, str], app: Path = ROOT, log: IO[str] | None = None
) -> Iterator[FunctionsHost]:
    """An app that runs with these settings and no others; raises IndexingFailed.

    What it logs goes to `log`, or else where our own does.
    """
    kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(app)],
        env={**kept, **env},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
        start_new_session=True,  # Ctrl-C is for us; it ends when we do
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
