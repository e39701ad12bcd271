"""The status page in a real browser: every state is shown, and nothing of a publisher's runs."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from playwright.sync_api import Browser, Locator, Page

from openmirror.statuspage import render
from openmirror.table import layout
from openmirror.table.layout import join
from tests.harness.publishing import table
from tests.statuspage.browser import browser, served
from tests.statuspage.scene import NOW, WHERE, Scene, scene, undelivered

PHONE = {"width": 360, "height": 740}
DESK = {"width": 1280, "height": 900}
HOSTILE = "<script>document.title='owned'</script>"
PICTURE = "<img src=x onerror=x()>"
ENTITY = '&lt;"x" onload=1'


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def made() -> Scene:
    return scene()


@pytest.fixture(scope="module")
def shown(chromium: Browser, made: Scene) -> Iterator[Page]:
    """One page for all tests that only read it, so it may not load itself anew."""
    page = render(made.views(), NOW, where=WHERE, undelivered=undelivered(), refresh=None)
    yield from _open(chromium, page)


def _open(chromium: Browser, page: object, **options: object) -> Iterator[Page]:
    context = chromium.new_context(**{"viewport": DESK, **options})  # type: ignore[arg-type]
    tab = context.new_page()
    complaints: list[str] = []
    tab.on("console", lambda message: complaints.append(message.text))
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    asked: list[str] = []
    tab.on("request", lambda request: asked.append(request.url))
    with served(page) as url:  # type: ignore[arg-type]
        tab.goto(url)
        yield tab
        # One page and nothing else: no picture, font or script from anywhere.
        assert [address for address in asked if not address.startswith("data:")] == [url]
    assert complaints == []
    context.close()


def row(page: Page, name: str) -> Locator:
    """The table's own part: its line, and what there is to know about it."""
    heading = page.get_by_role("rowheader", name=name, exact=True)
    return page.locator("tbody").filter(has=heading)


STATES = {
    "Finance.Invoices": ("Paused", "RowMarkerInvalid"),
    "Finance.Ledger": ("Held", "ann@contoso.com: nightly load of the warehouse"),
    "HR.Absences": ("Snapshotting", ""),
    "Sales.Customers": ("Replicating", "FileNeverRead"),
    "Sales.Orders": ("Replicating", ""),
    "Sales.Shipments": ("Waiting", "gap at 4"),
    "dbo.legacy_prices": ("Dropped", "brought back until"),
    "dbo.rates": ("Waiting", "incomplete at 4"),
}


@pytest.mark.parametrize(("name", "says"), STATES.items())
def test_each_table_shows_its_state_in_a_word_and_why(
    shown: Page, name: str, says: tuple[str, str]
) -> None:
    word, why = says
    part = row(shown, name)
    assert part.locator(".state").first.inner_text() == word
    assert why in part.inner_text()
    assert part.locator(".state .icon").first.is_visible()
    assert (part.locator(".notes").count() > 0) == bool(why)


def test_a_problem_names_its_file_and_its_remedy(shown: Page) -> None:
    text = row(shown, "Finance.Invoices").inner_text()
    assert "00000000000000000004.parquet" in text
    assert "row 1 has __rowMarker__ = 3" in text
    assert "Replace the file, under the same name" in text
    assert "for 12 min" in text


def test_a_wait_says_since_when_and_until_when(shown: Page) -> None:
    assert "for 47 min" in row(shown, "Sales.Shipments").inner_text()
    assert "openmirror skip sales/Sales.Shipments --through 4" in (
        row(shown, "Sales.Shipments").inner_text()
    )
    assert "for 41 s, 9 min more at most" in row(shown, "dbo.rates").inner_text()


def test_figures_stand_under_their_headings(shown: Page) -> None:
    grid = shown.get_by_role("table").first
    heads = grid.get_by_role("columnheader").all_inner_texts()
    assert heads == ["State", "Table", "Applied", "Pending", "Lag", "Changes", "Last commit"]
    orders = row(shown, "Sales.Orders").locator("td").all_inner_texts()
    assert orders[1:4] == ["6", "–", "–"]  # noqa: RUF001 - the page's own dash
    assert orders[5] == "6 s ago"
    shipments = row(shown, "Sales.Shipments").locator("td").all_inner_texts()
    assert shipments[1:4] == ["3", "3", "47 min"]


def test_what_asks_for_a_person_comes_first(shown: Page) -> None:
    names = shown.get_by_role("table").first.get_by_role("rowheader").all_inner_texts()
    assert names[:4] == ["Finance.Invoices", "dbo.rates", "Sales.Shipments", "Finance.Ledger"]
    assert names[-1] == "dbo.legacy_prices"
    assert shown.title().startswith("✕")


