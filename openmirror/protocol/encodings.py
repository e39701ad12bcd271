"""Which encodings delimited text may have, by all the names that publishers use (PROTOCOL §4.6)."""

from __future__ import annotations

import codecs
import re

# Text codecs of Python that no publisher's text is in: parts of other formats, and what may
# decode to something that is no text.
_REFUSED = frozenset(
    {"idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"}
    | {"mbcs", "oem"}
)
_OTHER_NAMES = {
    "unicode": "utf-16",
    "unicodebig": "utf-16-be",
    "unicodelittle": "utf-16-le",
    "utf-8 without bom": "utf-8",
    "windows-31j": "cp932",
    "utf-16le-bom": "utf-16-le",
}
_NUMBERED = re.compile(r"(?:windows|ibm|cp|ms)-?0*([1-9][0-9]*)\Z")


def text_encoding(name: str) -> str | None:
    """Python's name of an encoding that text can be read in, piece by piece; None for others.

    Knows the names of Python, of Java (`UTF8`, `Cp1252`, `x-MacRoman`) and of .NET.
    """
    plain = name.strip().lower().removeprefix("x-")
    numbered = _NUMBERED.match(plain)
    for spelling in (_OTHER_NAMES.get(plain, plain), f"cp{numbered[1]}" if numbered else plain):
        try:
            found = codecs.lookup(spelling)
        except (LookupError, UnicodeError, ValueError):  # also what can be nobody's name
            continue
        # Python itself asks this before it decodes text; there is no public word for it.
        is_text = getattr(found, "_is_text_encoding", False)
        in_pieces = found.incrementaldecoder is not None
        if is_text and in_pieces and found.name.replace("_", "-") not in _REFUSED:
            return found.name
    return None
