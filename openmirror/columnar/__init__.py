"""Small batches, read and folded in columns in this process: Spark then has only to commit them."""
