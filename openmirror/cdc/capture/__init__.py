"""Capturing: a process that reads a database's log, by Debezium, into a spool of this machine."""
