"""A real PostgreSQL server in a folder of its own, for as long as a test run lasts."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import psycopg
from psycopg import sql

from openmirror.cdc.postgresql.settings import DatabaseUrl
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


@dataclass(kw_only=True)
class PostgresServer:
    """A server that runs, or is stopped for a while; the superuser's name is `owner`."""

    url: DatabaseUrl
    folder: Path
    """Where its data and its log are."""
    programs: Path
    user: str | None
    """The operating system's user that it runs as; None for ours."""
    settings: Mapping[str, str]
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    def connect(self) -> psycopg.Connection:
        """The superuser's connection, each statement a transaction."""
        return connected(self.url)

    @property
    def version(self) -> str:
        """Such as 15.18."""
        with self.connect() as connection:
            row = connection.execute("SHOW server_version").fetchone()
        assert row is not None
        return str(row[0]).partition(" ")[0]

    def start(self) -> None:
        """Start the server on its data and port, and wait until it lets somebody in."""
        options = [f"-c{name}={value}" for name, value in self.settings.items()]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.folder / "data", *options],
                user=self.user,
                cwd=self.folder,
                env=_environment(self.programs),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        _wait(self.url, self._process, self.folder / "log")

    def stop(self, how: Literal["fast", "immediate"] = "fast") -> None:
        """Stop the server; `immediate` is a crash, which it recovers from at its next start."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT if how == "fast" else signal.SIGQUIT)
            self._process.wait(_PATIENCE)
            self._process = None

    def reload(self, **settings: str) -> None:
        """Change settings while the server runs."""
        with self.connect() as connection:
            for name, value in settings.items():
                statement = sql.SQL("ALTER SYSTEM SET {} = {}")
                connection.execute(statement.format(sql.Identifier(name), value))
            connection.execute("SELECT pg_reload_conf()")

    @contextmanager
    def database(self, name: str, encoding: str = "UTF8") -> Iterator[DatabaseUrl]:
        """An empty database; it goes, and with it its slots, whoever still uses them."""
        locale = "C.UTF-8" if encoding == "UTF8" else "C"
        with self.connect() as connection:
            connection.execute(
                sql.SQL(
                    "CREATE DATABASE {} TEMPLATE template0 ENCODING {} LC_COLLATE {} LC_CTYPE {}"
                ).format(sql.Identifier(name), encoding, locale, locale)
            )
        try:
            yield replace(self.url, database=name)
        finally:
            with self.connect() as connection:
                _drop_slots(connection, name)
                connection.execute(
                    sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
                )


@contextmanager
def postgres_server(
    more: Mapping[str, str] | None = None, programs: Path | None = None
) -> Iterator[PostgresServer]:
    """Start a server with some settings of its own; it ends with the block.

    `programs` are those of another version than the installed one.
    """
    # PostgreSQL refuses to run as root, and pytest's folders are root's alone.
    user = _somebody_else()
    folder = Path(tempfile.mkdtemp(prefix="openmirror-postgres-"))
    try:
        if user is not None:
            shutil.chown(folder, user)
        programs = postgres_programs() if programs is None else _readable(programs, folder, user)
        _make_data(programs, folder, user)
        settings = {**_SETTINGS, "port": str(free_port()), "unix_socket_directories": str(folder)}
        settings |= more or {}
        url = DatabaseUrl("127.0.0.1", int(settings["port"]), "postgres", "owner", PASSWORD)
        server = PostgresServer(
            url=url, folder=folder, programs=programs, user=user, settings=settings
        )
        try:
            server.start()
            yield server
        finally:
            server.stop("immediate")  # nothing of it is needed again
    finally:
        shutil.rmtree(folder)


def _make_data(programs: Path, folder: Path, user: str | None) -> None:
    secret = folder / "password"
    secret.write_text(PASSWORD)
    if user is not None:
        shutil.chown(secret, user)
    command = [programs / "initdb", "-D", folder / "data", "-U", "owner", "--pwfile", secret]
    _run(
        [*command, "-A", "scram-sha-256", "-E", "UTF8", "--locale=C.UTF-8", "-N"],
        user,
        _environment(programs),
    )


def _readable(programs: Path, folder: Path, user: str | None) -> Path:
    """Give the programs where the server's user may run them, who may not enter root's folders."""
    if user is None:
        return programs
    copied = folder / "programs"
    shutil.copytree(programs.parent, copied, symlinks=True)
    return copied / programs.name


def _environment(programs: Path) -> dict[str, str]:
    """Let programs that bring their own libraries find them."""
    own = programs.parent / "lib"
    more = {"LD_LIBRARY_PATH": str(own)} if (own / "libpq.so.5").exists() else {}
    return {**os.environ, **more}


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


def _run(command: list[object], user: str | None, environment: Mapping[str, str]) -> None:
    done = subprocess.run(
        [str(part) for part in command],
        user=user,
        cwd="/",
        env=environment,
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
