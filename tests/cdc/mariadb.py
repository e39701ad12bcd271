"""A real MariaDB server in a folder of its own, for as long as a test run lasts."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql

from standins.loopback import free_port

PASSWORD = "it is a secret: p@ss/word"
READER = "reader"
_RIGHTS = "SELECT, RELOAD, SHOW DATABASES, REPLICATION SLAVE, REPLICATION CLIENT, LOCK TABLES"
_PATIENCE = 30.0
_OPTIONS = (
    "--no-defaults",
    "--bind-address=127.0.0.1",
    "--server-id=7",
    "--log-bin=binlog",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
    "--binlog-row-metadata=FULL",
    # No test cuts the power off.
    "--innodb-flush-log-at-trx-commit=0",
    "--performance-schema=off",
    "--innodb-buffer-pool-size=16M",
)


@dataclass(frozen=True)
class MariaDbServer:
    """A server that runs; `READER` may read every table and the log."""

    port: int

    def connect(self, database: str | None = None) -> pymysql.Connection[Any]:
        """The superuser's connection, each statement a transaction."""
        return pymysql.connect(
            host="127.0.0.1",
            port=self.port,
            user="root",
            password="",
            database=database,
            autocommit=True,
            charset="utf8mb4",
        )

    @contextmanager
    def database(self, name: str) -> Iterator[str]:
        """An empty database, which goes with the block."""
        with self.connect() as connection, connection.cursor() as cursor:
            cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
            try:
                yield name
            finally:
                cursor.execute(f"DROP DATABASE {name}")


@contextmanager
def mariadb_server() -> Iterator[MariaDbServer]:
    """Start a server; it ends with the block."""
    # It refuses to run as root, and pytest's folders are root's alone.
    user = ["--user=nobody"] if os.geteuid() == 0 else []
    folder = Path(tempfile.mkdtemp(prefix="openmirror-mariadb-"))
    try:
        if user:
            shutil.chown(folder, "nobody")
        data = [f"--datadir={folder / 'data'}", *user]
        _run(
            "mariadb-install-db",
            "--no-defaults",
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
            *data,
        )
        made = MariaDbServer(free_port())
        place = [f"--port={made.port}", f"--socket={folder / 'socket'}"]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [_program("mariadbd"), *_OPTIONS, *data, *place],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            _wait(made, server, folder / "log")
            with made.connect() as connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE USER {READER}@'%%' IDENTIFIED BY %s", (PASSWORD,))
                cursor.execute(f"GRANT {_RIGHTS} ON *.* TO {READER}@'%'")
            yield made
        finally:
            server.send_signal(signal.SIGKILL)
            server.wait(_PATIENCE)
    finally:
        shutil.rmtree(folder)


def _program(name: str) -> str:
    """Debian has the server's program in no folder of a user's PATH."""
    found = shutil.which(name) or shutil.which(name, path="/usr/sbin")
    if found is None:
        raise RuntimeError(f"{name} is not installed: ./dev test installs it")
    return found


def _run(name: str, *arguments: str) -> None:
    done = subprocess.run(
        [_program(name), *arguments],
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _wait(server: MariaDbServer, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            server.connect().close()
            return
        except pymysql.OperationalError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
