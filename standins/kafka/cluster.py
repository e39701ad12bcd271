"""One broker, and Kafka Connect beside it: they end with their owner, or when they are killed."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from standins.loopback import free_port

_PATIENCE = 90.0
_NODE = "1"
_WRITTEN = 0.1
"""Seconds after which a file counts as written."""
_JAVA = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Dorg.slf4j.simpleLogger.logFile=System.out",
)
_ONE_OF_EACH = (
    "offsets.topic.replication.factor",
    "offsets.topic.num.partitions",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.num.partitions",
    "share.coordinator.state.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.num.partitions",
    "num.partitions",
)


class _JavaProcess:
    """A program of the jars, whose output goes into a file of its folder."""

    def __init__(self, folder: Path, jars: Sequence[Path], megabytes: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self._java = ["java", f"-Xmx{megabytes}m", *_JAVA, "-cp", os.pathsep.join(map(str, jars))]
        self._process: subprocess.Popen[bytes] | None = None

    def kill(self) -> None:
        """End it at once, as a machine that fails does."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Let it end by itself."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(_PATIENCE)
            self._process = None

    def _start(self, *arguments: str) -> None:
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._java, *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _wait(self, is_ready: Any) -> None:
        until = time.monotonic() + _PATIENCE
        while not is_ready():
            ended = self._process is None or self._process.poll() is not None
            if ended or time.monotonic() > until:
                raise RuntimeError(f"it did not begin:\n{self._log()}")
            time.sleep(0.1)

    def _log(self) -> str:
        """The end of what it has written."""
        return (self.folder / "log").read_text(errors="replace")[-4000:]


class Broker(_JavaProcess):
    """A broker of one node, which keeps what it has in its folder."""

    def __init__(self, folder: Path, jars: Sequence[Path]) -> None:
        super().__init__(folder, jars, 384)
        self.port, controller = free_port(), free_port()
        self._properties = folder / "server.properties"
        self._properties.write_text(
            _properties(
                {
                    "process.roles": "broker,controller",
                    "node.id": _NODE,
                    "controller.quorum.voters": f"{_NODE}@127.0.0.1:{controller}",
                    "listeners": f"PLAINTEXT://{self.server},CONTROLLER://127.0.0.1:{controller}",
                    "advertised.listeners": f"PLAINTEXT://{self.server}",
                    "controller.listener.names": "CONTROLLER",
                    "log.dirs": str(folder / "logs"),
                    "auto.create.topics.enable": "false",
                    "group.initial.rebalance.delay.ms": "0",
                    # Or records that may go stay for five minutes, and longer.
                    "log.retention.check.interval.ms": "300",
                    "log.initial.task.delay.ms": "100",
                    **dict.fromkeys(_ONE_OF_EACH, "1"),
                }
            )
        )

    @property
    def server(self) -> str:
        """`host:port`."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Begin, or go on with what is there."""
        if not (logs := self.folder / "logs").exists():
            # What Kafka's own tool writes there, which takes a JVM for it.
            logs.mkdir()
            cluster = base64.urlsafe_b64encode(uuid4().bytes).decode().rstrip("=")
            about = {"version": "1", "node.id": _NODE, "cluster.id": cluster}
            (logs / "meta.properties").write_text(_properties(about))
        self._start("kafka.Kafka", str(self._properties))
        self._wait(lambda: _listens(self.port))

    def make_topic(self, name: str, partitions: int = 1, **settings: str) -> None:
        """A topic that was not there."""
        client = AdminClient({"bootstrap.servers": self.server})
        client.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result()


@dataclass(frozen=True)
class ConnectorState:
    """How a connector is."""

    state: str
    tasks: tuple[str, ...]
    why: str


class Connect(_JavaProcess):
    """Kafka Connect of one process: it keeps its connectors' places, and not the connectors."""

    def __init__(
        self,
        folder: Path,
        jars: Sequence[Path],
        plugins: Mapping[str, Sequence[Path]],
        server: str,
    ) -> None:
        super().__init__(folder, jars, 512)
        self._offsets = folder / "offsets"
        for name, files in plugins.items():
            (folder / "plugins" / name).mkdir(parents=True, exist_ok=True)
            for file in files:
                (folder / "plugins" / name / file.name).symlink_to(file)
        self._port = free_port()
        converter = "org.apache.kafka.connect.json.JsonConverter"
        self._properties = folder / "worker.properties"
        self._properties.write_text(
            _properties(
                {
                    "bootstrap.servers": server,
                    "key.converter": converter,
                    "value.converter": converter,
                    "offset.storage.file.filename": str(self._offsets),
                    "offset.flush.interval.ms": "500",
                    "plugin.path": str(folder / "plugins"),
                    "plugin.discovery": "service_load",
                    "listeners": f"http://127.0.0.1:{self._port}",
                }
            )
        )

    def start(self) -> None:
        """Begin, with no connector."""
        self._start("org.apache.kafka.connect.cli.ConnectStandalone", str(self._properties))
        self._wait(lambda: _listens(self._port) and self._answers())

    def kill(self) -> None:
        """End it at once, but not amid writing its file of places: it writes that in place."""
        while self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)
            if not self._offsets.exists() or time.time() - self._offsets.stat().st_mtime > _WRITTEN:
                break
            self._process.send_signal(signal.SIGCONT)
            time.sleep(0.05)
        super().kill()

    def places(self) -> bytes:
        """The connectors' places, as they are kept; Connect may run."""
        return self._offsets.read_bytes()

    def set_back(self, places: bytes) -> None:
        """Begin from other places next; Connect does not run."""
        self._offsets.write_bytes(places)

    def put(self, name: str, configuration: Mapping[str, str]) -> None:
        """Begin a connector, and wait until its task runs."""
        self._ask("PUT", f"/connectors/{name}/config", configuration)
        self._wait(lambda: self._runs(name))

    def remove(self, name: str) -> None:
        """End a connector; its place in the source's log stays known."""
        self._ask("DELETE", f"/connectors/{name}")

    def state(self, name: str) -> ConnectorState:
        """How a connector is."""
        found = self._ask("GET", f"/connectors/{name}/status")
        if found is None:
            return ConnectorState("UNKNOWN", (), "")
        tasks = tuple(task["state"] for task in found["tasks"])
        why = "".join(task.get("trace", "") for task in found["tasks"])
        return ConnectorState(found["connector"]["state"], tasks, why)

    def _runs(self, name: str) -> bool:
        state = self.state(name)
        if "FAILED" in (state.state, *state.tasks):
            raise RuntimeError(f"connector {name} failed: {state.why}")
        return state.tasks == ("RUNNING",)

    def _answers(self) -> bool:
        return self._ask("GET", "/connectors") is not None

    def _ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """The answer's document; None where there is nothing of the name."""
        request = urllib.request.Request(
            f"http://127.0.0.1:{self._port}{path}",
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=_PATIENCE) as answer:
                content = answer.read()
        except urllib.error.HTTPError as error:
            if error.code == 404:
                return None
            raise RuntimeError(f"{method} {path}: {error.read().decode()}") from error
        return json.loads(content) if content else {}


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _properties(of: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in of.items())
