"""Where files, work items, leases and dead letters are kept: Azure, a local folder, or memory."""
