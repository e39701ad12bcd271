"""Landing events, the filter before the work queue, dead letters, and starting the runner."""
