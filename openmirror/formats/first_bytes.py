"""First bytes in words that let a publisher recognise a file."""

from __future__ import annotations

PARQUET = b"PAR1"
ENCRYPTED_PARQUET = b"PARE"

COPIED = "it is still being copied"
"""Why the first bytes of a file that the store copies into mean nothing."""

_KINDS = {
    PARQUET: "Parquet",
    ENCRYPTED_PARQUET: "encrypted Parquet",
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "a zip archive",
    b"\xff\x06\x00\x00sNaPpY": "framed Snappy",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"Obj\x01": "Avro",
    b"\xd0\xcf\x11\xe0": "an old Office document",
}


def kind_of(head: bytes) -> str | None:
    """The format that these bytes begin, None when they are of none that is known."""
    return next((kind for magic, kind in _KINDS.items() if head.startswith(magic)), None)


def what_it_is(head: bytes) -> str:
    """What a file is that is not Parquet, in words."""
    if kind := kind_of(head):
        return f"first bytes are those of {kind}"
    # The head may end in the middle of a character; anything else that is not UTF-8 is no text.
    text = head.decode("utf-8-sig", errors="ignore")
    cut = len(head) - len(text.encode()) - 3 * head.startswith(b"\xef\xbb\xbf")
    if cut > 3 or not all(character.isprintable() or character in "\r\n\t" for character in text):
        return f"first bytes {head[:16].hex(' ')}"
    line = text.strip().splitlines()[0][:40] if text.strip() else ""
    kind = "JSON" if text.lstrip()[:1] in ("{", "[") else "CSV" if "," in line else "text"
    return f"first bytes are {kind}: {line!r}"
