"""From a commit of a database to one of a Delta table, beside what one would write by hand."""
