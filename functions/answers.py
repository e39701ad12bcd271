"""HTTP answers: JSON, and errors as `{errorCode, message}` with the status that fits."""

from __future__ import annotations

import json

import azure.functions as func

from openmirror.errors import (
    AccessDenied,
    CannotStart,
    ConditionFailed,
    DocumentUnreadable,
    Malformed,
    NameRefused,
    NotThere,
    OpenmirrorError,
    Unavailable,
    UnknownName,
    WrongRequest,
)

# The first that fits; what fits none is nobody's to explain, and the host answers 500.
_ERRORS: tuple[tuple[type[OpenmirrorError], int, str], ...] = (
    (Malformed, 400, "InvalidRequest"),
    (UnknownName, 404, "ItemNotFound"),
    (WrongRequest, 409, "RequestRefused"),
    (ConditionFailed, 409, "Conflict"),
    (NameRefused, 409, "TableNameInvalid"),
    (DocumentUnreadable, 500, "ControlDocumentInvalid"),
    (AccessDenied, 500, "AccessDenied"),
    (CannotStart, 500, "NotConfigured"),
    (Unavailable, 503, "StorageUnavailable"),
    (NotThere, 503, "LandingZoneUnreadable"),
)


def answer(value: object, status: int = 200) -> func.HttpResponse:
    """A value as JSON."""
    return func.HttpResponse(
        json.dumps(value, ensure_ascii=False),
        status_code=status,
        mimetype="application/json",
        headers={"Cache-Control": "no-store"},
    )


def refusal(error: OpenmirrorError) -> func.HttpResponse:
    """What went wrong, in words; raises an error that has none again."""
    for kind, status, code in _ERRORS:
        if isinstance(error, kind):
            return answer({"errorCode": code, "message": str(error)}, status)
    raise error
