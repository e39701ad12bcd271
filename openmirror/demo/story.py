"""What the demo's publisher writes, in order. Pure: the same data gives the same change files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]

from openmirror.demo.scope import (
    METRES_IN_A_FOOT,
    NAME_BEFORE,
    RENAMED_AIRLINE,
    WEATHER_EVERY,
    Scope,
)
from openmirror.demo.source import KEYS, TABLES, Source
from openmirror.protocol.names import ROW_MARKER_COLUMN
from openmirror.protocol.rows import Marker


@dataclass(frozen=True)
class Begin:
    """A table folder is made; anew, if there is one."""

    table: str


@dataclass(frozen=True)
class Publish:
    """A change file."""

    table: str
    rows: pa.Table


@dataclass(frozen=True)
class Loaded:
    """All initial loads are there."""


@dataclass(frozen=True)
class Day:
    """A day begins."""

    day: date


@dataclass(frozen=True)
class News:
    """Something that a person may want to know."""

    text: str


Action = Begin | Publish | Loaded | Day | News

_HISTORY_FILES = 3
_PLANES_EVERY = 14
"""Days between two files of new planes."""
_AT_DEPARTURE = ("dep_time", "dep_delay", "tailnum")
_AT_ARRIVAL = ("arr_time", "arr_delay", "air_time")
"""What of a flight nobody knows before it departs, and before it arrives."""


def story(source: Source, scope: Scope) -> Iterator[Action]:
    """Initial loads without markers, then each day's changes."""
    flights, weather = source["flights"], source["weather"]
    history = (scope.history_from, scope.days_from - timedelta(days=1))
    past = _between(flights, *history)
    first_flights = _first_flights(_between(flights, scope.history_from, scope.until))
    initial = {
        "airlines": [_with_former_name(source["airlines"])],
        "airports": [source["airports"]],
        "planes": [_planes_of(source, first_flights, *history)],
        "weather": [_between(weather, *history)],
        "flights": _in_pieces(past, _HISTORY_FILES),
    }
    for table in TABLES:
        yield Begin(table)
        for rows in initial[table]:
            yield Publish(table, rows)
    yield Loaded()

    renamed = pc.field("carrier") == RENAMED_AIRLINE
    for number, day in enumerate(scope.days):
        yield Day(day)
        if number == 0:
            yield Publish("airlines", _marked(source["airlines"].filter(renamed), Marker.UPDATE))
            yield News(f"{_date(day)}: Pinnacle Airlines has a new name")
            cancelled = past.filter(pc.field("dep_time").is_null())
            yield Publish("flights", _deletes("flights", cancelled))
            yield News(
                f"{_date(day)}: {len(cancelled):,} cancelled flights of the past are deleted"
            )
        if day == scope.spread_from:
            yield News(f"{_date(day)}: weather has a new column, dewp_spread")
        if day == scope.airports_again:
            yield Begin("airports")
            yield Publish("airports", _in_metres(source["airports"]))
            yield News(f"{_date(day)}: airports is re-created, with altitudes in metres")
        yield from _flights_of(_between(flights, day, day))
        if since := _due(scope, number, WEATHER_EVERY):
            hours = _between(weather, since, day)
            if since >= scope.spread_from:
                hours = _with_spread(hours)
            yield from _unless_empty("weather", _marked(hours, Marker.INSERT))
        if since := _due(scope, number, _PLANES_EVERY):
            new = _planes_of(source, first_flights, since, day)
            yield from _unless_empty("planes", _marked(new, Marker.UPSERT))


def _due(scope: Scope, number: int, every: int) -> date | None:
    """On every so many-th day and on the last, the first day that was not published yet."""
    is_due = number % every == every - 1 or scope.days[number] == scope.until
    return scope.days[number - number % every] if is_due else None


def _unless_empty(table: str, rows: pa.Table) -> Iterator[Action]:
    if len(rows):
        yield Publish(table, rows)


def _flights_of(flights: pa.Table) -> Iterator[Action]:
    """The evening before: the schedule. Then departures and cancellations, then arrivals."""
    scheduled = _unknown(flights, *_AT_DEPARTURE, *_AT_ARRIVAL)
    yield Publish("flights", _marked(scheduled, Marker.INSERT))
    departed = flights.filter(pc.field("dep_time").is_valid())
    cancelled = flights.filter(pc.field("dep_time").is_null())
    departures = _marked(_unknown(departed, *_AT_ARRIVAL), Marker.UPDATE)
    yield Publish("flights", pa.concat_tables([departures, _deletes("flights", cancelled)]))
    arrived = departed.filter(pc.field("arr_time").is_valid())
    yield Publish("flights", _marked(arrived, Marker.UPDATE))


def _between(table: pa.Table, first: date, last: date) -> pa.Table:
    """Rows of these days, both included; all of it lies in one year."""
    number = pc.add(pc.multiply(table["month"], 100), table["day"])
    low, high = (day.month * 100 + day.day for day in (first, last))
    return table.filter(pc.and_(pc.greater_equal(number, low), pc.less_equal(number, high)))


def _first_flights(flights: pa.Table) -> pa.Table:
    """The day on which each plane flies for the first time, as columns that `_between` reads."""
    number = pc.add(pc.multiply(flights["month"], 100), flights["day"])
    first = pa.table({"tailnum": flights["tailnum"], "number": number}).group_by("tailnum")
    found = first.aggregate([("number", "min")])
    month = pc.divide(found["number_min"], 100)
    day = pc.subtract(found["number_min"], pc.multiply(month, 100))
    return pa.table({"tailnum": found["tailnum"], "month": month, "day": day})


def _planes_of(source: Source, first_flights: pa.Table, first: date, last: date) -> pa.Table:
    """Planes that fly for the first time in these days."""
    new = _between(first_flights, first, last)["tailnum"]
    return source["planes"].filter(pc.is_in(source["planes"]["tailnum"], value_set=new))


def _with_former_name(airlines: pa.Table) -> pa.Table:
    names = pc.if_else(
        pc.equal(airlines["carrier"], RENAMED_AIRLINE), NAME_BEFORE, airlines["name"]
    )
    return pa.table({"carrier": airlines["carrier"], "name": names})


def _in_metres(airports: pa.Table) -> pa.Table:
    metres = pc.multiply(airports["alt"].cast(pa.float64()), METRES_IN_A_FOOT)
    return airports.drop_columns(["alt"]).append_column("alt_m", metres)


def _with_spread(weather: pa.Table) -> pa.Table:
    return weather.append_column("dewp_spread", pc.subtract(weather["temp"], weather["dewp"]))


def _unknown(table: pa.Table, *columns: str) -> pa.Table:
    for name in columns:
        at = table.schema.get_field_index(name)
        nothing = pa.nulls(len(table), table.schema.field(at).type)
        table = table.set_column(at, name, nothing)
    return table


def _deletes(name: str, rows: pa.Table) -> pa.Table:
    """A delete needs the key and nothing else."""
    others = [column for column in rows.column_names if column not in KEYS[name]]
    return _marked(_unknown(rows, *others), Marker.DELETE)


def _marked(rows: pa.Table, marker: Marker) -> pa.Table:
    markers = pa.array([marker.value] * len(rows), pa.int32())
    return rows.append_column(ROW_MARKER_COLUMN, markers)


def _in_pieces(rows: pa.Table, count: int) -> list[pa.Table]:
    size = max(1, -(-len(rows) // count))
    return [rows.slice(start, size) for start in range(0, len(rows), size)]


def _date(day: date) -> str:
    return f"{day.day} {day:%b}"
