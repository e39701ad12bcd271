"""From a commit of a database to change files and Delta tables, beside the server's own readers."""
