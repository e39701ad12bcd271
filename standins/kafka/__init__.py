"""A broker and Kafka Connect with Debezium's connectors, as processes of this machine."""
