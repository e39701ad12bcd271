"""Parquet change files: their shape from the footer, and rows that Spark cannot read itself."""
