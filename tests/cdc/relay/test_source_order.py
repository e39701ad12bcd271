"""Which changes are repeated ones, by the places that SQL Server and Oracle have."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from random import Random

import pytest

from openmirror.cdc.relay.source_order import (
    MOST_REMEMBERED,
    ReplayDoubt,
    SeenChanges,
    SourceChange,
    SourcePlace,
    new_changes,
)


def of_sql_server(random: Random) -> list[SourceChange]:
    """Transactions whose changes do not come in the order of their LSNs."""
    changes = []
    for commit in range(random.randint(1, 6)):
        numbers = random.sample(range(100), random.randint(1, 8))
        changes += [
            sql_server(commit, number, random.choice("cud"), str(random.randint(0, 3)))
            for number in numbers
        ]
    return changes


def of_oracle(random: Random) -> list[SourceChange]:
    """Transactions of which some have one SCN; both halves of a changed key have one number."""
    changes, scn = [], 0
    for transaction in range(random.randint(1, 6)):
        scn += random.randint(0, 1)
        for number in range(1, random.randint(1, 8) + 1):
            place = SourcePlace(f"t{transaction}", (scn,), (number,))
            key = str(random.randint(0, 3))
            if random.random() < 0.2:
                changes += [SourceChange("d", key, place), SourceChange("c", "new" + key, place)]
            else:
                changes.append(SourceChange(random.choice("cud"), key, place))
    return changes


def sql_server(commit: int, number: int, op: str = "c", key: str = "1") -> SourceChange:
    return SourceChange(op, key, SourcePlace(None, (39, commit, 5), (39, commit, number, 1)), 7)


@pytest.mark.parametrize("source", [of_sql_server, of_oracle])
@pytest.mark.parametrize("seed", range(60))
def test_each_change_is_new_once_however_often_the_connector_goes_back(
    seed: int, source: Callable[[Random], list[SourceChange]]
) -> None:
    random = Random(seed)
    changes = source(random)
    sent: list[int] = []
    at = 0
    while at < len(changes):
        ahead = random.randint(at + 1, len(changes))
        sent += range(at, ahead)
        # Of what it sends again, it leaves out what it knows to have sent.
        back = random.randint(0, ahead)
        sent += [again for again in range(back, ahead) if random.random() < 0.7]
        at = ahead
    taken = [number for number, new in zip(sent, asked(changes, sent, random), strict=True) if new]
    assert taken == list(range(len(changes)))


def asked(changes: Sequence[SourceChange], sent: Sequence[int], random: Random) -> list[bool]:
    """In batches, between which a footer has what was seen."""
    seen, found = SeenChanges(), list[bool]()
    while len(found) < len(sent):
        batch = sent[len(found) :][: random.randint(1, 9)]
        some = new_changes(seen, [changes[number] for number in batch])
        assert some.doubt is None
        found += some.is_new
        seen = SeenChanges.from_json(json.loads(json.dumps(some.seen.as_json())))
        assert seen == some.seen
    return found


def test_a_large_transaction_is_new_as_long_as_its_numbers_grow() -> None:
    many = [sql_server(1, number) for number in range(2 * MOST_REMEMBERED)]
    found = new_changes(SeenChanges(), many)
    assert found.doubt is None
    assert all(found.is_new)
    assert len(found.seen.there) == MOST_REMEMBERED
    again = SeenChanges.from_json(json.loads(json.dumps(found.seen.as_json())))
    # What is remembered of it is known to be repeated; what comes behind it is not.
    assert new_changes(again, many[:10]).is_new == [False] * 10
    assert new_changes(again, [sql_server(1, 2 * MOST_REMEMBERED)]).is_new == [True]
    assert new_changes(again, [sql_server(2, 0), sql_server(1, 3)]).is_new == [True, False]


def test_a_change_of_a_large_transaction_that_may_be_new_or_not_is_in_doubt() -> None:
    many = [sql_server(1, number) for number in range(2 * MOST_REMEMBERED)]
    seen = new_changes(SeenChanges(), many).seen
    doubtful = [sql_server(2, 0), sql_server(1, 1)]
    assert new_changes(seen, [many[-1]]).doubt is ReplayDoubt.NO_ORDER
    assert new_changes(seen, doubtful).doubt is None


@pytest.mark.parametrize("planted", ["place alone", "no memory"])
def test_a_mistake_in_the_rule_is_found(planted: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if planted == "place alone":
        # A change below the highest number of its transaction is taken for a repeated one.
        def is_before(self: SourcePlace, other: SourcePlace) -> bool:
            return (self.position, self.within) < (other.position, other.within)

        monkeypatch.setattr(SourcePlace, "is_before", is_before)
    else:
        monkeypatch.setattr("openmirror.cdc.relay.source_order.MOST_REMEMBERED", 0)
    with pytest.raises(AssertionError):
        over_all_seeds()


def over_all_seeds() -> None:
    for seed in range(60):
        test_each_change_is_new_once_however_often_the_connector_goes_back(seed, of_sql_server)
