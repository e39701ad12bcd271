"""Storage accounts: files over Data Lake Storage, leases over blobs, work over storage queues."""
