"""What ends a wait, in words for people."""

from __future__ import annotations

from openmirror.plan.decisions import Waiting, WaitKind


def wait_remedy(waiting: Waiting, name: str) -> str:
    """What to do about a wait of this table; `name` is how an operator would type it."""
    match waiting.kind:
        case WaitKind.GAP:
            number = str(waiting.sequence or 0)
            if waiting.partition is not None:
                number = f"{waiting.partition}/{number}"
            return (
                "Publish the missing file. If it will never come: "
                f"openmirror skip {name} --through {number} --why '...'"
            )
        case WaitKind.CONFIRMATION:
            mirror = name.partition("/")[0]
            return f"If it is right that they go: openmirror confirm-drops --mirror {mirror}"
        case WaitKind.SCHEMA:
            return "Publish a file whose columns have types."
        case WaitKind.METADATA:
            return "Publish _metadata.json, or let the time pass."
        case WaitKind.QUIET_PERIOD:
            return "Let the time pass: text says nowhere that its writer is done."
        case WaitKind.INCOMPLETE:
            return "Finish writing the file, or replace it."
        case WaitKind.GRACE:
            return "Make the folder again to keep the table; otherwise it is dropped."
