"""What keeps tables reconciled: worker pool, daemon, runner, messages, leases and timers."""
