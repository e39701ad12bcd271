"""`./dev screenshot`: the docs' pictures of the status page and of the workbook's preview."""

from __future__ import annotations

from pathlib import Path

from openmirror.statuspage import HtmlPage, render
from tests.infra import preview
from tests.statuspage.browser import browser, served
from tests.statuspage.scene import NOW, WHERE, scene, undelivered

IMAGES = Path(__file__).parents[2] / "docs" / "images"


def status_page() -> HtmlPage:
    """The page over the scene of its tests."""
    return render(scene().views(), NOW, where=WHERE, undelivered=undelivered())


def take(
    page: HtmlPage, to: Path, *, width: int = 1060, scheme: str = "light", scale: float = 1.5
) -> None:
    """Draw a page into a PNG file."""
    to.parent.mkdir(parents=True, exist_ok=True)
    with browser() as chromium, served(page) as url:
        context = chromium.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,  # type: ignore[arg-type]
            device_scale_factor=scale,
        )
        shown = context.new_page()
        shown.goto(url)
        shown.screenshot(path=to, full_page=True)


if __name__ == "__main__":
    take(status_page(), IMAGES / "status.png")
    take(preview.render(), IMAGES / "workbook-preview.png", width=1640, scale=1)
