"""From a stream to change files: exactly the stream's changes, in order, once."""
