"""The lease verbs, on files, folders and containers."""

from __future__ import annotations

import time
from dataclasses import replace
from uuid import UUID, uuid4

from openmirror.emulator import leases
from openmirror.emulator.account import Account
from openmirror.emulator.calls import Call, Reply
from openmirror.emulator.conditions import Conditions
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.leases import FileLease
from openmirror.emulator.properties import written


def lease(account: Account, call: Call) -> Reply:
    """Acquire, renew, change, release or break, as `x-ms-lease-action` says."""
    with account.gate():
        node = account.disk.require(call.address)
        if call.address.path:
            Conditions.of(call).check_change(node)
        now = time.time()
        status, changed, headers = _act(call, node.facts.lease, now)
        account.state.remember(node.identity, replace(node.facts, lease=changed))
        return Reply(status, written(node) | headers)


def _act(
    call: Call, held: FileLease | None, now: float
) -> tuple[int, FileLease | None, dict[str, str]]:
    action = (call.header("x-ms-lease-action") or "").lower()
    if action == "acquire":
        seconds = call.seconds("x-ms-lease-duration")
        if seconds is None:
            raise RefusedCall(Fault.MISSING_HEADER, "x-ms-lease-duration")
        proposed = _uuid(call.header("x-ms-proposed-lease-id") or str(uuid4()))
        taken = leases.acquire(held, proposed, seconds, now)
        return 201, taken, {"x-ms-lease-id": taken.id}
    if action == "break":
        broken, left = leases.break_(held, call.seconds("x-ms-lease-break-period"), now)
        return 202, broken, {"x-ms-lease-time": str(left)}
    if action not in ("renew", "change", "release"):
        raise RefusedCall(Fault.INVALID_HEADER, f"x-ms-lease-action: {action!r}")
    if call.lease_id is None:
        raise RefusedCall(Fault.MISSING_HEADER, "x-ms-lease-id")
    mine = _uuid(call.lease_id)
    if action == "release":
        leases.release(held, mine)
        return 200, None, {}
    if action == "renew":
        kept = leases.renew(held, mine, now)
    else:
        proposed = call.header("x-ms-proposed-lease-id") or ""
        kept = leases.change(held, mine, _uuid(proposed), now)
    return 200, kept, {"x-ms-lease-id": kept.id}


def _uuid(text: str) -> str:
    try:
        return str(UUID(text))
    except ValueError as error:
        raise RefusedCall(Fault.INVALID_HEADER, f"{text!r} is no lease id") from error
