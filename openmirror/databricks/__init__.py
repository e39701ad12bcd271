"""Databricks: starting the job, looking at a workspace, and its service credentials."""
