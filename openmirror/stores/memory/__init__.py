"""The ports of storage and work in plain dicts: for tests and simulations."""
