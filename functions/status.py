"""Status over HTTP: Fabric's two calls, a page for people, and the operator's verbs."""

from __future__ import annotations

import os
from urllib.parse import urlencode

import azure.functions as func

from functions.answers import answer, refusal
from functions.built import built
from openmirror.errors import AccessDenied, OpenmirrorError, Unavailable
from openmirror.lifecycle import message_of, to_json
from openmirror.ports.letters import Letters
from openmirror.services.finding import find_mirror, known_mirrors
from openmirror.services.letters import mailbox
from openmirror.services.operating import Ask, operate, put_back, verb_of
from openmirror.services.overview import mirror_head, path_of, table_page, token_of
from openmirror.services.parts import Parts
from openmirror.services.requests import Operator
from openmirror.statuspage import (
    REFRESH_SECONDS,
    GivenUp,
    MirrorView,
    Undelivered,
    mirror_view,
    render,
)

blueprint = func.Blueprint()  # type: ignore[no-untyped-call]

_WHO = "x-ms-client-principal-name"
"""Set by App Service authentication, where it is switched on."""


@blueprint.function_name("getMirroringStatus")
@blueprint.route(
    route="mirrors/{mirror}/getMirroringStatus",
    methods=["POST"],
    auth_level=func.AuthLevel.FUNCTION,
)
def get_mirroring_status(req: func.HttpRequest) -> func.HttpResponse:
    """Fabric's call of this name: how one mirror stands."""
    try:
        parts = built().parts
        head = mirror_head(parts, find_mirror(parts.store, req.route_params["mirror"]))
    except OpenmirrorError as error:
        return refusal(error)
    said: dict[str, object] = {"status": head.state.value}
    if head.trouble:
        said["error"] = {"errorCode": head.trouble.code, "message": message_of(head.trouble)}
    return answer(said)


@blueprint.function_name("getTablesMirroringStatus")
@blueprint.route(
    route="mirrors/{mirror}/getTablesMirroringStatus",
    methods=["POST"],
    auth_level=func.AuthLevel.FUNCTION,
)
def get_tables_mirroring_status(req: func.HttpRequest) -> func.HttpResponse:
    """Fabric's call of this name: how the tables of one mirror stand, page by page."""
    token = req.params.get("continuationToken")
    try:
        parts = built().parts
        mirror = find_mirror(parts.store, req.route_params["mirror"])
        page = table_page(parts, mirror, path_of(token) if token else None)
    except OpenmirrorError as error:
        return refusal(error)
    said = to_json(page.tables)
    if page.more:
        after = token_of(page.more)
        address = req.url.partition("?")[0]
        said["continuationToken"] = after
        said["continuationUri"] = f"{address}?{urlencode({'continuationToken': after})}"
    return answer(said)


@blueprint.function_name("status")
@blueprint.route(route="status", methods=["GET"], auth_level=func.AuthLevel.FUNCTION)
def status(req: func.HttpRequest) -> func.HttpResponse:
    """The page for people; `?mirror=` shows one mirror, `?refresh=0` stands still."""
    try:
        app = built()
        parts = app.parts
        only = req.params.get("mirror")
        names = [find_mirror(parts.store, only)] if only else known_mirrors(parts.store)
        views = [_view(parts, name, req) for name in names]
        undelivered = _undelivered(app.letters)
    except OpenmirrorError as error:
        return refusal(error)
    still = req.params.get("refresh") == "0"
    page = render(
        views,
        parts.clock(),
        where=os.environ.get("OPENMIRROR_ROOT", ""),
        undelivered=undelivered,
        refresh=None if still else REFRESH_SECONDS,
        toggle=_with(req, refresh="1" if still else "0"),
    )
    return func.HttpResponse(page.html, headers=page.headers)


def _view(parts: Parts, name: str, req: func.HttpRequest) -> MirrorView:
    token = req.params.get("after")
    head = mirror_head(parts, name)
    page = table_page(parts, name, path_of(token) if token else None)
    more = _with(req, mirror=name, after=token_of(page.more)) if page.more else None
    return mirror_view(name, head.state.value, head.heartbeat, head.trouble, page.tables, more)


def _undelivered(letters: Letters) -> Undelivered:
    try:
        found = mailbox(letters)
    except (AccessDenied, Unavailable) as error:
        return Undelivered(unreadable=str(error))
    newest = tuple(GivenUp(letter.name, letter.at, letter.reason) for letter in found.newest)
    return Undelivered(found.count, newest)


def _with(req: func.HttpRequest, **changed: str) -> str:
    """The address of this page with some of its parameters changed; its key stays in it."""
    return "?" + urlencode({**req.params, **changed})


@blueprint.function_name("operate")
@blueprint.route(route="operate/{verb}", methods=["POST"], auth_level=func.AuthLevel.ADMIN)
def operate_verb(req: func.HttpRequest) -> func.HttpResponse:
    """The operator's verbs; only for holders of the app's master key."""
    try:
        verb, ask = verb_of(req.route_params["verb"]), Ask.parse(req.get_body())
        operator = Operator(req.headers.get(_WHO) or "the master key", ask.why)
        done = operate(built().parts, verb, ask, operator)
    except OpenmirrorError as error:
        return refusal(error)
    return answer({"data": [{"table": one.name, "done": one.what} for one in done]}, 202)


@blueprint.function_name("requeue")
@blueprint.route(route="letters/requeue", methods=["POST"], auth_level=func.AuthLevel.ADMIN)
def requeue_letters(req: func.HttpRequest) -> func.HttpResponse:
    """Put messages that were given up back into their queues."""
    try:
        app = built()
        names = put_back(app.letters, app.post, Ask.parse(req.get_body()))
    except OpenmirrorError as error:
        return refusal(error)
    return answer({"data": [{"letter": name, "done": "put back"} for name in names]}, 202)
