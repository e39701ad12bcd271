"""What the host has to know of each function before any setting can be read.

Schedules are fixed on purpose: a schedule that names an app setting takes its function away,
without a word, where the setting is missing. They equal the defaults of openmirror/settings.py.
"""

from __future__ import annotations

from openmirror.ports.work_items import EVENTS_QUEUE, POISON_SUFFIX, WORK_QUEUE

QUEUES = "OPENMIRROR_QUEUES"
"""The connection of every queue trigger; our own code reads the same settings."""

POISON_EVENTS = EVENTS_QUEUE + POISON_SUFFIX
POISON_WORK = WORK_QUEUE + POISON_SUFFIX

# Six fields: second, minute, hour, day, month, day of the week.
SWEEP = "*/30 * * * * *"
START_RUNNER = "*/10 * * * * *"
CLEANUP = "0 */10 * * * *"
COLLECT = "0 */5 * * * *"
