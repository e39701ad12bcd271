"""Change records to typed rows: envelopes of Debezium, in Kafka Connect's JSON with schemas.

A record is decoded exactly, or named as one that cannot be. What the connector has lost before,
nobody can find here: NaN and infinity of a `numeric` come as NULL, an array of several dimensions
as an array of NULLs, and columns of composite types not at all.
"""
