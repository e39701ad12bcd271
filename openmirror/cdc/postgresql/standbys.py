"""Which servers a primary's commits wait for, as `synchronous_standby_names` says. Pure."""

from __future__ import annotations

import re

_QUORUM = re.compile(r"\s*(?:(?:ANY|FIRST)\s+)?\d+\s*\((?P<names>.*)\)\s*", re.I | re.S)
_NAME = re.compile(r'"((?:[^"]|"")*)"|([^\s,"]+)')
_UPPER = re.compile("[A-Z]+")


def is_synchronous_standby(setting: str, application: str) -> bool:
    """Whether every commit of the server may wait for a reader of its log with this name.

    Args:
        setting: `synchronous_standby_names`: a list of names, which a quorum may stand before:
            `FIRST 2 (a, "b")`, `ANY 1 (*)`, `2 (a, b)`. `*` is every name. Case does not matter.
        application: The reader's `application_name`.
    """
    quorum = _QUORUM.fullmatch(setting)
    listed = quorum["names"] if quorum else setting
    names = (
        match[1].replace('""', '"') if match[2] is None else match[2]
        for match in _NAME.finditer(listed)
    )
    own = _lower(application)
    return any(name == "*" or _lower(name) == own for name in names)


def _lower(name: str) -> str:
    """Return a name without the case of ASCII characters, which is all that the server folds."""
    return _UPPER.sub(lambda characters: characters[0].lower(), name)
