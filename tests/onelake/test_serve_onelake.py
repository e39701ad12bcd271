"""`openmirror serve --onelake` as a command: what it prints, what it runs, what it refuses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.errors import CannotStart
from openmirror.settings import Settings
from openmirror.wiring import onelake_served

ENV = {**os.environ, "PYTHONPATH": str(Path.cwd())}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "root"
    (made / "landing/sales/Files/LandingZone").mkdir(parents=True)
    return made


def serve(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "openmirror.cli", "serve", "--root", str(root), *words]


def run(root: Path, by: str, *command: str) -> list[str]:
    return ["serve", "--root", str(root), "--onelake", "--run", "--run-by", by, "--", *command]


def test_it_prints_names_port_and_trust_and_changes_nothing(root: Path) -> None:
    before = Path("/etc/hosts").read_bytes()
    words = serve(root, "--onelake", "--port", "0", "--map", "My Workspace/Sales=sales")
    with subprocess.Popen(words, env=ENV, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = []
        for line in process.stdout:
            lines.append(line.rstrip())
            if "--run -- COMMAND" in line:
                break
        process.terminate()
    shown = "\n".join(lines)
    for name in ("onelake.dfs.fabric.microsoft.com", "api.fabric.microsoft.com", "sts.windows.net"):
        assert f"  127.0.0.1 {name}" in lines
    assert "/My%20Workspace/Sales.MountedRelationalDatabase/Files/LandingZone" in shown
    assert "export AZURE_AUTHORITY_HOST=https://login.microsoftonline.com:" in shown
    assert "--resolve onelake.dfs.fabric.microsoft.com:" in shown
    for variable in (
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "NODE_EXTRA_CA_CERTS",
        "JAVA_TOOL_OPTIONS",
        "IDENTITY_ENDPOINT",
    ):
        assert f"export {variable}=" in shown or f" {variable}=" in shown
    assert Path("/etc/hosts").read_bytes() == before


@pytest.mark.parametrize(("command", "code"), [("exit 7", 7), ("kill -9 $$", 137), ("true", 0)])
def test_it_ends_as_its_command_ends(root: Path, command: str, code: int) -> None:
    words = run(root, "proxy", "sh", "-c", command)
    assert CliRunner().invoke(app, words).exit_code == code


def test_a_command_sees_the_names_and_others_do_not(root: Path, tmp_path: Path) -> None:
    script = f"cat /etc/hosts > {tmp_path}/hosts; printenv > {tmp_path}/environment"
    done = CliRunner().invoke(app, run(root, "auto", "sh", "-c", script))
    assert done.exit_code == 0, done.stderr
    zone = "/openmirror/sales.MountedRelationalDatabase/Files/LandingZone"
    lines = (tmp_path / "environment").read_text().splitlines()
    assert f"OPENMIRROR_LANDING_ZONE=https://onelake.dfs.fabric.microsoft.com{zone}" in lines
    if "runs by proxy" not in done.stderr:
        hosts = (tmp_path / "hosts").read_text()
        assert "127.0.0.1 onelake.dfs.fabric.microsoft.com\n" in hosts
    assert "onelake" not in Path("/etc/hosts").read_text()


@pytest.mark.parametrize("is_known", [True, False])
def test_behind_a_proxy_java_finds_hosts_by_a_file_where_nobody_knows_them(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_known: bool
) -> None:
    resolve = socket.getaddrinfo

    def answer(host: str, *more: Any, **named: Any) -> Any:
        if host.endswith("fabric.microsoft.com"):
            if not is_known:
                raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
            host = "127.0.0.1"
        return resolve(host, *more, **named)

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    script = f"printenv JAVA_TOOL_OPTIONS > {tmp_path}/options"
    done = CliRunner().invoke(app, run(root, "proxy", "sh", "-c", script))
    assert done.exit_code == 0, done.stderr
    hosts = root / ".endpoint/onelake/hosts"
    option = f'-Djdk.net.hosts.file="{hosts}"'
    assert (option in (tmp_path / "options").read_text()) is not is_known
    assert ("in place of DNS" in done.stderr) is not is_known
    if not is_known:
        assert "127.0.0.1 onelake.dfs.fabric.microsoft.com\n" in hosts.read_text()


@pytest.mark.parametrize(("by", "code"), [("auto", (1, 127)), ("proxy", (1,))])
def test_a_command_that_is_not_there_is_named(
    root: Path, by: str, code: tuple[int, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    done = CliRunner().invoke(app, run(root, by, "no-such-program"))
    assert done.exit_code in code
    assert "no-such-program cannot be started" in done.stderr + capfd.readouterr().err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--map", "a/b=sales"], "--map, --mirror and --run go with --onelake"),
        (["--mirror", "x"], "--map, --mirror and --run go with --onelake"),
        (["--onelake", "--run"], "--run has no command"),
        (["--onelake", "publisher"], "write --run -- before it"),
        (["--onelake", "--host", "0.0.0.0", "--port", "0"], "listens on loopback only"),
        (["--onelake", "--map", "nonsense"], "is not WORKSPACE/ITEM=MIRROR"),
        (["--onelake", "--map", "a/b/c=sales"], "named by its GUID"),
        (["--onelake", "--map", "a/b=none"], "add --mirror none"),
        (
            ["--onelake", "--mirror", "x", "--map", "a/b=sales", "--map", "A/B=x"],
            "stands for two mirrors, sales and x",
        ),
        (["--onelake", "--mirror", "a/b"], "no mirror's name"),
    ],
)
def test_what_cannot_be_served_says_why(root: Path, words: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["serve", "--root", str(root), *words])
    assert done.exit_code == 1
    assert says in done.stderr
    assert not (root / "landing" / "b").exists()


def test_names_in_onelake_where_nobody_stands_for_it_are_refused(root: Path) -> None:
    names = {"OPENMIRROR_SERVE_MAP": "a/b=sales"}
    done = CliRunner().invoke(app, ["up", "--serve", "--root", str(root)], env=names)
    assert (done.exit_code, "OPENMIRROR_SERVE_ONELAKE" in done.stderr) == (1, True)


def test_a_root_without_mirrors_asks_for_one(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["serve", "--root", str(tmp_path), "--onelake", "--port", "0"])
    assert (done.exit_code, "add --mirror NAME to make one" in done.stderr) == (1, True)


def test_a_taken_port_is_named(root: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        words = ["serve", "--root", str(root), "--onelake", "--port", port]
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 1
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in done.stderr


def test_port_443_without_the_right_names_the_ways_out(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    done = CliRunner().invoke(app, ["serve", "--root", str(root), "--onelake"])
    assert done.exit_code == 1
    assert "127.0.0.1 port 443: Permission denied" in done.stderr
    assert "--port 10443" in done.stderr
    assert "--run -- COMMAND" in done.stderr


@pytest.mark.parametrize("name", ["WEBSITE_INSTANCE_ID", "DATABRICKS_RUNTIME_VERSION"])
def test_it_refuses_machines_that_things_are_deployed_to(root: Path, name: str) -> None:
    settings = Settings(root=root, serve_onelake=True, serve_port=0)
    with pytest.raises(CannotStart, match=name), onelake_served(settings, {name: "1"}):
        pass


@contextmanager
def served(root: Path, by: str, script: str) -> Iterator[subprocess.Popen[str]]:
    """`serve --run` of a shell's script in a session of its own, of which nobody stays behind."""
    words = serve(root, "--onelake", "--run", "--run-by", by, "--", "sh", "-c", script)
    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(words, env=ENV, start_new_session=True, **given) as process:
        try:
            yield process
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def lines_until(stream: IO[str] | None, words: str) -> list[str]:
    assert stream is not None
    found = []
    for line in stream:
        found.append(line)
        if words in line:
            return found
    raise AssertionError(f"{words!r} never came: {found}")


