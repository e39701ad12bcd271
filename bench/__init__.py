"""Measures openmirror beside what one would write by hand; `python -m bench --help`."""
