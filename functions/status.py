"""Status over HTTP: Fabric's two calls, a page for people, and the operator's verbs."""

from __future__ import annotations

import os
from urllib.parse import urlencode

import azure.functions as func

from functions.answers import answer, refusal
from functions.built import built
from openmirror.errors import AccessDenied, OpenmirrorError, Unavailable
from openmirror.ingress.dead_letters import dead_letter_page
from openmirror.operate.finding import find_mirror
from openmirror.operate.http_verbs import Ask, operate, put_back, verb_of
from openmirror.operate.mirror_notes import mirror_notes
from openmirror.operate.overview import mirror_head, path_of, table_page, token_of
from openmirror.operate.requests import Operator
from openmirror.ports.dead_letters import DeadLetters
from openmirror.status import message_of, to_json
from openmirror.statuspage import GivenUp, Undelivered, page_of_root

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
        ports = built().ports
        head = mirror_head(ports, find_mirror(ports.store, req.route_params["mirror"]))
    except OpenmirrorError as error:
        return refusal(error)
    shown: dict[str, object] = {"status": head.state.value}
    if head.trouble:
        shown["error"] = {"errorCode": head.trouble.code, "message": message_of(head.trouble)}
    return answer(shown)


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
        ports = built().ports
        mirror = find_mirror(ports.store, req.route_params["mirror"])
        page = table_page(ports, mirror, path_of(token) if token else None)
        notes = mirror_notes(ports.store, mirror, ports.clock())
    except OpenmirrorError as error:
        return refusal(error)
    shown = to_json(page.tables, [notes])
    if page.more:
        after = token_of(page.more)
        address = req.url.partition("?")[0]
        shown["continuationToken"] = after
        shown["continuationUri"] = f"{address}?{urlencode({'continuationToken': after})}"
    return answer(shown)


@blueprint.function_name("status")
@blueprint.route(route="status", methods=["GET"], auth_level=func.AuthLevel.FUNCTION)
def status(req: func.HttpRequest) -> func.HttpResponse:
    """The page for people; `?mirror=` shows one mirror, `?refresh=0` stands still."""
    try:
        app = built()
        page = page_of_root(
            app.ports,
            os.environ.get("OPENMIRROR_ROOT", ""),
            req.params,  # its key too, which its links need
            undelivered=_undelivered(app.dead_letters),
        )
    except OpenmirrorError as error:
        return refusal(error)
    return func.HttpResponse(page.html, headers=page.headers)


def _undelivered(dead_letters: DeadLetters) -> Undelivered:
    try:
        found = dead_letter_page(dead_letters)
    except (AccessDenied, Unavailable) as error:
        return Undelivered(unreadable=str(error))
    newest = tuple(
        GivenUp(dead_letter.name, dead_letter.at, dead_letter.reason)
        for dead_letter in found.newest
    )
    return Undelivered(found.count, newest)


@blueprint.function_name("operate")
@blueprint.route(route="operate/{verb}", methods=["POST"], auth_level=func.AuthLevel.ADMIN)
def operate_verb(req: func.HttpRequest) -> func.HttpResponse:
    """The operator's verbs; only for holders of the app's master key."""
    try:
        verb, ask = verb_of(req.route_params["verb"]), Ask.parse(req.get_body())
        operator = Operator(req.headers.get(_WHO) or "the master key", ask.why)
        done = operate(built().ports, verb, ask, operator)
    except OpenmirrorError as error:
        return refusal(error)
    return answer({"data": [{"table": one.name, "done": one.what} for one in done]}, 202)


@blueprint.function_name("requeue")
@blueprint.route(route="dead-letters/requeue", methods=["POST"], auth_level=func.AuthLevel.ADMIN)
def requeue_dead_letters(req: func.HttpRequest) -> func.HttpResponse:
    """Put messages that were given up back into their queues."""
    try:
        app = built()
        names = put_back(app.dead_letters, app.requeuer, Ask.parse(req.get_body()))
    except OpenmirrorError as error:
        return refusal(error)
    return answer({"data": [{"dead_letter": name, "done": "put back"} for name in names]}, 202)
