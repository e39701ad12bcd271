"""A real PostgreSQL server in a folder of its own, for as long as a test run lasts."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg

from openmirror.cdc.capture.settings import DatabaseUrl
from standins.loopback import free_port

PASSWORD = "it is a secret: p@ss/word"
_PATIENCE = 30.0
_SETTINGS = {
    "wal_level": "logical",
    "max_replication_slots": "20",
    "max_wal_senders": "20",
    # No test cuts the power off.
    "fsync": "off",
    "listen_addresses": "127.0.0.1",
}


@dataclass(frozen=True)
class PostgresServer:
    """A server that runs; the superuser's name is `owner`."""

    url: DatabaseUrl

    def connect(self) -> psycopg.Connection:
        """The superuser's connection, each statement a transaction."""
        return connected(self.url)

    @contextmanager
    def database(self, name: str) -> Iterator[DatabaseUrl]:
        """An empty database; it goes, and with it its slots, whoever still uses them."""
        with self.connect() as connection:
            connection.execute(f'CREATE DATABASE "{name}"')
            try:
                yield replace(self.url, database=name)
            finally:
                _drop_slots(connection, name)
                connection.execute(f'DROP DATABASE "{name}" WITH (FORCE)')


@contextmanager
def postgres_server(more: Mapping[str, str] | None = None) -> Iterator[PostgresServer]:
    """Start a server with some settings of its own; it ends with the block."""
    programs = postgres_programs()
    # PostgreSQL refuses to run as root, and pytest's folders are root's alone.
    user = _somebody_else()
    folder = Path(tempfile.mkdtemp(prefix="openmirror-postgres-"))
    try:
        secret = folder / "password"
        secret.write_text(PASSWORD)
        if user is not None:
            shutil.chown(folder, user)
            shutil.chown(secret, user)
        data = folder / "data"
        command = [programs / "initdb", "-D", data, "-U", "owner", "--pwfile", secret]
        _run([*command, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "-N"], user)
        settings = {**_SETTINGS, "port": str(free_port()), "unix_socket_directories": str(folder)}
        settings |= more or {}
        options = [f"-c{name}={value}" for name, value in settings.items()]
        with (folder / "log").open("wb") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, *options],
                user=user,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            url = DatabaseUrl("127.0.0.1", int(settings["port"]), "postgres", "owner", PASSWORD)
            _wait(url, server, folder / "log")
            yield PostgresServer(url)
        finally:
            server.send_signal(3)  # SIGQUIT: at once, since nothing of it is needed again
            server.wait(_PATIENCE)
    finally:
        shutil.rmtree(folder)


def postgres_programs() -> Path:
    """Where the server's programs are: Debian has them in no folder of PATH."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: float(p.parent.name))
    on_path = shutil.which("postgres")
    if on_path:
        places.append(Path(on_path).resolve().parent)
    for place in reversed(places):
        if (place / "initdb").exists() and (place / "postgres").exists():
            return place
    raise RuntimeError("PostgreSQL's programs are not installed: ./dev test installs them")


def connected(url: DatabaseUrl) -> psycopg.Connection:
    return psycopg.connect(
        host=url.host,
        port=url.port,
        dbname=url.database,
        user=url.user,
        password=url.password,
        autocommit=True,
    )


def _somebody_else() -> str | None:
    if os.geteuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _run(command: list[object], user: str | None) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        user=user,
        cwd="/",
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _wait(url: DatabaseUrl, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            connected(url).close()
            return
        except psycopg.OperationalError:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)


def _drop_slots(connection: psycopg.Connection, database: str) -> None:
    """Whoever reads them is ended first, which takes a moment."""
    until = time.monotonic() + _PATIENCE
    while slots := connection.execute(
        "SELECT slot_name, active_pid FROM pg_replication_slots WHERE database = %s", (database,)
    ).fetchall():
        assert time.monotonic() < until, slots
        for name, reader in slots:
            if reader is None:
                connection.execute("SELECT pg_drop_replication_slot(%s)", (name,))
            else:
                connection.execute("SELECT pg_terminate_backend(%s)", (reader,))
                time.sleep(0.05)
