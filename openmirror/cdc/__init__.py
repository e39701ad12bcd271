"""Live databases as publishers: streams of changes become change files in a landing zone.

`postgresql` reads a PostgreSQL's own log. `relay` reads the records that Debezium's connectors
write into a topic, by way of `kafka`, `avro` and `decoding`. Behind the landing zone everything is
as with any other publisher.
"""
