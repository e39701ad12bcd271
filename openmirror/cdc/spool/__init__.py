"""A stream on a disk of this machine: what was written stays, and is read by its offset."""
