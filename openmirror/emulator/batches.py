"""Blob Batch: many deletions in one request, each signed, allowed and answered by itself."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from email.policy import HTTP, compat32
from http import HTTPStatus
from urllib.parse import parse_qsl
from uuid import uuid4

from openmirror.emulator.access import Gatekeeper
from openmirror.emulator.account import Account
from openmirror.emulator.blob_paths import delete_blob
from openmirror.emulator.bodies import Body
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.refusals import log_refusal, refusal
from openmirror.emulator.routing import CallHandler, verb_of

_BOUNDARY = re.compile(
    r'^multipart/mixed;.*\bboundary="?([A-Za-z0-9\'()+_,./:=? -]+)"?', re.IGNORECASE
)
_MOST = 256
_MOST_BYTES = 4 << 20


@dataclass(frozen=True)
class _Part:
    """One request of a batch, as it stands in the body."""

    content_id: str
    method: str
    raw_path: str
    query: Sequence[tuple[str, str]]
    headers: Mapping[str, str]


def is_batch(call: Call) -> bool:
    """Whether a request is `POST ?comp=batch`, to the account or to a container."""
    return not call.dfs and call.method == "POST" and call.query.get("comp") == "batch"


def answer_batch(account: Account, gatekeeper: Gatekeeper, call: Call) -> Reply:
    """All answers in one; those of single requests may be errors. Raises Refused for no batch."""
    boundary = f"batchresponse_{uuid4()}"
    pieces = [
        _framed(boundary, part, _answer(account, gatekeeper, call, part)) for part in _parts(call)
    ]
    content = b"".join([*pieces, f"--{boundary}--\r\n".encode()])
    return Reply(202, {"content-type": f"multipart/mixed; boundary={boundary}"}, content)


def _answer(account: Account, gatekeeper: Gatekeeper, whole: Call, part: _Part) -> Reply:
    body = Body(account.staging.folder)
    try:
        gatekeeper.check(part.method, part.raw_path, part.query, part.headers)
        query = {name.lower(): value for name, value in part.query}
        place = whole.naming.place(part.raw_path, query)
        call = Call(
            method=part.method,
            address=place.address,
            query=place.query,
            headers=part.headers,
            body=body,
            dfs=False,
            request_id=whole.request_id,
            naming=whole.naming,
            spelling=place.spelling,
        )
        verb = place.answer or _verb(call)
        return verb(account, call)
    except RefusedCall as refused:
        log_refusal(part.method, part.raw_path, refused, dfs=False)
        return refusal(part.method, refused, whole.request_id, dfs=False)
    finally:
        body.close()


def _verb(call: Call) -> CallHandler:
    found = verb_of(call)
    if found is not delete_blob:
        raise RefusedCall(Fault.NOT_IMITATED, "a batch deletes blobs, and does nothing else")
    return found


def _parts(call: Call) -> list[_Part]:
    """All of them, before any is done; raises Refused."""
    # Some clients send a boundary with a slash in it and no quotes around it.
    sent = _BOUNDARY.search(call.header("content-type") or "")
    if call.body.size > _MOST_BYTES:
        raise RefusedCall(Fault.TOO_LARGE, f"a batch has at most {_MOST_BYTES} bytes")
    head = f'Content-Type: multipart/mixed; boundary="{sent[1]}"\r\n\r\n' if sent else "\r\n"
    whole = BytesParser(policy=HTTP).parsebytes(head.encode() + call.body.all())
    parts = list(whole.iter_parts()) if whole.is_multipart() else []
    if not 0 < len(parts) <= _MOST:
        raise RefusedCall(Fault.INVALID_INPUT, f"a batch is multipart/mixed, of 1 to {_MOST} parts")
    return [_part(part) for part in parts]


def _part(part: Message) -> _Part:
    text = part.get_payload(decode=True)
    line, _, rest = (text if isinstance(text, bytes) else b"").lstrip().partition(b"\n")
    words = line.decode("latin-1").split()
    if len(words) != 3:
        raise RefusedCall(Fault.INVALID_INPUT, "a part of a batch is an HTTP request")
    given, _, query = words[1].partition("?")
    # As they stand: the other policy writes dates in a form of its own, and they are signed.
    headers = BytesParser(policy=compat32).parsebytes(rest, headersonly=True)
    return _Part(
        part.get("Content-ID", ""),
        words[0].upper(),
        given,
        parse_qsl(query, keep_blank_values=True),
        {name.lower(): str(value) for name, value in headers.items()},
    )


def _framed(boundary: str, part: _Part, reply: Reply) -> bytes:
    content = reply.content if isinstance(reply.content, bytes) else b""
    headers = {**reply.headers, "content-length": str(len(content))} if content else reply.headers
    lines = [
        f"--{boundary}",
        "Content-Type: application/http",
        f"Content-ID: {part.content_id}",
        "",
        f"HTTP/1.1 {reply.status} {HTTPStatus(reply.status).phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
        "",
        "",
    ]
    return "\r\n".join(lines).encode("latin-1", "replace") + content + b"\r\n"
