"""An hour of many tables under constant change, and whether they stay small, quick and exact."""
