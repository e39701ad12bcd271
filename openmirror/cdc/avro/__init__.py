"""Records in Avro: what Kafka Connect's converters for schema registries write, as its JSON."""
