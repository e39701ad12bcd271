"""`./dev screenshot`: the picture of the status page that stands in the README."""

from __future__ import annotations

from pathlib import Path

from openmirror.statuspage import render
from tests.statuspage.browser import browser, served
from tests.statuspage.scene import NOW, WHERE, scene, undelivered

PICTURE = Path(__file__).parents[2] / "docs" / "images" / "status.png"


def take(to: Path, *, width: int = 1060, scheme: str = "light", scale: float = 1.5) -> None:
    """Draw the scene into a PNG file."""
    page = render(scene().views(), NOW, where=WHERE, undelivered=undelivered())
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
    take(PICTURE)
