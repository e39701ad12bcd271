"""`openmirror azure publish`: a package with its requirements goes into the app without a build."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from openmirror.cli.app import app
from openmirror.deployment.azure.publishing import ArmPublishing
from openmirror.deployment.publish import LONGEST, check_package, publish
from openmirror.errors import AccessDenied, NotThere, OpenmirrorError, Unavailable, WrongRequest
from standins.loopback import serving
from tests.deployment.azure import NAME
from tests.deployment.place import Place


def package(*names: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as packed:
        for name in names:
            packed.writestr(name, "")
    return made.getvalue()


VENDORED = package("host.json", "function_app.py", ".python_packages/lib/site-packages/x.py")


@dataclass
class Endpoint:
    """What answers in place of an app's deployment endpoint."""

    statuses: list[dict[str, Any]] = field(default_factory=lambda: [{"status": 4}])
    """What it says of the last deployment, one after the other; the last one stays."""
    answer: int = 202
    asked: list[str] = field(default_factory=list)
    sent: bytes = b""


@contextmanager
def endpoint(place: Place) -> Iterator[Endpoint]:
    here = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, status: int, value: object) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            here.asked.append(f"POST {self.path}")
            here.sent = self.rfile.read(int(self.headers["Content-Length"]))
            assert self.headers["Content-Type"] == "application/zip"
            self._answer(here.answer, "an-id")

        def do_GET(self) -> None:
            here.asked.append(f"GET {self.path}")
            found = here.statuses[0]
            if len(here.statuses) > 1:
                del here.statuses[0]
            self._answer(int(found.get("code", 200)), found)

        def log_message(self, format: str, *args: Any) -> None:
            """Say nothing."""

    with serving(Handler) as url:
        place.azure.publishing = urlsplit(url).netloc
        yield here


def published(place: Place, content: bytes = VENDORED, slept: list[timedelta] | None = None) -> str:
    function_app = place.azure.one("Microsoft.Web/sites")["name"]
    publishing = ArmPublishing(place.clients, NAME, function_app, scheme="http")
    return "\n".join(publish(publishing, content, (slept if slept is not None else []).append))


def test_it_is_sent_as_it_is_to_the_endpoint_that_does_not_build(place: Place) -> None:
    with endpoint(place) as here:
        here.statuses = [{"status": 0}, {"status": 2}, {"status": 4}]
        slept: list[timedelta] = []
        shown = published(place, slept=slept)
    assert here.asked[0] == "POST /api/publish?RemoteBuild=false&Deployer=openmirror"
    assert here.asked[1:] == ["GET /api/deployments/latest"] * 3
    assert here.sent == VENDORED
    assert len(slept) == 2
    assert shown.splitlines() == [
        f"sending {len(VENDORED):,} bytes",
        "pending",
        "deploying",
        "done",
    ]


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (3, "failed: no function was found"),
        (-1, "cancelled"),
        (5, "in conflict"),
        (6, "done in part"),
        (17, "unknown state 17"),
    ],
)
def test_a_deployment_that_failed_is_no_success(place: Place, status: int, text: str) -> None:
    with endpoint(place) as here:
        here.statuses = [
            {"status": 1},
            {"status": status, "status_text": "no function was found" if status == 3 else ""},
        ]
        with pytest.raises(WrongRequest, match=text):
            published(place)


def test_one_that_does_not_end_is_not_waited_for_for_ever(place: Place) -> None:
    slept: list[timedelta] = []
    with endpoint(place) as here:
        here.statuses = [{"status": 2}]
        with pytest.raises(Unavailable, match="still says: deploying"):
            published(place, slept=slept)
    assert sum(slept, timedelta()) == LONGEST


def test_an_endpoint_that_knows_of_no_deployment_yet_is_asked_again(place: Place) -> None:
    with endpoint(place) as here:
        here.statuses = [{"code": 404}, {"status": None}, {"status": 1}, {"status": 4}]
        assert published(place).splitlines()[1:] == ["not begun", "building", "done"]


def test_one_that_was_accepted_and_is_not_known_any_more_is_done(place: Place) -> None:
    with endpoint(place) as here:
        here.statuses = [{"code": 202, "status": 2}, {"code": 404}]
        assert published(place).splitlines()[1:] == ["deploying"]


def test_one_that_is_forgotten_before_its_end_is_no_success(place: Place) -> None:
    with endpoint(place) as here:
        here.statuses = [{"status": 2}, {"code": 404}]
        with pytest.raises(Unavailable, match="no longer says"):
            published(place)


@pytest.mark.parametrize(
    ("answer", "error", "text"),
    [
        (409, WrongRequest, "being deployed by somebody"),
        (403, AccessDenied, "Website Contributor"),
        (400, WrongRequest, "refuses"),
    ],
)
def test_an_endpoint_that_refuses_is_named(
    place: Place, answer: int, error: type[OpenmirrorError], text: str
) -> None:
    with endpoint(place) as here:
        here.answer = answer
        with pytest.raises(error, match=text):
            published(place)


def test_an_app_that_is_gone_is_named(place: Place) -> None:
    with pytest.raises(NotThere, match="func-gone"):
        ArmPublishing(place.clients, NAME, "func-gone").send(b"")


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"no zip", "it is no package"),
        (package("x.py"), "no host.json"),
        (package("host.json", "requirements.txt"), "--build-remote true"),
        (package("host.json", "function_app.py"), "--build-remote true"),
        (
            package("host.json", "requirements.txt", ".python_packages/lib/x.py"),
            "--build-remote true",
        ),
    ],
)
def test_a_package_that_takes_a_build_is_refused_before_anything_is_sent(
    content: bytes, text: str
) -> None:
    with pytest.raises(WrongRequest, match=text):
        check_package(content)


def test_the_verb_names_what_is_wrong_with_the_file(place: Place, tmp_path: Path) -> None:
    path = tmp_path / "app.zip"
    path.write_bytes(package("host.json", "requirements.txt"))
    shown = CliRunner().invoke(app, ["azure", "publish", str(path), "-g", NAME])
    assert shown.exit_code != 0
    assert "./dev package --vendor" in shown.output + str(shown.exception)
