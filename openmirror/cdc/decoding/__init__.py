"""Change records to typed rows: envelopes of Debezium, in Kafka Connect's JSON with schemas."""
