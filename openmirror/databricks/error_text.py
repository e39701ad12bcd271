"""What an SDK's error says, short enough for a message of ours."""

from __future__ import annotations


def first_line(error: BaseException) -> str:
    """Its first line without a full stop, or its type's name where it says nothing.

    The client's settings, which the Databricks SDK adds, are left out.
    """
    words = str(error).strip().splitlines()
    return words[0].partition(" Config: ")[0].rstrip(".") if words else type(error).__name__
