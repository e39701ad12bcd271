"""Having those files of a batch converted that Spark cannot read itself."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from openmirror.plan import Batch
from openmirror.plan.facts import LandedFile
from openmirror.ports import BadFile, Converter, Part
from openmirror.protocol.rules import Broken
from openmirror.protocol.sequence import Sequence
from openmirror.spark.pieces import PartsByFile, needs_conversion
from openmirror.table.layout import StorePath, conversion


@contextmanager
def converted(converter: Converter, batch: Batch, threads: int) -> Iterator[PartsByFile | BadFile]:
    """The parts of a batch's files that need it, or the first file that breaks a rule.

    The parts are removed at the end, whatever it is. Raises what the converter raises.
    """
    files = [file for file in batch.files if needs_conversion(file)]
    if not files:
        yield {}
        return
    into = conversion(batch.folder.mirror, uuid.uuid4().hex)
    try:
        yield _convert(converter, batch, files, into, threads)
    finally:
        converter.discard(into)


def _convert(
    converter: Converter, batch: Batch, files: list[LandedFile], into: StorePath, threads: int
) -> PartsByFile | BadFile:
    parts: dict[Sequence, tuple[Part, ...]] = {}
    with ThreadPoolExecutor(threads, thread_name_prefix="conversion") as pool:
        work = [pool.submit(converter.convert, file, batch.frozen, into) for file in files]
        try:
            for file, future in zip(files, work, strict=True):
                done = future.result()
                if isinstance(done, Broken):
                    return BadFile(file.name, done)
                parts[file.sequence] = done.parts
        finally:
            pool.shutdown(cancel_futures=True)
    return parts
