"""Entry points for Spark: a Databricks wheel task, `spark-submit`, or a plain process."""
