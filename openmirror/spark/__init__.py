"""Reading, folding and committing with Spark and Delta Lake."""
