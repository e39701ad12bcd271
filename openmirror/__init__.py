"""Open mirroring into Delta Lake: change files in, current tables out."""

__version__ = "0.1.0"
"""The one place that says it: packages are named by it, also where nothing is installed."""
