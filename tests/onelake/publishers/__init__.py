"""Publishers for OneLake, each with Azure's own SDK of its language, that know nothing of tests.

Each takes the URL of a landing zone, a table, and ways to get a token (`secret`, `managed`, `az`),
and publishes one table for each: metadata, a staged file, a rename to its number.
"""
