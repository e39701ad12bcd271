"""Builds what is deployed: the package of the Function App and the wheel for Spark."""
