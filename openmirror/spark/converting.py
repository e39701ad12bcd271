"""Having those files of a batch converted that Spark cannot read itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import BadFile, Converter, Part
from openmirror.protocol.checksums import Checksum
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import Sequence
from openmirror.spark.pieces import PartsByFile, needs_conversion
from openmirror.table.control import Truncated
from openmirror.table.layout import StorePath, conversion


@dataclass(frozen=True)
class Parts:
    """What the files of a batch were converted to."""

    by_file: PartsByFile
    checksums: Mapping[Sequence, Checksum]
    """Those of the files that were read once and in order."""
    truncated: Truncated | None = None
    """The first time in them that lost what is finer than a microsecond."""


@contextmanager
def converted(converter: Converter, batch: Batch, threads: int) -> Iterator[Parts | BadFile]:
    """The parts of a batch's files that need it, or the first file that breaks a rule.

    The parts are removed at the end, whatever it is. Raises what the converter raises.
    """
    files = [file for file in batch.files if needs_conversion(file, batch.read_rules)]
    if not files:
        yield Parts({}, {})
        return
    into = conversion(batch.folder.mirror, uuid.uuid4().hex)
    try:
        yield _convert(converter, batch, files, into, threads)
    finally:
        converter.discard(into)


def _convert(
    converter: Converter, batch: Batch, files: list[LandedFile], into: StorePath, threads: int
) -> Parts | BadFile:
    parts: dict[Sequence, tuple[Part, ...]] = {}
    checksums: dict[Sequence, Checksum] = {}
    truncated: Truncated | None = None
    with ThreadPoolExecutor(threads, thread_name_prefix="conversion") as pool:
        work = [pool.submit(converter.convert, file, batch.read_rules, into) for file in files]
        try:
            for file, future in zip(files, work, strict=True):
                done = future.result()
                if isinstance(done, Broken):
                    return BadFile(file.name, done)
                parts[file.sequence] = done.parts
                if done.checksum:
                    checksums[file.sequence] = done.checksum
                if done.truncated and truncated is None:
                    truncated = Truncated(file.name, done.truncated)
        finally:
            pool.shutdown(cancel_futures=True)
    return Parts(parts, checksums, truncated)
