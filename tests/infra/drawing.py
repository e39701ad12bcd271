"""Charts as SVG, from the rows of a query and the chart settings of a workbook."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

_WIDTH, _HEIGHT = 720.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 58.0, 8.0, 10.0, 24.0
_COLOURS = {
    "green": "#3b8f3e",
    "blue": "#2b6fd1",
    "orange": "#e08a1e",
    "redBright": "#d13438",
    "purple": "#8661c5",
}
_COUNT, _BYTES, _SECONDS = 17, 2, 24

Rows = list[dict[str, Any]]


def quantity(value: float, unit: int) -> str:
    """A number as the portal shortens it."""
    if unit == _SECONDS:
        for size, name in ((3600, "h"), (60, "min")):
            if value >= size:
                return f"{_short(value / size)} {name}"
        return f"{_short(value)} s"
    step = 1024 if unit == _BYTES else 1000
    for power, name in ((3, "G"), (2, "M"), (1, "K")):
        if value >= step**power:
            return f"{_short(value / step**power)}{' ' if unit == _BYTES else ''}{name}" + (
                "B" if unit == _BYTES else ""
            )
    return _short(value) + (" B" if unit == _BYTES else "")


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 100 else f"{value:.0f}"


def bars(rows: Rows, settings: Mapping[str, Any]) -> Markup:
    """Stacked bars, a colour for each group."""
    x, (y,), group = settings["xAxis"], settings["yAxis"], settings["group"]
    times = sorted({row[x] for row in rows})
    series = {one["seriesName"]: one for one in settings["seriesLabelSettings"]}
    stacks: dict[Any, dict[str, float]] = {time: {} for time in times}
    for row in rows:
        stacks[row[x]][row[group]] = row[y]
    top = _nice(max((sum(one.values()) for one in stacks.values()), default=1), _unit(settings))
    slot = (_WIDTH - _LEFT - _RIGHT) / max(1, len(times))
    drawn = Markup("")
    for place, time in enumerate(times):
        base = 0.0
        for name, one in series.items():
            value = stacks[time].get(name, 0.0)
            high = (_HEIGHT - _TOP - _BOTTOM) * value / top
            drawn += Markup(
                '<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" fill="{}"/>'
            ).format(
                _LEFT + slot * (place + 0.1),
                _HEIGHT - _BOTTOM - base - high,
                slot * 0.8,
                high,
                _COLOURS[one["color"]],
            )
            base += high
    return _framed(drawn, times, top, settings, middle=True)


def lines(rows: Rows, settings: Mapping[str, Any]) -> Markup:
    """A line for each value of a row, over time."""
    x, names = settings["xAxis"], settings["yAxis"]
    times = [row[x] for row in rows]
    top = _nice(max((row[name] for row in rows for name in names), default=1), _unit(settings))
    slot = (_WIDTH - _LEFT - _RIGHT) / max(1, len(times) - 1)
    colours = {one["seriesName"]: one["color"] for one in settings["seriesLabelSettings"]}
    drawn = Markup("")
    for name in names:
        points = " ".join(
            f"{_LEFT + slot * place:.1f},"
            f"{_HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * row[name] / top:.1f}"
            for place, row in enumerate(rows)
        )
        drawn += Markup(
            '<polyline points="{}" fill="none" stroke="{}" stroke-width="2.2"'
            ' stroke-linejoin="round"/>'
        ).format(points, _COLOURS[colours[name]])
    return _framed(drawn, times, top, settings, middle=False)


def _nice(most: float, unit: int) -> float:
    """A round number that is not less, whose quarters are round as well."""
    if unit == _SECONDS and most > 40:
        return 60.0 * _nice(most / 60, _COUNT)
    power = 10 ** math.floor(math.log10(most)) if most > 0 else 1
    return next(power * step for step in (1, 2, 4, 8, 10) if power * step >= most)


def _unit(settings: Mapping[str, Any]) -> int:
    return int(settings.get("ySettings", {}).get("numberFormatSettings", {}).get("unit", _COUNT))


def _framed(
    drawn: Markup, times: list[Any], top: float, settings: Mapping[str, Any], *, middle: bool
) -> Markup:
    unit = _unit(settings)
    axes = Markup("")
    for quarter in range(5):
        at = _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * quarter / 4
        axes += Markup(
            '<line x1="{}" x2="{}" y1="{:.1f}" y2="{:.1f}" class="rule"/>'
            '<text x="{}" y="{:.1f}" text-anchor="end">{}</text>'
        ).format(
            _LEFT, _WIDTH - _RIGHT, at, at, _LEFT - 6, at + 4, quantity(top * quarter / 4, unit)
        )
    slot = (_WIDTH - _LEFT - _RIGHT) / max(1, len(times) - (0 if middle else 1))
    every = max(1, len(times) // 8)
    for place, time in list(enumerate(times))[::every]:
        axes += Markup('<text x="{:.1f}" y="{}" text-anchor="middle">{}</text>').format(
            _LEFT + slot * (place + (0.5 if middle else 0)), _HEIGHT - 6, f"{time:%H:%M}"
        )
    legend = Markup("").join(
        Markup('<span><i style="background:{}"></i>{}</span>').format(
            _COLOURS[one["color"]], one["label"]
        )
        for one in settings["seriesLabelSettings"]
    )
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}">{}{}</svg><p class="legend">{}</p>'
    ).format(_WIDTH, _HEIGHT, axes, drawn, legend)
