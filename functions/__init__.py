"""The functions: a handler parses, calls a service, and returns."""
