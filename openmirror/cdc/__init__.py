"""Live databases as publishers: a stream of change records becomes change files in a landing zone.

What a database commits, Debezium reads from its log and writes into a stream: a spool of this
machine. The relay reads the stream in batches and lands them; from there on everything is as with
any other publisher.
"""
