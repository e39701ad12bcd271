"""The library's examples on the page for publishers, run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from openmirror.publishing import Publisher
from openmirror.stores.local.store import LocalStore
from tests.publishing.zones import ORDERS, mirrored

PAGE = Path(__file__).parents[2] / "docs" / "PUBLISHERS.md"


def test_the_examples_do_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text().partition("## In Python, one line\n")[2].partition("\n## ")[0]
    first, second, third = re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(first, PAGE.name, "exec"), names)  # the reader's own code
    assert mirrored(LocalStore(tmp_path)).rows == [{"id": 1, "city": "Oslo"}]
    for _ in range(2):
        exec(compile(second, PAGE.name, "exec"), names)
        assert sorted(row["id"] for row in mirrored(LocalStore(tmp_path)).rows) == [1, 4, 5]
    exec(compile(third, PAGE.name, "exec"), names)
    assert names["Publisher"] is Publisher
    assert LocalStore(tmp_path).incarnation(ORDERS) is None
