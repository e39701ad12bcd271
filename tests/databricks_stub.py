"""A local stand-in for the part of the Databricks Jobs API that makes jobs and starts runs."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from standins.loopback import serving

JOB = 77


@dataclass
class Run:
    """One run of the job."""

    number: int
    state: str = "RUNNING"
    code: str = "SUCCESS"
    message: str = ""
    ended: float = 0.0
    token: str = ""

    def body(self, *, old: bool, page: str) -> dict[str, Any]:
        over = self.state == "TERMINATED"
        end = int(self.ended * 1000) if over else 0
        found: dict[str, Any] = {"run_id": self.number, "job_id": JOB, "end_time": end}
        if page:
            found["run_page_url"] = f"{page}/?o=1#job/{JOB}/run/{self.number}"
        if old:
            record = "SKIPPED" if over and self.code == "SKIPPED" else self.state
            found["state"] = {"life_cycle_state": record, "state_message": self.message}
            if over and self.code != "SKIPPED":
                found["state"]["result_state"] = self.code
        else:
            found["status"] = {"state": self.state}
            if over:
                details = {"code": self.code, "type": "SUCCESS", "message": self.message}
                found["status"]["termination_details"] = details
        return found


@dataclass
class Jobs:
    """The service's state; what tests change and read."""

    url: str = ""
    runs: list[Run] = field(default_factory=list)
    refusals: list[tuple[int, str, str]] = field(default_factory=list)
    """Answers to give first: status, error code, message."""
    ends_at_once: str | None = None
    """A code with which every new run ends before it has begun."""
    forgets_ended: bool = False
    """Whether ended runs are not listed yet."""
    old: bool = False
    """Whether runs have the older `state` only."""
    pages: str = ""
    """The address of a workspace that says where people find its runs."""
    gone: bool = False
    """Whether somebody deleted the job."""
    locations: list[dict[str, Any]] = field(default_factory=list)
    """The external locations of the metastore."""
    sees_locations: bool = True
    created: list[dict[str, Any]] = field(default_factory=list)
    """The settings of jobs, as they were posted; only one is ever the job of the runs."""
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)
    headers: list[str] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def end(self, code: str = "SUCCESS", message: str = "", ago: float = 3600) -> None:
        """The active run ends."""
        run = self.runs[-1]
        run.state, run.code, run.message = "TERMINATED", code, message
        run.ended = time.time() - ago

    def start(self, token: str) -> Run:
        self.tokens.append(token)
        for run in self.runs:
            if run.token == token:
                return run
        run = Run(len(self.runs) + 1, token=token)
        self.runs.append(run)
        if self.ends_at_once:
            self.end(self.ends_at_once, "as the test wants it", ago=0)
        return run


@contextmanager
def jobs_api(certificate: tuple[Path, Path] | None = None) -> Iterator[Jobs]:
    """The API on a free port of this machine; https with a certificate and its key."""
    jobs = Jobs()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer({k: v[0] for k, v in parse_qs(urlsplit(self.path).query).items()})

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self._answer(json.loads(self.rfile.read(length) or b"{}"))

        def _answer(self, given: dict[str, Any]) -> None:
            path = urlsplit(self.path).path
            if path.endswith("/unity-catalog/external-locations"):
                if jobs.sees_locations:
                    return self._send(200, {"external_locations": jobs.locations})
                return self._send(403, {"error_code": "PERMISSION_DENIED", "message": "not you"})
            if "/jobs/" not in path:
                return self._send(404, {"error_code": "NOT_FOUND", "message": path})
            with jobs.lock:
                jobs.headers.append(self.headers.get("Authorization", ""))
                verb = path.partition("/jobs/")[2]
                jobs.asked.append(verb)
                if jobs.refusals:
                    status, code, message = jobs.refusals.pop(0)
                    return self._send(status, {"error_code": code, "message": message})
                if jobs.gone and verb == "get":
                    message = f"Job {given['job_id']} does not exist."
                    return self._send(
                        400, {"error_code": "INVALID_PARAMETER_VALUE", "message": message}
                    )
                return self._send(200, self._found(verb, given))

        def _found(self, verb: str, given: dict[str, Any]) -> dict[str, Any]:
            if verb == "create":
                jobs.created.append(given)
                return {"job_id": JOB}
            if verb == "list":
                found = [s for s in jobs.created if given.get("name") in (None, s["name"])]
                return {"jobs": [{"job_id": JOB, "settings": settings} for settings in found]}
            if verb == "run-now":
                return {"run_id": jobs.start(given["idempotency_token"]).number}
            if verb == "runs/get":
                return jobs.runs[int(given["run_id"]) - 1].body(old=jobs.old, page=jobs.pages)
            if verb == "get":
                return {"job_id": JOB}
            wanted = "active" if given.get("active_only") == "true" else "ended"
            found = [run for run in jobs.runs if (run.state == "TERMINATED") == (wanted == "ended")]
            if wanted == "ended" and jobs.forgets_ended:
                found = []
            bodies = [run.body(old=jobs.old, page=jobs.pages) for run in reversed(found)]
            return {"runs": bodies[:1]}

        def _send(self, status: int, body: dict[str, Any]) -> None:
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            if status == 429:
                self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with serving(Handler, certificate) as jobs.url:
        yield jobs
