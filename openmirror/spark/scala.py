"""Classes by name, and values of Scala's, as py4j hands them over."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyspark.sql import SparkSession

_CONVERTERS = "scala.jdk.javaapi.CollectionConverters"
_NONE = "scala.None$"
_SOME = "scala.Some"


def class_of(session: SparkSession, name: str) -> Any:
    """By its whole name: each part of a dotted one is looked for in every jar, under every import.

    One that is not there is no `JavaClass`.
    """
    return getattr(session._jvm, name)


def singleton(session: SparkSession, name: str) -> Any:
    """An object of Scala's, by the name of its class, which ends in `$`."""
    return getattr(class_of(session, name), "MODULE$")


def no_value(session: SparkSession) -> Any:
    """Scala's `None`."""
    return singleton(session, _NONE)


def some(session: SparkSession, value: Any) -> Any:
    """Scala's `Some` of a value."""
    return class_of(session, _SOME)(value)


def given(option: Any) -> Any | None:
    """What an option of Scala's holds."""
    return None if option.isEmpty() else option.get()


def each(items: Any) -> list[Any]:
    """What a collection of Scala's or Java's holds."""
    found, iterator = [], items.iterator()
    while iterator.hasNext():
        found.append(iterator.next())
    return found


def sequence(session: SparkSession, items: Iterable[Any]) -> Any:
    """A sequence of Scala's."""
    listed = class_of(session, "java.util.ArrayList")()
    for item in items:
        listed.add(item)
    return class_of(session, _CONVERTERS).asScala(listed).toSeq()


def mapping(session: SparkSession, items: Any) -> Any:
    """A mutable map of Scala's that is one of Java's."""
    return class_of(session, _CONVERTERS).asScala(items)
