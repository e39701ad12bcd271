"""Open mirroring into Delta Lake: change files in, current tables out."""
