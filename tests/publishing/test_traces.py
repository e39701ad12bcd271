"""What became of a file is decided by its traces alone: the whole table of PROTOCOL §13.1."""

from __future__ import annotations

from itertools import product

import pytest

from openmirror.errors import OtherPublisher
from openmirror.publishing.positions import (
    NOTHING_YET,
    CutBatch,
    SourceProgress,
    need_no_step_back,
)
from openmirror.publishing.traces import ArchivedUnder, Behind, Fate, LandingTraces, fate

IT, ANOTHER, NONE = ArchivedUnder.IT, ArchivedUnder.ANOTHER, ArchivedUnder.NOTHING


@pytest.mark.parametrize(
    ("traces", "expected"),
    [
        (LandingTraces(is_held=True, is_newest=True), Fate.LANDED),
        (LandingTraces(is_held=True, behind=Behind.NAMES_IT), Fate.LANDED),
        (LandingTraces(is_held=True, behind=Behind.NAMES_ANOTHER), Fate.USED_BEFORE),
        (LandingTraces(is_held=True, archived=ANOTHER, behind=Behind.FOREIGN), Fate.USED_BEFORE),
        (LandingTraces(is_held=True, behind=Behind.FOREIGN), Fate.LANDED),
        (LandingTraces(is_held=True, behind=Behind.NOTHING), Fate.USED_BEFORE),
        (LandingTraces(is_held=True, is_carried=True), Fate.LANDED),
        (LandingTraces(is_held=False, archived=IT), Fate.LANDED),
        (LandingTraces(is_held=False, behind=Behind.NAMES_IT), Fate.LANDED),
        (LandingTraces(is_held=False, is_carried=True), Fate.LANDED),
        (LandingTraces(is_held=False, behind=Behind.FOREIGN), Fate.LOST),
        (LandingTraces(is_held=False, archived=ANOTHER, behind=Behind.FOREIGN), Fate.LOST),
        (LandingTraces(is_held=False, behind=Behind.NAMES_ANOTHER), Fate.LOST),
        (LandingTraces(is_held=False, is_newest=True), Fate.LOST),
        (LandingTraces(is_held=False), Fate.LOST),
    ],
)
def test_the_traces_of_a_file_say_what_became_of_it(traces: LandingTraces, expected: Fate) -> None:
    assert fate(traces) is expected


@pytest.mark.parametrize("is_newest", [True, False])
@pytest.mark.parametrize("archived", [ANOTHER, NONE])
def test_a_file_that_is_nowhere_has_landed_only_if_something_knows_it(
    is_newest: bool, archived: ArchivedUnder
) -> None:
    for behind, is_carried in product(Behind, [True, False]):
        found = fate(LandingTraces(False, is_newest, archived, behind, is_carried))
        assert (found is Fate.LANDED) == (behind is Behind.NAMES_IT or is_carried)


_AT_7 = SourceProgress(7, None, "a")
_OPEN = SourceProgress(7, CutBatch(8, 2, None, 20), "b")


@pytest.mark.parametrize(
    ("now", "seen"),
    [
        (SourceProgress(6, None, "c"), _AT_7),
        (NOTHING_YET, _AT_7),
        (_AT_7, _OPEN),
        (SourceProgress(7, CutBatch(8, 1, None, 10), "c"), _OPEN),
        (NOTHING_YET, SourceProgress("x", None, "a")),
        (NOTHING_YET, SourceProgress(None, None, "a")),
    ],
)
def test_a_footer_that_knows_less_than_was_seen_is_refused(
    now: SourceProgress, seen: SourceProgress
) -> None:
    with pytest.raises(OtherPublisher, match="taken away"):
        need_no_step_back("erp", now, seen)


@pytest.mark.parametrize(
    ("now", "seen"),
    [
        (_AT_7, NOTHING_YET),
        (_AT_7, _AT_7),
        (SourceProgress(8, CutBatch(8, 3, 3, 30), "c"), _OPEN),
        (SourceProgress(7, CutBatch(8, 3, None, 30), "c"), _OPEN),
        (SourceProgress("y", None, "b"), SourceProgress("x", None, "a")),
    ],
)
def test_a_footer_that_knows_as_much_or_more_is_gone_on_with(
    now: SourceProgress, seen: SourceProgress
) -> None:
    need_no_step_back("erp", now, seen)
