"""The preview in a real browser: every item of the workbook is shown, with data."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from infra.monitoring.compose import WORKBOOK
from tests.infra.preview import render
from tests.statuspage.browser import browser, served

COMPOSED: dict[str, Any] = json.loads(WORKBOOK.read_text())


@pytest.fixture(scope="module")
def shown() -> Iterator[Page]:
    with browser() as chromium, served(render()) as url:
        page = chromium.new_page(viewport={"width": 1640, "height": 900})
        page.goto(url)
        yield page


def test_the_preview_shows_every_item_with_data(shown: Page) -> None:
    for item in COMPOSED["items"]:
        drawn = shown.locator(f"[data-item='{item['name']}']")
        assert drawn.is_visible(), item["name"]
        box = drawn.bounding_box()
        assert box is not None
        assert box["width"] > 300
        assert box["height"] > 20
        if item["type"] == 3:
            assert int(drawn.get_attribute("data-rows") or 0) > 0, item["name"]
            marks = "rect, polyline, tbody tr, .tile"
            assert drawn.locator(marks).count() > 0, item["name"]


def test_the_preview_says_that_it_is_one(shown: Page) -> None:
    notice = shown.locator(".notice").inner_text()
    assert "Preview, drawn from the workbook's JSON; the portal draws it itself." in notice
    assert "Sample telemetry" in notice


def test_a_stranger_sees_which_table_stands_still_and_why(shown: Page) -> None:
    first = shown.locator("[data-item='tables'] tbody tr").first
    assert first.locator("svg.critical").is_visible()
    text = first.inner_text()
    for word in ("Paused", "Finance.Invoices", "RowMarkerInvalid", "Replace the file"):
        assert word in text
    assert shown.locator("a", has_text="Open the run").count() == 3
    assert shown.evaluate("document.documentElement.scrollWidth") <= 1640
