"""Observe, decide, act: bringing one table from what was sent to what is applied."""
