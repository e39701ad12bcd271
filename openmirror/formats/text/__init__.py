"""Delimited text as change files: headers for the plan, rows for the conversion (PROTOCOL §4.6)."""
