"""PostgreSQL's server encodings as Python codecs. Pure."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Final

UTF8: Final = "UTF8"
SQL_ASCII: Final = "SQL_ASCII"
"""The encoding of a database that stores bytes without checking them."""

_CODECS: Final[Mapping[str, str]] = {
    UTF8: "utf-8",
    SQL_ASCII: "utf-8",
    "EUC_CN": "gb2312",
    "EUC_JIS_2004": "euc_jis_2004",
    "EUC_JP": "euc_jp",
    "EUC_KR": "euc_kr",
    "ISO_8859_5": "iso8859_5",
    "ISO_8859_6": "iso8859_6",
    "ISO_8859_7": "iso8859_7",
    "ISO_8859_8": "iso8859_8",
    "KOI8R": "koi8_r",
    "KOI8U": "koi8_u",
    "LATIN1": "iso8859_1",
    "LATIN2": "iso8859_2",
    "LATIN3": "iso8859_3",
    "LATIN4": "iso8859_4",
    "LATIN5": "iso8859_9",
    "LATIN6": "iso8859_10",
    "LATIN7": "iso8859_13",
    "LATIN8": "iso8859_14",
    "LATIN9": "iso8859_15",
    "LATIN10": "iso8859_16",
    "WIN866": "cp866",
    "WIN874": "cp874",
    "WIN1250": "cp1250",
    "WIN1251": "cp1251",
    "WIN1252": "cp1252",
    "WIN1253": "cp1253",
    "WIN1254": "cp1254",
    "WIN1255": "cp1255",
    "WIN1256": "cp1256",
    "WIN1257": "cp1257",
    "WIN1258": "cp1258",
}
# PostgreSQL converts these codes to other characters than Python does, shown by the test of all
# codes. Each of Python's characters has one code only, so the exchange is exact.
_EXCHANGED: Final[Mapping[str, Mapping[int, str]]] = {
    "EUC_JP": {
        0x301C: "\uff5e",
        0x2016: "\u2225",
        0x2212: "\uff0d",
        0x00A2: "\uffe0",
        0x00A3: "\uffe1",
        0x00AC: "\uffe2",
        0x00A6: "\uffe4",
    },
    "EUC_JIS_2004": {
        0xFFE3: "\u203e",
        0x2015: "\u2014",
        0xFFE5: "\u00a5",
        0x2985: "\uff5f",
        0x2986: "\uff60",
    },
}


class UnknownEncoding(ValueError):
    """A server encoding that Python has no codec for, such as EUC_TW."""


def codec_of(encoding: str) -> str:
    """Return the name of Python's codec for a server encoding, as `SHOW server_encoding` says it.

    Text of SQL_ASCII must be valid UTF-8, because the server does not know its encoding.

    Raises:
        UnknownEncoding: Python has no codec that reads the encoding exactly.
    """
    try:
        return codecs.lookup(_CODECS[encoding]).name
    except KeyError:
        raise UnknownEncoding(f"server encoding {encoding} is not supported") from None


def is_utf8(encoding: str) -> bool:
    """Return whether texts of the encoding only have to be validated, not converted."""
    return encoding in (UTF8, SQL_ASCII)


def decoded(content: bytes, encoding: str, errors: str = "strict") -> str:
    """Return a text of the server as PostgreSQL itself converts it to Unicode.

    Raises:
        UnknownEncoding: No codec reads the encoding exactly.
        UnicodeDecodeError: The bytes are no text of the encoding, and `errors` is "strict".
    """
    text = content.decode(codec_of(encoding), errors)
    exchanged = _EXCHANGED.get(encoding)
    return text.translate(exchanged) if exchanged else text


def encoded(text: str, encoding: str, errors: str = "strict") -> bytes:
    """Return a text in the server's encoding; the inverse of `decoded`.

    Raises:
        UnknownEncoding: No codec reads the encoding exactly.
        UnicodeEncodeError: The encoding does not have a character, and `errors` is "strict".
    """
    exchanged = _EXCHANGED.get(encoding)
    if exchanged:
        text = text.translate({ord(new): old for old, new in exchanged.items()})
    return text.encode(codec_of(encoding), errors)
