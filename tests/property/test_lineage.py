"""Lineage is what the interpreter gives, by every commit and any batching."""

from __future__ import annotations

import pytest

from openmirror.protocol.lineage import Lineage
from openmirror.protocol.rows import SoftDeletes
from tests.property.test_histories import check
from tests.zone import Mirror

_SMALL = {"keys": 30, "files": 5, "rows": 60}
_KINDS: list[tuple[SoftDeletes | None, dict[str, int]]] = [
    (None, {}),
    (None, {"versioned": True}),
    (None, {"extended": True}),
    (SoftDeletes(), {}),
    (SoftDeletes(), {"versioned": True}),
    (SoftDeletes(), {"extended": True}),
]


@pytest.mark.parametrize(
    ("seeds", "soft", "kind"),
    [
        ([4], None, {"versioned": True}),
        ([75], SoftDeletes(), {}),
        ([3], SoftDeletes(), {"versioned": True}),
        ([5], SoftDeletes(), {"extended": True}),
    ],
)
def test_rows_of_random_histories_have_the_place_of_what_wrote_them(
    mirror: Mirror, seeds: list[int], soft: SoftDeletes | None, kind: dict[str, int]
) -> None:
    check(mirror, seeds, soft, Lineage.WRITTEN, **_SMALL, **kind)


@pytest.mark.soak
@pytest.mark.parametrize(("soft", "kind"), _KINDS)
def test_rows_of_any_random_history_have_the_place_of_what_wrote_them(
    mirror: Mirror, soft: SoftDeletes | None, kind: dict[str, int]
) -> None:
    check(mirror, list(range(400, 425)), soft, Lineage.WRITTEN, **kind)
