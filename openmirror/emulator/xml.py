"""XML as the Blob endpoint speaks it."""

from __future__ import annotations

import re
from urllib.parse import quote
from xml.etree import ElementTree

from openmirror.emulator.bodies import Body
from openmirror.emulator.errors import Fault, RefusedCall

_MOST_BYTES = 8 << 20
_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\r]")


def parsed(body: Body) -> ElementTree.Element:
    """The document in a body; raises Refused."""
    if body.size > _MOST_BYTES:
        raise RefusedCall(Fault.TOO_LARGE, f"XML is at most {_MOST_BYTES} bytes")
    text = body.all()
    # Clients never send one, and entities can be made to grow without end.
    if b"<!DOCTYPE" in text.upper():
        raise RefusedCall(Fault.XML, "a document type is not allowed")
    try:
        return ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError) as error:
        raise RefusedCall(Fault.XML, str(error)) from error


def rendered(root: ElementTree.Element) -> bytes:
    """The document as bytes."""
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text


def add_name(parent: ElementTree.Element, name: str) -> None:
    """A blob's name, which may hold what XML cannot say."""
    element = ElementTree.SubElement(parent, "Name")
    if _UNSPEAKABLE.search(name):
        element.set("Encoded", "true")
        name = quote(name)
    element.text = name
