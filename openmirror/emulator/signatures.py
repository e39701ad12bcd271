"""Shared Key signatures: what a client signs with the account's key, made anew and compared."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Mapping, Sequence
from itertools import groupby

_STANDARD = (
    "content-encoding",
    "content-language",
    "content-length",
    "content-md5",
    "content-type",
    "date",
    "if-modified-since",
    "if-match",
    "if-none-match",
    "if-unmodified-since",
    "range",
)
_OURS = "x-ms-"


def is_signed(
    key: bytes,
    signature: str,
    *,
    account: str,
    method: str,
    raw_path: str,
    query: Sequence[tuple[str, str]],
    headers: Mapping[str, str],
) -> bool:
    """Whether this signature was made of this request with this key.

    `raw_path` is as the URL has it, `query` as it decodes, names of `headers` in lower case.
    """
    standard = [headers.get(name, "") for name in _STANDARD]
    if headers.get("content-length") == "0":
        standard[_STANDARD.index("content-length")] = ""
    if f"{_OURS}date" in headers:
        standard[_STANDARD.index("date")] = ""
    resource = f"/{account}{raw_path}{_query(query)}"
    for ours in _header_orders(headers):
        text = "\n".join((method, *standard, *ours, resource))
        expected = hmac.new(key, text.encode(), hashlib.sha256).digest()
        if hmac.compare_digest(base64.b64encode(expected), signature.encode()):
            return True
    return False


def _query(query: Sequence[tuple[str, str]]) -> str:
    """Names in lower case and in order, the values of one name together."""
    pairs = sorted((name.lower(), value) for name, value in query)
    return "".join(
        f"\n{name}:{','.join(value for _, value in values)}"
        for name, values in groupby(pairs, key=lambda pair: pair[0])
    )


def _header_orders(headers: Mapping[str, str]) -> list[list[str]]:
    """The headers of Azure's own, in each order in which clients are known to sign them.

    The documentation says that of bytes; the service, and newer clients, compare like words, where
    hyphens count for nothing and an underscore comes before digits.
    """
    ours = {name: value.strip() for name, value in headers.items() if name.startswith(_OURS)}

    def by_bytes(name: str) -> str:
        return name

    def by_words(name: str) -> str:
        return name.replace("-", "").replace("_", "!")

    orders = []
    for key in (by_bytes, by_words):
        lines = [f"{name}:{ours[name]}" for name in sorted(ours, key=key)]
        if lines not in orders:
            orders.append(lines)
    return orders
