"""Arrow arrays of texts and the bytes below them. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa  # type: ignore[import-untyped]

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int32]


def offsets_of(texts: pa.Array) -> Offsets:
    """Return where each text begins in the array's buffer, and where the last one ends."""
    _, offsets, _ = texts.buffers()
    if offsets is None or len(texts) == 0:
        return np.zeros(1, np.int32)
    return np.frombuffer(offsets, np.int32, len(texts) + 1, texts.offset * 4)


def bytes_of(texts: pa.Array) -> Bytes:
    """Return the bytes of all texts of a binary or string array, one after the other."""
    offsets = offsets_of(texts)
    _, _, data = texts.buffers()
    size = int(offsets[-1] - offsets[0])
    if data is None or not size:
        return np.zeros(0, np.uint8)
    return np.frombuffer(data, np.uint8, size, int(offsets[0]))


def with_bytes(texts: pa.Array, content: Bytes, kind: pa.DataType | None = None) -> pa.Array:
    """Return the array with other bytes in place of those of `bytes_of`, equally many."""
    offsets = offsets_of(texts)
    return of_parts(kind or texts.type, offsets - offsets[0], content, texts)


def of_parts(kind: pa.DataType, offsets: Offsets, content: Bytes, valid_as: pa.Array) -> pa.Array:
    """Return an array of offsets and bytes that is NULL where another array is NULL."""
    count = len(offsets) - 1
    valid = None
    if valid_as.null_count:
        is_valid = valid_as.is_valid().to_numpy(zero_copy_only=False)
        valid = pa.py_buffer(np.packbits(is_valid, bitorder="little"))
    parts = [valid, pa.py_buffer(np.ascontiguousarray(offsets)), pa.py_buffer(content)]
    return pa.Array.from_buffers(kind, count, parts)


def viewed(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return a binary array as strings, or the other way round, without validating its bytes."""
    return pa.Array.from_buffers(kind, len(texts), texts.buffers(), texts.null_count, texts.offset)
