"""Leases, as the Blob SDK sees them, and their rules on their own."""

from __future__ import annotations

import math
from uuid import uuid4

import pytest
from azure.core.exceptions import HttpResponseError, ResourceExistsError
from azure.storage.blob import BlobLeaseClient, ContainerClient

from openmirror.emulator import leases
from openmirror.emulator.errors import Fault, RefusedCall
from openmirror.emulator.leases import FileLease, LeaseState, state_of

OURS, OTHER = str(uuid4()), str(uuid4())


def code(refused: pytest.ExceptionInfo[HttpResponseError]) -> tuple[int | None, object]:
    return refused.value.status_code, refused.value.error_code


def test_only_the_holder_may_write_until_it_lets_go(lake: ContainerClient) -> None:
    blob = lake.get_blob_client("a/T.lock")
    blob.upload_blob(b"")
    lease = blob.acquire_lease(15)
    assert blob.get_blob_properties().lease.state == "leased"
    with pytest.raises(ResourceExistsError) as taken:
        blob.acquire_lease(15)
    assert code(taken) == (409, "LeaseAlreadyPresent")
    for write in (lambda: blob.upload_blob(b"", overwrite=True), blob.delete_blob):
        with pytest.raises(HttpResponseError) as versioned:
            write()
        assert code(versioned) == (412, "LeaseIdMissing")
    with pytest.raises(HttpResponseError) as wrong:
        blob.upload_blob(b"", overwrite=True, lease=OTHER)
    assert code(wrong) == (412, "LeaseIdMismatchWithBlobOperation")
    blob.upload_blob(b"by the holder", overwrite=True, lease=lease)
    lease.renew()
    lease.release()
    blob.upload_blob(b"by anybody", overwrite=True)
    assert blob.get_blob_properties().lease.state == "available"


def test_a_lease_is_renewed_changed_and_released_by_its_id_only(lake: ContainerClient) -> None:
    blob = lake.get_blob_client("a/T.lock")
    blob.upload_blob(b"")
    blob.acquire_lease(-1, lease_id=OURS)
    stranger = BlobLeaseClient(blob, lease_id=OTHER)
    for act in (stranger.renew, stranger.release):
        with pytest.raises(ResourceExistsError) as refused:
            act()
        assert code(refused) == (409, "LeaseIdMismatchWithLeaseOperation")
    holder = BlobLeaseClient(blob, lease_id=OURS)
    holder.change(OTHER)
    stranger.release()
    with pytest.raises(ResourceExistsError):
        BlobLeaseClient(blob, lease_id=OTHER).renew()


def test_a_broken_lease_is_lost(lake: ContainerClient) -> None:
    blob = lake.get_blob_client("a/T.lock")
    blob.upload_blob(b"")
    holder = blob.acquire_lease(60)
    assert holder.break_lease(lease_break_period=30) in (29, 30)
    with pytest.raises(ResourceExistsError) as breaking:
        holder.renew()
    assert code(breaking) == (409, "LeaseIsBrokenAndCannotBeRenewed")
    assert holder.break_lease(lease_break_period=0) == 0
    blob.acquire_lease(15)


def test_a_missing_blob_has_no_lease(lake: ContainerClient) -> None:
    with pytest.raises(HttpResponseError) as missing:
        lake.get_blob_client("none").acquire_lease(15)
    assert code(missing) == (404, "BlobNotFound")


def test_a_container_is_leased_on_its_own(lake: ContainerClient) -> None:
    lease = lake.acquire_lease(15)
    lake.upload_blob("free", b"")
    with pytest.raises(HttpResponseError) as versioned:
        lake.delete_container()
    assert code(versioned) == (412, "LeaseIdMissing")
    lease.release()


@pytest.mark.parametrize("seconds", [0, 14, 61, -2])
def test_durations_are_15_to_60_seconds_or_endless(seconds: int) -> None:
    with pytest.raises(RefusedCall) as refused:
        leases.acquire(None, OURS, seconds, 0.0)
    assert refused.value.fault is Fault.INVALID_HEADER


def test_an_expired_lease_may_be_renewed_until_somebody_else_has_it() -> None:
    lease = leases.acquire(None, OURS, 15, 100.0)
    assert state_of(lease, 114.9) is LeaseState.LEASED
    assert state_of(lease, 115.0) is LeaseState.EXPIRED
    assert leases.renew(lease, OURS, 200.0).until == 215.0
    taken = leases.acquire(lease, OTHER, 15, 200.0)
    with pytest.raises(RefusedCall) as refused:
        leases.renew(taken, OURS, 201.0)
    assert refused.value.fault is Fault.LEASE_ID_WRONG


def test_a_write_after_its_end_ends_a_lease_for_good() -> None:
    lease = FileLease(OURS, 15, 115.0)
    assert leases.check_write(lease, None, 120.0) is None
    with pytest.raises(RefusedCall) as lost:
        leases.check_write(lease, OURS, 120.0)
    assert lost.value.fault is Fault.LEASE_LOST
    with pytest.raises(RefusedCall) as never:
        leases.check_write(None, OURS, 120.0)
    assert never.value.fault is Fault.LEASE_NONE


def test_breaking_takes_as_long_as_the_lease_would_have_or_less() -> None:
    fixed = leases.acquire(None, OURS, 60, 0.0)
    assert leases.break_(fixed, None, 20.0)[1] == 40
    assert leases.break_(fixed, 10, 20.0)[1] == 10
    endless = leases.acquire(None, OURS, -1, 0.0)
    assert endless.until == math.inf
    assert leases.break_(endless, None, 20.0)[1] == 0
    breaking, _ = leases.break_(fixed, 30, 0.0)
    with pytest.raises(RefusedCall) as mine:
        leases.acquire(breaking, OURS, 15, 1.0)
    assert mine.value.fault is Fault.LEASE_BREAKING
    assert leases.break_(breaking, 5, 1.0)[1] == 5
    assert leases.acquire(breaking, OTHER, 15, 31.0).id == OTHER