def test_a_mirror_shows_its_heartbeat_and_how_many_tables_are_how(shown: Page) -> None:
    sales = shown.get_by_role("region", name="sales")
    head = sales.locator(".head").inner_text().split()
    assert head[:2] == ["sales", "Running"]
    assert "heartbeat 6 s ago" in " ".join(head)
    counted = " ".join(sales.locator(".summary").inner_text().split())
    assert counted == "1 paused 2 waiting 1 held 1 snapshotting 2 replicating 1 dropped"


def test_a_mirror_without_a_heartbeat_says_so(chromium: Browser, made: Scene) -> None:
    later = NOW + timedelta(hours=2)
    made.clock.turn_to(later)
    try:
        page = render(made.views(), later, where=WHERE)
    finally:
        made.clock.turn_to(NOW)
    for tab in _open(chromium, page):
        sales = tab.get_by_role("region", name="sales").inner_text()
        assert "Stopped" in sales
        assert "NoHeartbeat" in sales


def test_messages_that_were_given_up_are_shown_with_the_remedy(shown: Page) -> None:
    alert = shown.get_by_role("status").inner_text()
    assert "2 messages were given up" in alert
    assert "requeue" in alert
    assert "landing-events/2026-11-21/7d0c 9 min ago: it is not JSON text" in alert


def test_hostile_names_are_text_and_nothing_else(chromium: Browser) -> None:
    made = scene()
    for name in (PICTURE, ENTITY):
        folder = table("sales", name)
        made.land(folder, 1)
        place = layout.table_folder(folder)
        made.store.put(join(place, f"{PICTURE}.parquet"), b"")
    page = render(made.views(), NOW, where=HOSTILE)
    for tab in _open(chromium, page):
        shown = tab.locator("body").inner_text()
        assert HOSTILE in shown
        assert f"dbo.{ENTITY}" in shown
        assert f"dbo.{PICTURE}" in shown
        assert f"{PICTURE}.parquet" in shown
        assert tab.locator("script, img").count() == 0
        assert "owned" not in tab.title()


def test_its_policy_lets_nothing_run_that_got_in_all_the_same(
    chromium: Browser, made: Scene
) -> None:
    page = render(made.views(), NOW, where=WHERE)
    spoiled = page.html.replace("</main>", "<script>document.title='owned'</script></main>")
    context = chromium.new_context()
    tab = context.new_page()
    with served(type(page)(spoiled, page.headers)) as url:
        tab.goto(url)
        assert tab.locator("script").count() == 1
        assert tab.title() != "owned"
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_reads_well_by_day_and_by_night(chromium: Browser, made: Scene, scheme: str) -> None:
    """Text stands out from what is behind it, at least as WCAG's level AA asks."""
    page = render(made.views(), NOW, where=WHERE, undelivered=undelivered())
    for tab in _open(chromium, page, color_scheme=scheme):
        weak = tab.evaluate(_WEAK_CONTRASTS)
        assert weak == []


def test_at_phone_width_nothing_is_cut_off(chromium: Browser, made: Scene) -> None:
    page = render(made.views(), NOW, where=WHERE, undelivered=undelivered())
    for tab in _open(chromium, page, viewport=PHONE):
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        part = row(tab, "Sales.Shipments")
        for text in ("3", "47 min", "gap at 4"):
            assert part.get_by_text(text, exact=True).first.is_visible()


def test_it_refreshes_by_itself_unless_asked_not_to(chromium: Browser, made: Scene) -> None:
    moving = render(made.views(), NOW, where=WHERE, toggle="?refresh=0&code=k")
    for tab in _open(chromium, moving):
        assert tab.locator("meta[http-equiv=refresh]").get_attribute("content") == "15"
        link = tab.get_by_role("link", name="stop refreshing")
        assert link.get_attribute("href") == "?refresh=0&code=k"
    still = render(made.views(), NOW, where=WHERE, refresh=None, toggle="?refresh=1")
    for tab in _open(chromium, still):
        assert tab.locator("meta[http-equiv=refresh]").count() == 0
        assert tab.get_by_role("link", name="refresh by itself").is_visible()


def test_a_root_without_mirrors_says_how_one_begins(chromium: Browser) -> None:
    for tab in _open(chromium, render([], NOW, where=WHERE)):
        assert "landing/<mirror>/Files/LandingZone" in tab.locator("main").inner_text()


_WEAK_CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => {
    const f = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const behind = node => {
    for (; node; node = node.parentElement) {
      const color = rgba(getComputedStyle(node).backgroundColor);
      if (color[3] === 255) return color;
    }
    return [255, 255, 255, 255];
  };
  const weak = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode.textContent.trim(), node = walker.currentNode.parentElement;
    if (!text || !node.getClientRects().length) continue;
    const [a, b] = [light(rgba(getComputedStyle(node).color)), light(behind(node))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) weak.push(`${text}: ${ratio.toFixed(2)}`);
  }
  return weak;
}"""
