"""Databricks: starting the job, observing a workspace, and its service credentials."""
