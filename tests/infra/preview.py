"""`python -m tests.infra.preview [FILE]`: the workbook drawn from its own JSON, as one HTML page.

The portal draws the workbook itself and cannot be had here. What is shown is the composed JSON:
its items, their queries run over sample telemetry, and the settings of each grid, tile and chart.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from infra.monitoring.compose import WORKBOOK
from openmirror.statuspage import HtmlPage
from tests.infra.day import day
from tests.infra.drawing import bars, lines, quantity
from tests.infra.kql_tables import run
from tests.infra.queries import HOURS, analysis_of
from tests.infra.telemetry_tables import SCHEMAS
from tests.statuspage.scene import NOW

_HERE = Path(__file__).parent
_TEXT, _PARAMETERS, _QUERY = 1, 9, 3
_RIGHT, _HIDDEN, _DATE, _LINK, _BIG, _THRESHOLDS = 2, 5, 6, 7, 12, 18
_CHARTS = {"barchart": bars, "timechart": lines}
_STEPS = {"==": lambda a, b: str(a) == b, ">=": lambda a, b: a >= float(b)}
_STEPS[">"] = lambda a, b: a > float(b)

Row = Mapping[str, Any]


class Undrawn(Exception):
    """The workbook has what this preview cannot draw, so it would show less than there is."""


@dataclass(frozen=True)
class Item:
    """One item of the workbook, ready to be shown."""

    name: str
    kind: str
    title: str
    width: str
    body: Markup
    rows: int
    """Rows that its query answered with."""


def items(workbook: Mapping[str, Any]) -> list[Item]:
    """All items, with their queries run over the sample."""
    queries = {
        one["name"]: one["content"]["query"] for one in workbook["items"] if one["type"] == _QUERY
    }
    for one in workbook["items"]:
        if one["type"] == _PARAMETERS:
            found = one["content"]["parameters"]
            queries |= {each["name"]: each["query"] for each in found if "query" in each}
    telemetry = day().workspace.tables
    answers = {
        name: run(analysis_of(text).tree, telemetry, SCHEMAS, NOW) for name, text in queries.items()
    }
    return [_item(one, answers) for one in workbook["items"]]


def _item(one: Mapping[str, Any], answers: Mapping[str, list[dict[str, Any]]]) -> Item:
    name, content = one["name"], one["content"]
    width = one.get("customWidth", "100")
    if one["type"] == _TEXT:
        return Item(name, "text", "", width, _markdown(content["json"]), 0)
    if one["type"] == _PARAMETERS:
        return Item(name, "pickers", "", width, _pickers(content["parameters"], answers), 0)
    if one["type"] != _QUERY:
        raise Undrawn(f"{name} is an item of the type {one['type']}")
    rows, kind = answers[name], content["visualization"]
    if kind == "tiles":
        body = Markup("").join(_tile(row, content["tileSettings"]) for row in rows)
    elif kind == "table":
        body = _grid(rows, content["gridSettings"])
    elif kind in _CHARTS:
        body = _CHARTS[kind](rows, content["chartSettings"])
    else:
        raise Undrawn(f"{name} is drawn as {kind}")
    return Item(name, kind, content["title"], width, body, len(rows))


def _markdown(text: str) -> Markup:
    """Headings, paragraphs and code: all that the workbook's texts have."""
    found = []
    for line in text.splitlines():
        marked = Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(line))))
        heading = marked.startswith("# ")
        found.append(
            Markup("<h1>{}</h1>").format(marked[2:])
            if heading
            else Markup("<p>{}</p>").format(marked)
        )
    return Markup("").join(found)


def _pickers(parameters: list[Any], answers: Mapping[str, list[Any]]) -> Markup:
    pills = Markup("")
    for one in parameters:
        chosen = f"Last {HOURS} hours" if one["type"] == 4 else f"All ({len(answers[one['name']])})"
        pills += Markup('<span class="pill"><b>{}:</b> {} ▾</span>').format(one["label"], chosen)
    return pills


