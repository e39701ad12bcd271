"""A stream in a topic of Kafka, or of Event Hubs, that connectors of others fill."""
