"""JSON as publishers write it: strict first, then what is unambiguous (PROTOCOL §4.1)."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]


@dataclass(frozen=True)
class JsonText:
    """A parsed text, and what had to be mended to read it (empty when it was valid JSON)."""

    value: JsonValue
    repairs: tuple[str, ...] = ()
    text: str = field(default="", compare=False)
    """The same in strict JSON."""


class JsonError(ValueError):
    """Text that is not JSON and cannot be mended; the message names line and column."""


# A string literal, or one of the mistakes below outside of any string.
_STRING = r'"(?:[^"\\\n]|\\.)*"'
_LONE_BACKSLASH = re.compile(r'(:\s*)"\\"(?=\s*[,}\]\n\r])')
_OTHER = r"(?P<other>[^ -~])"
_TOKENS = re.compile(rf"{_STRING}|{_OTHER}")
_TOKENS_WITH_SLIPS = re.compile(rf"{_LONE_BACKSLASH.pattern}|{_STRING}|{_OTHER}")
_JSON_BLANKS = "\t\n\r"
_INVISIBLE = ("Zs", "Zl", "Zp", "Cf", "Cc")
"""Unicode's categories of blanks, line ends, characters of no width, and controls."""
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
        return JsonText(json.loads(text), text=text)
    except json.JSONDecodeError as first:
        return _mended(text, first)


def rewritten(
    read: JsonText, change: Callable[[dict[str, JsonValue]], dict[str, JsonValue]]
) -> bytes:
    """An object that was read, after a change, in UTF-8.

    Numbers that stay are written as they were: 1.10 is no 1.1 to whoever meant a version. `change`
    gets them as texts that are not its business.
    """
    assert isinstance(read.value, dict)
    mark = "#"
    while mark in json.dumps([read.value, change(read.value)], ensure_ascii=False):
        mark += "#"
    keep = mark.__add__
    decoder = json.JSONDecoder(parse_float=keep, parse_int=keep, parse_constant=keep)
    text = json.dumps(change(decoder.decode(read.text)), indent=2, ensure_ascii=False)
    text = re.sub(rf'"{mark}([^"]*)"', r"\1", text)
    # Half a character, which JSON can escape, has no other form.
    return text.encode(errors="backslashreplace")


def _mended(text: str, first: json.JSONDecodeError) -> JsonText:
    """Mend only what has one reading: most of it stands in Microsoft's own examples.

    Blanks are mended by themselves first: what is else taken for a mistake may stand in a string.
    """
    visible, invisible = _without_invisible(text, _TOKENS)
    if invisible:
        with suppress(json.JSONDecodeError):
            return JsonText(json.loads(visible), (f"{invisible} was read as a space",), visible)
    visible, invisible = _without_invisible(text, _TOKENS_WITH_SLIPS)
    mended, repairs = _without_slips(visible)
    if invisible:
        repairs = (f"{invisible} was read as a space", *repairs)
    with suppress(json.JSONDecodeError):
        return JsonText(json.loads(mended), repairs, mended)
    where = f"line {first.lineno}, column {first.colno}"
    beside = f"; there is {invisible}" if invisible else ""
    shown = _line(text, first.lineno)
    raise JsonError(f"not JSON at {where}: {first.msg}{shown}{beside}") from first


def _without_invisible(text: str, tokens: re.Pattern[str]) -> tuple[str, str]:
    """The text with a space for each invisible character outside of strings, and which these are.

    There they can only be white space, of which JSON knows four kinds, and a page that somebody
    copies from many. Controls stay: nobody means them for anything.
    """
    found = [match for match in tokens.finditer(text) if _is_invisible(match["other"])]
    if not found:
        return text, ""
    plain = list(text)
    for match in found:
        if match[0].isspace() or unicodedata.category(match[0]) == "Cf":
            plain[match.start()] = " "
    at, more = found[0].start(), len(found) - 1
    name = f" {unicodedata.name(text[at], '')}".rstrip()
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    shown = f"the invisible character U+{ord(text[at]):04X}{name} at line {line}, column {column}"
    return "".join(plain), f"{shown}, and {more} more," if more else shown


def _is_invisible(other: str | None) -> bool:
    return (
        other is not None
        and other not in _JSON_BLANKS
        and unicodedata.category(other) in _INVISIBLE
    )


def _without_slips(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with commas, words and backslashes as JSON wants them, and what was changed."""
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
    lines = text.split("\n")
    shown = lines[number - 1].strip()[:80] if 0 < number <= len(lines) else ""
    return f", in `{shown}`" if shown else ""
