"""How a request hears that it was refused, and how whoever watches the endpoint does."""

from __future__ import annotations

import json
import logging
from xml.etree.ElementTree import Element, SubElement

from openmirror.emulator.calls import Reply
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.xml import rendered

_log = logging.getLogger(__name__)


def log_refusal(method: str, path: str, refused: RefusedCall, *, dfs: bool) -> None:
    """A line for whoever tests a publisher, with the code that it gets.

    304 is no refusal: whoever asks with a condition wants to hear it.
    """
    fault = refused.fault
    if fault is Fault.NOT_MODIFIED:
        return
    detail = f": {refused.detail}" if refused.detail else ""
    _log.info("%s %s: %s %s%s", method, path, fault.status, fault.code(dfs=dfs), detail)


def refusal(method: str, refused: RefusedCall, request_id: str, *, dfs: bool) -> Reply:
    """An error as each endpoint words it: JSON on DFS, XML on Blob; to a HEAD in headers alone.

    Azure's SDK for C++ parses what has the type of XML, and a HEAD has no body: with a type there,
    pyarrow's whole process would end.
    """
    fault = refused.fault
    code = fault.code(dfs=dfs)
    detail = f" {refused.detail}" if refused.detail else ""
    message = f"{fault.message}{detail}\nRequestId:{request_id}"
    headers = {"x-ms-error-code": code}
    if fault.status == 401:
        headers["www-authenticate"] = (
            "Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize "
            "resource_id=https://storage.azure.com"
        )
    if fault is Fault.NOT_MODIFIED or method == "HEAD":
        return Reply(fault.status, headers)
    if dfs:
        text = json.dumps({"error": {"code": code, "message": message}}).encode()
        return Reply(fault.status, {**headers, "content-type": "application/json"}, text)
    root = Element("Error")
    SubElement(root, "Code").text = code
    SubElement(root, "Message").text = message
    return Reply(fault.status, {**headers, "content-type": "application/xml"}, rendered(root))
