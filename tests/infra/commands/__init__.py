"""Command lines of other people's programs, checked against what those programs take."""
