"""The ways to bring change files into Delta tables that are measured beside each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Alternative:
    """One way, and the process that it runs in."""

    name: str
    title: str
    """What heads its column."""
    process: str
    """What `bench.alternatives.process` starts; ways with the same Spark settings share one."""
    each_file: bool = False
    """Whether every file is a MERGE of its own."""


OPENMIRROR = Alternative("openmirror", "openmirror", "openmirror")
PER_FILE = Alternative("per-file", "MERGE per file", "spark-default", each_file=True)
BY_BATCH = Alternative("by-hand", "by hand", "spark-default")
TUNED = Alternative("by-hand-tuned", "by hand, tuned", "spark-tuned")
DELTA_RS = Alternative("delta-rs", "delta-rs", "delta-rs")
APPEND = Alternative("append", "plain append", "spark-tuned")
PLAIN = Alternative("plain-session", "plain session", "")
"""A Spark session in a process that does one thing and ends; started by its case."""
ALL = (OPENMIRROR, PER_FILE, BY_BATCH, TUNED, DELTA_RS, APPEND, PLAIN)