def alive(pid: int) -> bool:
    """Whether a process runs; one that has ended and that nobody has waited for does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("by", "script"),
    [
        ("auto", "echo $$; exec sleep 600"),
        # dash loses a Ctrl-C while it starts its child: then both end by SIGTERM, ten seconds later
        pytest.param("proxy", "echo $$; sleep 600", marks=pytest.mark.soak),
    ],
)
def test_a_stopped_serve_leaves_no_publisher_behind(root: Path, by: str, script: str) -> None:
    with served(root, by, script) as process:
        shell = int(lines_until(process.stdout, "\n")[0])
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 130
        assert not alive(shell)


@pytest.mark.timeout(120)
def test_a_publisher_that_does_not_heed_a_stop_is_ended_with_all_that_it_started(
    root: Path,
) -> None:
    """In whatever session they are, and though their parents are gone; the second stop kills."""
    script = "trap '' INT TERM; (setsid sleep 600 & echo $!); echo $$; echo all; sleep 600"
    with served(root, "auto", script) as process:
        pids = [int(line) for line in lines_until(process.stdout, "all")[:-1]]
        process.send_signal(signal.SIGTERM)
        lines_until(process.stderr, "once more kills")
        assert [alive(pid) for pid in pids] == [True, True]
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 143
        assert [alive(pid) for pid in pids] == [False, False]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)]
)
def test_a_stop_before_the_command_begins_keeps_it_from_beginning(
    root: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with served(root, "auto", f"sleep 1; touch {tmp_path}/went-on; sleep 600") as process:
        lines_until(process.stderr, "Entra ID is a stand-in")
        os.killpg(process.pid, number)
        assert process.wait(60) == 128 + number
    assert not (tmp_path / "went-on").exists()


def test_the_port_is_443_unless_another_is_chosen() -> None:
    assert Settings().port_to_serve() == 10080
    assert Settings(serve_onelake=True).port_to_serve() == 443
    assert Settings(serve_onelake=True, serve_port=10080).port_to_serve() == 10080
    several = Settings.load({"OPENMIRROR_SERVE_MAP": "My Workspace/A=a; b/c=d;"})
    assert several.serve_map == ("My Workspace/A=a", "b/c=d")
