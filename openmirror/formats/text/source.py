"""A file's text in a buffer that grows: bytes, unpacked and decoded as far as somebody reads."""

from __future__ import annotations

from typing import BinaryIO

from openmirror.formats.text.decoding import Undecodable, decoded, line_ends
from openmirror.formats.text.packing import CutOff, Unpackable, unpacked


class TextSource:
    """The text of one file, from front to back."""

    def __init__(self, content: BinaryIO, encoding: str, *, is_all: bool = True) -> None:
        """`content` is the whole file, or its beginning."""
        self.is_all = is_all
        self._pieces = decoded(unpacked(content), encoding, is_all=is_all)
        self.text = ""
        """What was read and not yet taken."""
        self.is_ended = False
        """Whether nothing comes after `text`."""
        self._failure: Undecodable | Unpackable | None = None

    @property
    def has_failed(self) -> bool:
        """Whether something that is wrong with the file is why nothing more could be read."""
        return self._failure is not None

    @property
    def is_cut_off(self) -> bool:
        """Whether it failed because compressed data ends too early."""
        return isinstance(self._failure, CutOff)

    def failure(self, line: int) -> str | None:
        """What is wrong with the file, if anything; `text` begins on this line of it."""
        if isinstance(self._failure, Undecodable):
            return self._failure.on(line + line_ends(self.text))
        return str(self._failure) if self._failure else None

    def fill(self, least: int) -> None:
        """Read until there are at least so many characters, or no more."""
        parts = [self.text]
        length = len(self.text)
        while length < least and not self.is_ended:
            try:
                piece = next(self._pieces, None)
            except (Undecodable, Unpackable) as error:
                self.is_ended, self._failure = True, error
                break
            if piece is None:
                self.is_ended = True
                break
            parts.append(piece)
            length += len(piece)
        self.text = "".join(parts)

    def ended(self) -> str:
        """The text, with a line end behind its last line if that is known to be the last."""
        is_whole = self.is_all and self.is_ended and not self.has_failed
        return self.text + "\n" if is_whole and self.text[-1:] not in ("", "\n") else self.text