def _icon(representation: str) -> Markup:
    return Markup(
        '<svg class="icon {0}" role="img" aria-label="{0}"><use href="#{0}"/></svg>'
    ).format(representation)


def _step(value: Any, formatter: Mapping[str, Any]) -> Mapping[str, Any]:
    """The first threshold that a value meets."""
    for step in formatter["formatOptions"]["thresholdsGrid"]:
        if step["operator"] == "Default" or _STEPS[step["operator"]](value, step["thresholdValue"]):
            return dict(step)
    raise Undrawn(f"no threshold for {value!r}")


def _shown(value: Any, formatter: Mapping[str, Any]) -> Markup:
    """A value as its column is formatted."""
    if value is None or value == "":
        return Markup("")
    if isinstance(value, datetime) or formatter["formatter"] == _DATE:
        return Markup("<time>{}</time>").format(f"{value:%Y-%m-%d %H:%M}")
    number = formatter.get("numberFormat")
    text = escape(quantity(value, number["unit"]) if number else value)
    options = formatter.get("formatOptions", {})
    match formatter["formatter"]:
        case 7 if options["linkTarget"] == "Url":
            return Markup('<a href="{}">{}</a>').format(value, options["linkLabel"])
        case 18:
            step = _step(value, formatter)
            if options["thresholdsOptions"] == "icons":
                words = step["text"].replace("{0}", "").replace("{1}", str(text))
                return _icon(step["representation"]) + Markup(" {}").format(words)
            return Markup('<span class="{}">{}</span>').format(step["representation"], text)
    return text


def _tile(row: Row, settings: Mapping[str, Any]) -> Markup:
    def part(name: str) -> Markup:
        formatter = settings.get(name)
        return _shown(row[formatter["columnMatch"]], formatter) if formatter else Markup("")

    return Markup(
        '<div class="tile"><div class="name">{}<span class="right">{}</span></div>'
        '<div class="big">{}</div></div>'
    ).format(part("titleContent"), part("rightContent"), part("leftContent"))


def _grid(rows: list[dict[str, Any]], settings: Mapping[str, Any]) -> Markup:
    formatters = {one["columnMatch"]: one for one in settings["formatters"]}
    labels = {one["columnId"]: one["label"] for one in settings.get("labelSettings", ())}
    columns = [name for name in rows[0] if formatters[name]["formatter"] != _HIDDEN] if rows else []
    head, body = Markup(""), Markup("")
    for name in columns:
        width = formatters[name].get("formatOptions", {}).get("customColumnWidthSetting", "auto")
        right = "number" if formatters[name]["formatter"] == _RIGHT else ""
        head += Markup('<th class="{}" style="width:{}">{}</th>').format(
            right, width, labels.get(name, name)
        )
    for row in rows[:12]:
        cells = Markup("").join(
            Markup('<td class="{}"><div>{}</div></td>').format(
                "number" if formatters[name]["formatter"] == _RIGHT else "",
                _shown(row[name], formatters[name]),
            )
            for name in columns
        )
        body += Markup("<tr>{}</tr>").format(cells)
    more = Markup('<p class="more">{} rows</p>').format(len(rows)) if len(rows) > 12 else Markup("")
    table = Markup("<table><thead><tr>{}</tr></thead><tbody>{}</tbody></table>{}")
    return table.format(head, body, more)


def render() -> HtmlPage:
    """The page, with a policy that lets it load nothing."""
    workbook = json.loads(WORKBOOK.read_text(encoding="utf-8"))
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined
    )
    html = environment.get_template("preview.html").render(
        items=items(workbook), hours=HOURS, now=NOW
    )
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return HtmlPage(
        html, {"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy}
    )


if __name__ == "__main__":
    target = Path(sys.argv[1] if sys.argv[1:] else "workbook-preview.html")
    target.write_text(render().html, encoding="utf-8")
    sys.stdout.write(f"{target}\n")
