"""JSON as publishers write it: strict first, then what is unambiguous (PROTOCOL §4.1)."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True)
class JsonText:
    """A parsed text, and what had to be mended to read it (empty when it was valid JSON)."""

    value: JsonValue
    repairs: tuple[str, ...] = ()


class JsonError(ValueError):
    """Text that is not JSON and cannot be mended; the message names line and column."""


# A string literal, or one of the mistakes below outside of any string.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LONE_BACKSLASH = re.compile(r'(:\s*)"\\"(?=\s*[,}\]\n\r])')
_BAD_ESCAPE = re.compile(r'\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})')
_OUTSIDE = re.compile(
    rf"(?P<string>{_STRING})"
    r"|(?P<comma>,(?=\s*[}\]]))"
    r"|(?P<word>(?<=:)(?P<gap>\s*)(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?=\s*[,}\n\r]))"
)


def parse_json(content: bytes) -> JsonText:
    """Read JSON with or without a byte order mark; JsonError when no reading is certain."""
    try:
        text = content.decode(
            "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        )
    except UnicodeDecodeError as error:
        raise JsonError(f"not UTF-8 text: byte {error.start} cannot be read") from error
    try:
        return JsonText(json.loads(text))
    except json.JSONDecodeError as first:
        mended, repairs = _mend(text)
        try:
            return JsonText(json.loads(mended), repairs)
        except json.JSONDecodeError:
            where = f"line {first.lineno}, column {first.colno}"
            raise JsonError(
                f"not JSON at {where}: {first.msg}{_line(text, first.lineno)}"
            ) from first


def _mend(text: str) -> tuple[str, tuple[str, ...]]:
    """Mend only what has one reading: both slips stand in Microsoft's own examples."""
    repairs: list[str] = []

    def say(repair: str) -> None:
        if repair not in repairs:
            repairs.append(repair)

    def lone(match: re.Match[str]) -> str:
        say('a lone backslash in quotes was read as "\\\\"')
        return match[1] + r'"\\"'

    def outside(match: re.Match[str]) -> str:
        if match["comma"]:
            say("a comma before a closing bracket was left out")
            return ""
        if match["name"] and match["name"] not in ("true", "false", "null"):
            say(f"the unquoted word {match['name']} was read as text")
            return f'{match["gap"]}"{match["name"]}"'
        if match["string"]:
            escaped = _BAD_ESCAPE.sub(r"\\\\", match["string"])
            if escaped != match["string"]:
                say("an unescaped backslash was read as a backslash")
            return escaped
        return match[0]

    mended = _OUTSIDE.sub(outside, _LONE_BACKSLASH.sub(lone, text))
    return mended, tuple(repairs)


def _line(text: str, number: int) -> str:
    lines = text.splitlines()
    shown = lines[number - 1].strip()[:80] if 0 < number <= len(lines) else ""
    return f", in `{shown}`" if shown else ""
