"""Change files: inspecting, checking and converting Parquet and delimited text."""
