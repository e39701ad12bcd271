"""PostgreSQL as a publisher: its log and its rows, read without a connector."""
