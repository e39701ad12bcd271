"""The status page: mirrors and their tables for a person with a browser.

One page that needs nothing else: no script, no font, no request to anybody.
"""

from openmirror.statuspage.of_root import page_of_root
from openmirror.statuspage.page import REFRESH_SECONDS, HtmlPage, render
from openmirror.statuspage.view import GivenUp, MirrorView, Undelivered, mirror_view

__all__ = [
    "REFRESH_SECONDS",
    "GivenUp",
    "HtmlPage",
    "MirrorView",
    "Undelivered",
    "mirror_view",
    "page_of_root",
    "render",
]
